/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split.h - splits the energy of one tick. Pure arithmetic. The energy of a window of time goes to
 * the lines (steps) that were there, to `unallocated` and to `system`, in whole microjoules.
 * Nothing is left over and nothing is made up:
 *
 *	sum(lines) + unallocated + system == measured, per part, exactly.
 *
 * A part is a piece of the node whose energy one sensor shows: the cores of a socket, its memory, a GPU,
 * or the rest of the node.
 *
 * Static part  = min(E, idle power x time). It is split by allocation: that of a socket by the CPUs
 *		  allocated there; that of memory by allocated memory, spread over the sockets as the
 *		  CPUs are; that of a GPU by GRES; that of the rest of the node by CPUs. The static
 *		  energy of what no job holds goes to `unallocated`. If the memory of a job is not
 *		  known, the job has the same share of memory as of the CPUs.
 * Dynamic part = E minus the static part. It is split by activity: that of CPUs by the weights of the
 *		  socket, that of memory by the memory weights on the sockets where the lines compute.
 *		  Activity of no line goes to `system`, and so does all if no line was active. The
 *		  dynamic energy of a GPU goes to its holder, like the static energy. That of the rest
 *		  of the node (fans, power supplies, disks) is split like the dynamic energy of the
 *		  other parts, or by CPU activity if there are no other parts.
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
	/* The CPUs by socket; all 0: not known, so they count as spread over all sockets. */
	uint32_t socket_cpus[SOCKETS_MAX];
	uint32_t gpu_ppm[GPUS_MAX]; /* 1000000: the whole GPU */
};

/* Which processes a line stands for, and so how it takes part in the static share. */
enum line_kind {
	LINE_STEP,   /* srun step: holds its cores; if the job has only srun steps, they hold all of the job's */
	LINE_BATCH,  /* batch or interactive: holds the job's cores that no srun step holds */
	LINE_EXTERN, /* holds the same if the job has no LINE_BATCH; has adopted processes */
};

struct split_line {
	uint32_t job; /* index into split_input.job */
	enum line_kind kind;
	struct split_alloc alloc; /* of the step */
	uint64_t from_ns; /* presence, clipped to the window by split_tick() */
	uint64_t until_ns;
	/* CPU time in the window. 0 (suspended, asleep): the line has no activity, whatever its weights are. */
	uint64_t busy_ns;
	uint64_t cpu_weight[SOCKETS_MAX];
	uint64_t mem_weight;
	bool by_counters; /* cpu_weight is of hardware counters */
};

/* What one sensor measured in the window. */
struct split_part {
	uint8_t domain; /* enum domain */
	/*
	 * Socket or GPU. If there is only one part of CPU or memory, it stands for all sockets. So does
	 * a part whose socket has no CPUs.
	 */
	uint8_t unit;
	uint8_t source; /* enum source_id */
	uint64_t measured_uj;
	uint64_t idle_mw;
	uint64_t idle_ns; /* the time in which measured_uj was used, if longer than the window */
};

struct split_input {
	uint64_t from_ns, until_ns; /* the window, CLOCK_MONOTONIC */
	struct split_alloc node;    /* what can be allocated; of socket_cpus only ratios matter */
	/* Activity of all processes. It may be less than that of the lines, which are read at other instants. */
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
 * LINE[nlines], UNALLOCATED and SYSTEM are overwritten. WORK is scratch memory of split_work_size()
 * bytes, since a tick allocates nothing. -EINVAL: the window is empty or backwards, or a line's job
 * or a part's domain or source is out of range. Nothing is written then.
 */
int split_tick(const struct split_input *in, void *work, struct split_share *line,
	       struct split_share *unallocated, struct split_share *system);
size_t split_work_size(size_t njobs, size_t nlines);

#endif
