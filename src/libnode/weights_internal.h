/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * weights_internal.h - what weights.c and weights_events.c share.
 */
#ifndef CEEMS_WEIGHTS_INTERNAL_H
#define CEEMS_WEIGHTS_INTERNAL_H

#include "src/libmeter/activity/cgcounters.h"
#include "src/libmeter/activity/smt.h"
#include "src/libnode/fit.h"
#include "src/libnode/memweights.h"
#include "src/libnode/weights.h"

struct events {
	uint64_t n[SOCKETS_MAX][EVENT_N]; /* cycles are weighted for shared cores (smt.h) */
};

struct weights_step {
	struct memstep mem;
	bool has_tried_memory;		 /* memstep_open() was called for MEM */
	struct cgcounters_set *counters; /* NULL: no counters */
	uint32_t *cpu;			 /* the CPUs that the step may use; NULL: not needed here */
	size_t ncpus;
	bool is_limited; /* CPU[] is not all CPUs of the node */
	/* opened in this tick, so its counters do not cover the whole tick */
	bool is_new;
	bool is_counted; /* EVENTS is complete for this tick */
	struct events events;
};

/* The cost of events on one socket, and the sums of the window that is learned from next. */
struct socket {
	struct fit fit;
	uint64_t dynamic_uj;
	uint64_t length_ns;
	uint64_t events[EVENT_N];
};

struct weights {
	struct weights_setup setup;
	struct smt *smt;
	struct cgcounters *counters; /* NULL: there are none, for the reason WHY */
	struct cgcounters_set *node;
	struct errmsg why;
	struct memweights mem;
	struct memstep *memstep[LEDGER_STEPS]; /* by line */
	uint64_t ticks;
	uint64_t *cpu_ns;   /* CPU time of each CPU at the last tick */
	uint64_t *delta_ns; /* CPU time of each CPU in this tick */
	bool *is_busy;	    /* by CPU: its counters are read in this tick */
	struct socket socket[SOCKETS_MAX];
	bool is_one_part; /* one sensor measures all sockets, so only socket[0] is used */
	bool is_whole;	  /* EVENTS is complete for this tick */
	struct events events;
};

/*
 * Reads the counters of the node and of the steps. Returns false if the counts do not cover the
 * whole tick.
 */
bool weights_count(struct weights *w, const struct tick *t);

/*
 * Replace CPU time in the weights: by events for CPUs, and by cache misses for memory. Return
 * false, and change nothing, if no line has counts.
 */
bool weights_by_events(const struct weights *w, struct tick *t);
bool weights_by_misses(const struct weights *w, struct tick *t);

#endif
