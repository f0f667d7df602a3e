/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split.h - splits the energy of one tick. Pure arithmetic. The energy of a window of time goes to
 * the lines (steps) that were there, to `unallocated` and to `system`, in whole microjoules.
 * Nothing is left over and nothing is made up:
 *
 *	sum(lines) + unallocated + system == measured, per part, exactly.
 *
 * A part is what one sensor tells apart: the cores of a socket, its memory, a GPU, the rest of the
 * node.
 *
 * Static part  = min(E, idle power x time), by what is allocated of it: CPUs on that socket;
 *		  memory, spread over the sockets as the CPUs are; GPUs; CPUs of the node for the
 *		  rest. What nobody allocated goes to `unallocated`. A job whose memory is not known
 *		  holds as much of it as of the CPUs.
 * Dynamic part = the rest, by activity: CPU by the weights of that socket, memory by the memory
 *		  weights, where the lines compute; what the lines do not account for is `system`'s,
 *		  and so is the whole when nobody was active. A GPU's goes to whom it is allocated,
 *		  as its static part. The dynamic part of the rest of the node (fans, power
 *		  supplies, disks) follows the dynamic energy of the other parts, or CPU activity
 *		  where there are none.
 */
#ifndef CEEMS_SPLIT_H
#define CEEMS_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libcore/domain.h"

/* What Slurm gave to a job or a step on this node. */
struct split_alloc {
	uint32_t cpus;
	uint64_t mem_mb; /* 0: not known */
	/* The CPUs by socket; all 0: not known, they are taken as spread over all. */
	uint32_t socket_cpus[SOCKETS_MAX];
	uint32_t gpu_ppm[GPUS_MAX]; /* 1000000: all of it */
};

/* Which processes a line stands for, and so how it takes part in the static share. */
enum line_kind {
	LINE_STEP,   /* srun step: holds its cores, all of the job's if it has only steps */
	LINE_BATCH,  /* batch or interactive: what of the job's cores no srun step holds */
	LINE_EXTERN, /* the same when the job has no LINE_BATCH; adopted processes */
};

struct split_line {
	uint32_t job; /* index into split_input.job */
	enum line_kind kind;
	struct split_alloc alloc; /* of the step */
	uint64_t from_ns; /* presence, clipped to the window by split_tick() */
	uint64_t until_ns;
	/* CPU time used in the window. None (suspended, asleep): no activity, whatever it weighs. */
	uint64_t busy_ns;
	uint64_t cpu_weight[SOCKETS_MAX];
	uint64_t mem_weight;
	bool by_counters; /* cpu_weight is of hardware counters */
};

/* What one sensor measured in the window. */
struct split_part {
	uint8_t domain; /* enum domain */
	/*
	 * Socket or GPU. The only part of CPU or memory stands for all sockets, and so does one
	 * whose socket has no CPUs.
	 */
	uint8_t unit;
	uint8_t source; /* enum source_id */
	uint64_t measured_uj;
	uint64_t idle_mw;
	uint64_t idle_ns; /* the time that measured_uj is of, if longer than the window */
};

struct split_input {
	uint64_t from_ns, until_ns; /* the window, CLOCK_MONOTONIC */
	struct split_alloc node;    /* what can be allocated; of socket_cpus only ratios matter */
	/* Activity of all processes; less than the lines' (read at other instants) is no error. */
	uint64_t cpu_weight[SOCKETS_MAX];
	uint64_t mem_weight;
	bool by_counters; /* cpu_weight is of hardware counters; else no line's is */
	const struct split_part *part;
	size_t nparts;
	const struct split_alloc *job;
	size_t njobs;
	const struct split_line *line;
	size_t nlines;
};

/* total includes its static part. */
struct split_share {
	uint64_t total_uj[DOMAIN_N];
	uint64_t static_uj[DOMAIN_N];
	uint64_t source_uj[SOURCE_N];
	uint64_t by_counters_uj; /* dynamic energy of CPUs that counters split */
};

/*
 * LINE[nlines] and the two others are overwritten. WORK is scratch memory of split_work_size()
 * bytes, since a tick allocates nothing. -EINVAL: the window is empty or backwards, or a line's job
 * or a part's domain or source is out of range. Nothing is written then.
 */
int split_tick(const struct split_input *in, void *work, struct split_share *line,
	       struct split_share *unallocated, struct split_share *system);
size_t split_work_size(size_t njobs, size_t nlines);

#endif
