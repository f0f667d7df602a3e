/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parts.h - the energy, present power and idle power of each part of the node (a socket, a GPU), in
 * the ledger's page.
 */
#ifndef CEEMS_PARTS_H
#define CEEMS_PARTS_H

#include "src/libledger/ledger_book.h"
#include "src/libnode/idle.h"
#include "src/libnode/idlefit.h"
#include "src/libnode/sources.h"
#include "src/libnode/weights.h"

/* The windows and fits of page->part[], by index. Zeroed: empty. */
struct parts {
	struct idle_window window[PARTS_MAX];
	struct idlefit fit[PARTS_MAX];
	uint32_t index[PARTS_MAX]; /* index in page->part[] of each part of the present tick */
};

struct parts_setup {
	uint64_t interval_ns;	/* SampleInterval */
	uint64_t configured_mw; /* IdleWatts, used instead of a stated or learned value; 0: not set */
	uint32_t cpus;		/* the number of the node's CPUs */
};

/*
 * Sets the parts of PAGE and of TICK from the readings R: their energy and the idle power to use. To be called
 * before the tick, from page->t_mono_ns to TICK->t_mono_ns, is booked.
 */
void parts_note(struct parts *p, struct ledger_page *page, const struct sources_reading *r,
		const struct parts_setup *cf, struct book_tick *tick);

/* Facts about a tick that are the same for all parts. */
struct parts_tick {
	uint64_t dt_ns;
	uint64_t busy_ns; /* CPU time of all processes */
	uint64_t jobs_ns; /* CPU time of jobs */
	bool is_tainted;  /* do not learn from it, see struct idle_window */
	struct activity activity;
};

/*
 * Ends the windows that are complete with TICK: sets the parts' power in PAGE and learns their idle
 * power. Call it after TICK was booked.
 */
void parts_advance(struct parts *p, struct ledger_page *page, const struct parts_setup *cf,
		   const struct book_tick *tick, const struct parts_tick *t);

#endif
