/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tick.h - what is known in one tick. The sampler makes it, and the modules of a tick read it and add what
 * they find, in the order of the members. Pointers are valid until the end of the tick.
 */
#ifndef CEEMS_TICK_H
#define CEEMS_TICK_H

#include "src/libledger/ledger_book.h"
#include "src/libnode/sources.h"

struct weights_step;

/* The activity of all processes, by socket. The unit is the same in all ticks, for idlefit.h. */
struct activity {
	double cpu[SOCKETS_MAX];
	double mem[SOCKETS_MAX];
	bool by_time; /* the unit is CPU time, weighted for shared cores; else events at the start values of
			 fit.h, and cache misses */
};

struct tick {
	struct ledger_page *page; /* of ledger_begin(): the page that is written */
	struct book_tick book;	  /* what is booked: times, energy of the parts, activity of all processes */
	uint64_t dt_ns;		  /* since the last tick; 0: there was none */
	/* CPU time of all processes since the last tick, and that by socket. */
	uint64_t busy_ns;
	uint64_t socket_ns[SOCKETS_MAX];
	/* What the sensors of the node show. */
	struct sources_reading sources;
	struct gpu_reading gpu[GPUS_MAX];
	size_t ngpus;
	const struct gpu_instance_reading *instance; /* MIG instances */
	size_t ninstances;
	const struct gpu_slices *slices; /* sizes of the GPUs that MIG divides; NULL: there are none */
	/* The steps: LINE[nlines], and for each what is open for its activity (weights.h), or NULL. */
	struct book_line *line;
	size_t nlines;
	struct weights_step *const *step;
	uint64_t jobs_ns; /* CPU time of jobs since the last tick */
	struct activity activity;
	bool is_tainted; /* do not learn from this tick: there was a gap, or a reading failed */
};

#endif
