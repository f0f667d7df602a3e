/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * weights_internal.h - shared by weights.c and weights_events.c.
 */
#ifndef CEEMS_WEIGHTS_INTERNAL_H
#define CEEMS_WEIGHTS_INTERNAL_H

#include "src/libmeter/activity/cgcounters.h"
#include "src/libmeter/activity/smt.h"
#include "src/libnode/fit.h"
#include "src/libnode/memweights.h"
#include "src/libnode/weights.h"

struct events {
	uint64_t n[SOCKETS_MAX][EVENT_N]; /* cycles by what they are worth (smt.h) */
};

struct weights_step {
	struct memstep mem;
	bool has_tried_memory;		 /* whether MEM can be read is known */
	struct cgcounters_set *counters; /* NULL: none */
	uint32_t *cpu;			 /* those it may use; NULL: of no use here */
	size_t ncpus;
	bool is_limited;		 /* they are not simply all */
	bool is_new;			 /* opened in the tick that is being made */
	/* of that tick: */
	bool is_counted;
	struct events events;
};

/* What a socket's events cost, and the window from which it will be learned next. */
struct socket {
	struct fit fit;
	uint64_t dynamic_uj;
	uint64_t length_ns;
	uint64_t events[EVENT_N];
};

struct weights {
	struct weights_setup setup;
	struct smt *smt;
	struct cgcounters *counters; /* NULL: none, and WHY */
	struct cgcounters_set *node;
	struct errmsg why;
	struct memweights mem;
	struct memstep *memstep[LEDGER_STEPS]; /* by line */
	uint64_t ticks;
	uint64_t *cpu_ns;   /* as of the tick before */
	uint64_t *delta_ns; /* in this tick */
	bool *is_busy;	    /* whose counters are read */
	struct socket socket[SOCKETS_MAX];
	bool is_one_part; /* one sensor for all sockets: one fit, socket[0]'s */
	bool is_whole;	  /* EVENTS has all that was done since the tick before */
	struct events events;
};

/*
 * Reads the counters of everything and of the steps. False: what was counted is not the whole tick.
 */
bool weights_count(struct weights *w, struct weights_step *const *step,
		   const struct book_line *line, size_t n);

/*
 * Replaces CPU time by events, in weights of CPUs and, where cache misses are counted, of memory.
 * False: not one line was counted, nothing has changed.
 */
bool weights_by_events(const struct weights *w, struct weights_step *const *step,
		       struct book_line *line, size_t n, struct book_tick *tick);
bool weights_by_misses(const struct weights *w, struct weights_step *const *step,
		       struct book_line *line, size_t n, struct book_tick *tick);

#endif
