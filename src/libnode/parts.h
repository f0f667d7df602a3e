/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parts.h - energy used, power now and idle power of each part of the node (a socket, a GPU and so on), in
 * the ledger's page.
 */
#ifndef CEEMS_PARTS_H
#define CEEMS_PARTS_H

#include "src/libledger/ledger_book.h"
#include "src/libnode/idle.h"
#include "src/libnode/idlefit.h"
#include "src/libnode/sources.h"
#include "src/libnode/weights.h"

/* The windows of page->part[], by index. Zeroed: nothing seen yet. */
struct parts {
	struct idle_window window[READING_PARTS_MAX];
	struct idlefit fit[READING_PARTS_MAX];
	uint32_t index[READING_PARTS_MAX]; /* of the parts of the tick that is being made */
};

struct parts_setup {
	uint64_t interval_ns;	/* SampleInterval */
	uint64_t configured_mw; /* IdleWatts: wins over what was stated or learned; 0: not set */
	uint32_t cpus;		/* processors that CPU time is of */
};

/*
 * Notes a reading of the tick at page->t_mono_ns .. TICK->t_mono_ns in PAGE, before the tick is
 * booked: its parts, and the idle power in force. Fills TICK->part.
 */
void parts_note(struct parts *p, struct ledger_page *page, const struct sources_reading *r,
		const struct parts_setup *cf, struct book_tick *tick);

/* What the whole tick was like, for all parts. */
struct parts_tick {
	uint64_t dt_ns;
	uint64_t busy_ns; /* of all processors */
	uint64_t jobs_ns; /* jobs' part of it */
	bool is_tainted;  /* teaches nothing: see struct idle_window */
	struct activity activity;
};

/*
 * After TICK was booked: power is shown for whole windows, and only whole windows teach idle
 * power.
 */
void parts_advance(struct parts *p, struct ledger_page *page, const struct parts_setup *cf,
		   const struct book_tick *tick, const struct parts_tick *t);

#endif
