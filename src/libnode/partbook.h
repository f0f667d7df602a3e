/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * partbook.h - the energy, present power and idle power of each part of the node (a socket, a GPU), in
 * the ledger's page.
 */
#ifndef CEEMS_PARTBOOK_H
#define CEEMS_PARTBOOK_H

#include "src/libnode/idle.h"
#include "src/libnode/idlefit.h"
#include "src/libnode/pace.h"
#include "src/libnode/tick.h"

/* The windows, fits and paces of page->part[], by index. Zeroed: empty. */
struct partbook {
	struct idle_window window[PARTS_MAX];
	struct idlefit fit[PARTS_MAX];
	struct pace pace[PARTS_MAX];
	uint32_t index[PARTS_MAX]; /* index in page->part[] of each part of the present tick */
};

struct partbook_setup {
	uint64_t interval_ns;	/* SampleInterval */
	uint64_t configured_mw; /* IdleWatts, used instead of a stated or learned value; 0: not set */
	uint32_t cpus;		/* the number of the node's CPUs */
};

/*
 * Sets the idle power to use, in the page and in the parts that the sources have read, and has these parts
 * booked. Call it before T is booked.
 */
void partbook_note(struct partbook *p, const struct partbook_setup *cf, struct tick *t);

/*
 * Holds back energy of parts whose counters move seldom, and has booked what is due (pace.h). HOLDS false:
 * books all that is held. Call it after partbook_note(), when the activity of T is known.
 */
void partbook_pace(struct partbook *p, struct tick *t, bool holds);

/*
 * Ends the windows that are complete with T: sets the parts' power in the page and learns their idle power,
 * unless T is tainted. Call it after T was booked.
 */
void partbook_advance(struct partbook *p, const struct partbook_setup *cf, const struct tick *t);

#endif
