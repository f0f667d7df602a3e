/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memweights.h - weights by the memory that steps hold. They are used for DRAM energy if no counter
 * tells which step moves data.
 */
#ifndef CEEMS_MEMWEIGHTS_H
#define CEEMS_MEMWEIGHTS_H

#include <stdbool.h>

#include "src/libnode/tick.h"

/* How often a step's memory is read. It changes slowly, and reading it is not cheap. */
#define MEMWEIGHTS_REFRESH_NS (10 * UINT64_C(1000000000))
/* The most steps read in one tick, if their memory cgroups are open. */
#define MEMWEIGHTS_PER_TICK 8
/*
 * Without a memory controller, a step's memory is read by listing its processes. In this time, the
 * processes of only one step of the node are listed.
 */
#define MEMWEIGHTS_LIST_NS (5 * UINT64_C(1000000000))

struct memuse;

/* The memory of one step. Zeroed memory: not open. */
struct memstep {
	struct memuse *memuse; /* NULL: cannot be read */
	uint64_t bytes;
	uint64_t read_ns; /* when it was last read; 0: never */
};

/* The node's memory, and whose turn it is. */
struct memweights {
	int fd;
	uint64_t bytes;
	uint64_t read_ns;
	uint64_t listed_ns; /* when processes were last listed */
	uint64_t tick_ns;   /* time of the last tick */
	/* line with which the next tick begins; otherwise the last lines would never be read */
	size_t turn;
};

void memstep_open(struct memstep *m, const struct cgroup_paths *paths);
void memstep_close(struct memstep *m);

void memweights_open(struct memweights *w, const char *sys_root);
void memweights_close(struct memweights *w);

/*
 * Replaces the memory weights of T and of its lines, which are CPU time before, by bytes held. MEM[i]
 * is the memory of line i, or NULL. A step's bytes are scaled by its CPU use in the tick: they
 * count fully if one or more CPUs are busy, and not at all if the step sleeps. A step whose memory
 * is unknown gets the share of the node's memory that it has of the CPU time. Returns false, and
 * changes nothing, if the node's memory is unknown.
 */
bool memweights_fill(struct memweights *w, struct memstep *const *mem, struct tick *t);

#endif
