/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memweights.h - weights by the memory that steps hold. They stand for the activity in memory if no
 * counter says which step moves the data.
 */
#ifndef CEEMS_MEMWEIGHTS_H
#define CEEMS_MEMWEIGHTS_H

#include <stdbool.h>

#include "src/libledger/ledger_book.h"

/* What a step holds changes slowly, and asking the kernel for it is not cheap. */
#define MEMWEIGHTS_REFRESH_NS (10 * UINT64_C(1000000000))
/* Of the steps whose time it is, so many in one tick, from files that are open; and then ... */
#define MEMWEIGHTS_PER_TICK 8
/* ... one step, but only so often, by lists of processes: where there is no memory controller. */
#define MEMWEIGHTS_LIST_NS (5 * UINT64_C(1000000000))

struct memuse;

/* Of one step. Zeroed: not open. */
struct memstep {
	struct memuse *memuse; /* NULL: cannot be read */
	uint64_t bytes;
	uint64_t read_ns; /* 0: never */
};

/* Of the node; fd of /proc/meminfo. */
struct memweights {
	int fd;
	uint64_t bytes;
	uint64_t read_ns;
	uint64_t listed_ns; /* the last list of processes */
	uint64_t tick_ns;   /* of the tick before */
	size_t turn;	  /* whose it is: begun at the first each time, the last would never be read */
};

void memstep_open(struct memstep *m, const char *v2, const char *cpuacct, const char *freezer);
void memstep_close(struct memstep *m);

void memweights_open(struct memweights *w, const char *sys_root);
void memweights_close(struct memweights *w);

/*
 * Replaces the memory weights of LINE[n] and TICK, which are CPU time at first, by bytes held.
 * MEM[i] is that of line i, or NULL. Bytes count in proportion to the step's CPU use in the tick:
 * fully from one busy CPU on, not at all if the step sleeps. A step whose memory is not known is
 * assumed to hold the same share of the node's memory as it has of the CPU time. False: that of the
 * node is not known, nothing has changed.
 */
bool memweights_fill(struct memweights *w, uint64_t now_ns, struct memstep *const *mem,
		     struct book_line *line, size_t n, struct book_tick *tick);

#endif
