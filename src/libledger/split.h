/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split.h - splits the energy of one tick among the lines (steps), `unallocated` and `system`, in whole
 * microjoules. Pure arithmetic, and exact for each part:
 *
 *	sum(lines) + unallocated + system == measured
 *
 * A part is a piece of the node whose energy one sensor shows: the cores of a socket, its memory, a GPU,
 * or the rest of the node (fans, power supplies, disks).
 *
 * Static energy of a part is min(measured, idle power x time). It is split by allocation:
 *	socket: by the CPUs allocated there;
 *	memory: by allocated memory, assumed on the sockets of the allocated CPUs. If the memory of a job
 *	        is not known, the job has the same share of memory as of the CPUs;
 *	GPU:    by GRES;
 *	rest of the node: by allocated CPUs.
 * The static energy of what no job holds goes to `unallocated`.
 *
 * Dynamic energy of a part is the measured energy minus the static energy. It is split by activity:
 *	socket: by the CPU weights of the lines there;
 *	memory: by their memory weights, assumed on the sockets where the lines compute;
 *	GPU:    to its holder, like the static energy. If MIG divides it, and its idle power and the activity
 *	        of its instances are known: by that activity, and within an instance like the static energy;
 *	rest of the node: like the dynamic energy of the other parts; if they have none, by CPU weights.
 * Activity that belongs to no line goes to `system`. If there was no activity at all, so does all of it.
 */
#ifndef CEEMS_SPLIT_H
#define CEEMS_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libledger/account.h"
#include "src/libmeter/sensor/part.h"

/* What Slurm gave to a job or a step on this node. */
struct split_alloc {
	uint32_t cpus;
	uint64_t mem_mb; /* 0: not known */
	/* The CPUs by socket. All 0: the sockets are not known, and all sockets are assumed. */
	uint32_t socket_cpus[SOCKETS_MAX];
	uint32_t gpu_ppm[GPUS_MAX];	  /* share of each GPU; 1000000: the whole GPU */
	uint16_t gpu_instances[GPUS_MAX]; /* of gpu_ppm, the MIG instances: bit N for GPU instance N */
};

/* The activity of a MIG instance in the window. */
struct split_instance {
	uint8_t unit;	   /* of its GPU */
	uint8_t gi;	   /* number of the GPU instance, below GPU_INSTANCES_MAX */
	uint32_t size_ppm; /* its share of the GPU, as in gpu_ppm */
	/* The activity is in any unit; only ratios within a GPU matter. 0: it was idle. */
	uint32_t activity;
};

/* The kind of step decides which CPUs of the job a line holds, and so its share of static energy. */
enum line_kind {
	/* srun step: its own CPUs; if the job has only srun steps, together they hold all its CPUs */
	LINE_STEP,
	LINE_BATCH,  /* batch or interactive step: the CPUs of the job that no srun step holds */
	LINE_EXTERN, /* extern step: as LINE_BATCH if the job has no LINE_BATCH, else none */
};

struct split_line {
	uint32_t job; /* index into split_input.job */
	enum line_kind kind;
	struct split_alloc alloc; /* of the step */
	uint64_t from_ns;	  /* when the step existed; split_tick() clips both times to the window */
	uint64_t until_ns;
	/* CPU time in the window. If it is 0 (suspended, asleep), the weights of the line count as 0. */
	uint64_t busy_ns;
	uint64_t cpu_weight[SOCKETS_MAX];
	uint64_t mem_weight;
	bool by_counters; /* cpu_weight is from hardware counters, not from CPU time */
};

struct split_input {
	uint64_t from_ns, until_ns; /* the window (CLOCK_MONOTONIC) */
	struct split_alloc node;    /* what can be allocated; of socket_cpus only ratios matter */
	/*
	 * Activity of all processes. It may be less than the sum of the lines, which
	 * are read at other instants.
	 */
	uint64_t cpu_weight[SOCKETS_MAX];
	uint64_t mem_weight;
	bool by_counters; /* cpu_weight is from hardware counters; if false, it is for no line */
	const struct part *part;
	size_t nparts;
	/*
	 * Instances with known activity. A GPU has all of its instances here, or none: then, and if none was
	 * active, its dynamic energy is split like the static energy.
	 */
	const struct split_instance *instance;
	size_t ninstances;
	const struct split_alloc *job;
	size_t njobs;
	const struct split_line *line;
	size_t nlines;
};

/*
 * Splits the energy of IN into LINE[in->nlines], UNALLOCATED and SYSTEM, which are overwritten. Emissions
 * are not known here, so they are 0. WORK is scratch memory of split_work_size() bytes, because a tick must
 * not allocate memory. -EINVAL, nothing is written: the window is empty or backwards, or a line's job, a
 * part's domain or source, or an instance's number is out of range.
 */
int split_tick(const struct split_input *in, void *work, struct account *line, struct account *unallocated,
	       struct account *system);
size_t split_work_size(size_t njobs, size_t nlines);

#endif
