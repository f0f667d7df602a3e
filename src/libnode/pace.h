/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pace.h - books the energy of a counter that moves seldom (Cray's ten times a second, NVML's every 100 ms)
 * in the time in which it was used, although ticks are closer together: each start and end of a step is one.
 * Without this, all that the counter gained in 100 ms would go to who ran in the last millisecond.
 *
 * The energy that a part uses in a tick is estimated from its activity, and corrected by what the counter
 * shows: when it has moved, it shows all energy up to a moment since the tick before; while it stands, no
 * less than its interval ago. No more is ever booked than the counter has shown. So a reserve is held back,
 * of about what the part uses in one interval. It is taken from the energy of times without steps where
 * possible, and booked when the counter stands still or slurmd ends. At any time, in whole microjoules,
 *
 *	booked + held == shown by the counter
 *
 * Floating point is used for the estimate only.
 */
#ifndef CEEMS_PACE_H
#define CEEMS_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* A counter with a shorter interval is booked as it is, and so is one with a longer interval. */
#define PACE_SHORTEST_NS 2e7
#define PACE_LONGEST_NS 2.5e9
#define PACE_INTERVALS 32

/* What activity a part's power goes with; the first estimate of the cost of each is in pace.c. */
enum pace_unit {
	PACE_NONE, /* there is no measure of activity */
	PACE_CPU_EVENTS,
	PACE_CPU_TIME,
	PACE_MISSES, /* of the last-level cache */
	PACE_MEM_TIME,
	PACE_UNITS
};

/* Plain data. Zeroed: nothing seen yet. */
struct pace {
	/* How likely each interval between two moves of the counter is; pace.c has their list. */
	double likely[PACE_INTERVALS];
	double interval_ns;  /* the mean of these */
	unsigned int nspans; /* how often ticks saw no move for some milliseconds */
	bool has_moved;
	/* Since the tick that saw the last move, and since the tick before that one. */
	double since_ns, before_ns;
	double since_uj, before_uj; /* the energy estimated for that time */
	double lead_uj;		    /* estimated: used, but not shown yet */
	double error_uj;	    /* standard deviation of that */
	double reserve_uj;	    /* what is to be held, beside what was used and not shown */
	/* The present window, and the level of the last ones: power, and activity by ns. */
	double window_ns, window_uj, window_shown_uj, window_activity;
	double uj_by_ns, activity_by_ns, peak_uj_by_ns;
	/* Faded sums over windows: time, and products of activity and energy by ns. */
	double ns, x, y, xx, xy;
	enum pace_unit unit;
};

/* One part in one tick. */
struct pace_tick {
	uint64_t shown_uj; /* by how much the counter has moved */
	uint64_t dt_ns;
	uint64_t idle_mw; /* 0: not known */
	enum pace_unit unit;
	double activity; /* in that unit */
	bool has_steps;
	bool ends; /* hold nothing back */
};

/* The time between two moves of the counter, as learned. 0: not known, or it is not in the range above. */
double pace_interval_ns(const struct pace *p);

/* Returns the energy to book. *HELD_UJ is what was held before, and what is held now. */
uint64_t pace_tick(struct pace *p, const struct pace_tick *t, uint64_t *held_uj);

#endif
