/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remainder.h - the energy of the whole node minus that of the parts that have their own sensors. The node's
 * sensor may be slower than the parts' (a BMC every 5 s, RAPL at every tick). Then the parts give
 * the shape over time, and the node's sensor gives the level. The difference in one interval of the
 * node's sensor is spread over the time until the next interval ends. So only measured energy is booked,
 * but one interval late. In integers, over any time:
 *
 *	other == node - parts + disagreement - pool
 *
 * where the pool is the energy that is still to be booked. If the pool is negative, the parts had more
 * energy than the node, by that amount. Sensors are never read at the same instant, so this may happen for
 * a moment, and later intervals make up for it. If the parts stay ahead, the difference is published as
 * disagreement. So `other` is never negative, and no difference is hidden.
 */
#ifndef CEEMS_REMAINDER_H
#define CEEMS_REMAINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libmeter/sensor/source.h"

/* Parts that stay ahead of the node for so many of its intervals disagree with it, ... */
#define REMAINDER_PATIENCE 3
/* ... but not sooner, and not while it is less than one in so many of what they used. */
#define REMAINDER_PATIENCE_NS UINT64_C(5000000000)
#define REMAINDER_JITTER 50
/* A sensor that has nothing new for so many of its intervals, and so long, is silent. */
#define REMAINDER_SILENCE 3
#define REMAINDER_SILENCE_NS UINT64_C(5000000000)
/* A part that cannot be read is waited for, as its energy comes later; but not for ever. */
#define REMAINDER_HOLD_NS UINT64_C(10000000000)

/*
 * What the parts used, and until when: kept until the node's sensor has got there. Of ticks of a
 * second, two minutes: what ExternalSource may be behind.
 */
#define REMAINDER_SPANS 128
struct remainder_span {
	uint64_t to_ns; /* from the end of the one before */
	uint64_t uj;
};

/* Plain data; starts as zeros. */
struct remainder {
	uint64_t until_ns;  /* the node's sensor is booked up to here; 0: it has no base yet */
	int64_t pool_uj;    /* see above */
	uint64_t spread_ns; /* over which the pool is still to be booked */
	uint64_t period_ns; /* the last interval of the node's sensor */
	uint64_t behind_ns; /* since when the pool is below 0 */
	bool is_silent;
	uint32_t nspans;
	struct remainder_span span[REMAINDER_SPANS];
	/* that wait for missing parts */
	uint64_t held_ns;
	uint64_t held_parts_uj;
	uint64_t held_node_uj;
	uint64_t held_until_ns; /* 0: no news of the node */
};

struct remainder_tick {
	uint64_t now_ns; /* CLOCK_MONOTONIC */
	uint64_t dt_ns;
	uint64_t parts_uj;	/* of all parts in this tick */
	bool is_missing_parts;	/* one could not be read */
	const struct reading_part *node; /* NULL: it could not be read */
};

struct remainder_share {
	uint64_t other_uj;
	uint64_t disagreement_uj;
	bool fell_silent; /* in this tick */
};

void remainder_tick(struct remainder *r, const struct remainder_tick *t,
		    struct remainder_share *ret);

/*
 * Kept in the state of the node's source, beside its counters, because both belong together: if a
 * tick was not booked, both are read again. To be loaded before each tick, which changes nothing if
 * it is what was saved after the last one. What cannot be right at NOW_NS makes R as if new.
 */
void remainder_load(struct remainder *r, struct source_state *state, uint64_t now_ns);
/* -ENOSPC: no room. */
int remainder_save(const struct remainder *r, struct source_state *state);
bool remainder_is_kept(struct source_state *state);
void remainder_forget(struct source_state *state);

#endif
