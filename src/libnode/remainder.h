/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remainder.h - the energy of a whole minus that of the parts that have their own sensors. The whole
 * is the node or a module (enum part_scope); below, "node" stands for both.
 * The node's sensor may be slower than the parts' (a BMC every 5 s, RAPL at every tick). The
 * difference over one interval of the node's sensor is therefore booked during its next interval:
 * late, but all of it measured. At any time, in integers,
 *
 *	other == node - parts + disagreement - pool
 *
 * where the pool is the difference that is not yet booked. A negative pool means that the parts
 * used more than the node, by that amount. This may happen for a moment, because sensors are not
 * read at the same instant, and later intervals make up for it. If the parts stay above the node,
 * the difference is published as disagreement. So `other` is never negative, and no difference is
 * hidden.
 */
#ifndef CEEMS_REMAINDER_H
#define CEEMS_REMAINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libmeter/sensor/source.h"

/*
 * The difference is a disagreement if two conditions hold. The pool was negative for REMAINDER_PATIENCE
 * intervals of the node's sensor, and for REMAINDER_PATIENCE_NS. And it is at least 1/REMAINDER_JITTER of the
 * parts' energy.
 */
#define REMAINDER_PATIENCE 3
#define REMAINDER_PATIENCE_NS UINT64_C(5000000000)
#define REMAINDER_JITTER 50
/* The node's sensor is silent if it has no new value for this many intervals and this time. */
#define REMAINDER_SILENCE 3
#define REMAINDER_SILENCE_NS UINT64_C(5000000000)
/* How long to wait for a part that cannot be read now; its energy usually comes later. */
#define REMAINDER_HOLD_NS UINT64_C(10000000000)

/*
 * The most ticks whose parts' energy is kept until the node's sensor has reached them. With ticks
 * of a second, two minutes: the delay that ExternalSource may have.
 */
#define REMAINDER_SPANS 128
struct remainder_span {
	uint64_t to_ns; /* end of the tick; it begins where the previous span ends */
	uint64_t uj;
};

/* Plain data; starts as zeros. */
struct remainder {
	uint64_t until_ns;  /* the node's energy is booked up to this time; 0: the sensor has no base yet */
	int64_t pool_uj;    /* the difference that is not yet booked */
	uint64_t spread_ns; /* the time in which the rest of the pool is to be booked */
	uint64_t period_ns; /* the last interval of the node's sensor */
	uint64_t behind_ns; /* since when the pool is below 0 */
	bool is_silent;
	uint32_t nspans;
	struct remainder_span span[REMAINDER_SPANS];
	/* sums of ticks that wait for a part that cannot be read */
	uint64_t held_ns;
	uint64_t held_parts_uj;
	uint64_t held_node_uj;
	uint64_t held_until_ns; /* 0: no news of the node */
};

struct remainder_tick {
	uint64_t now_ns; /* CLOCK_MONOTONIC */
	uint64_t dt_ns;
	uint64_t parts_uj;     /* energy of all parts in this tick */
	bool is_missing_parts; /* one could not be read */
	bool is_in_doubt;      /* the sensor of the whole stands still: what it lacks is no disagreement */
	/* The rest is not spread, since it is a part of a larger whole, with which it must keep pace. */
	bool is_at_once;
	const struct part *node; /* NULL: it could not be read */
};

struct remainder_share {
	uint64_t other_uj;
	uint64_t disagreement_uj;
	bool fell_silent; /* in this tick */
};

void remainder_tick(struct remainder *r, const struct remainder_tick *t, struct remainder_share *ret);

/*
 * R is saved in the state of the whole's source, together with its counters: if a tick was not booked,
 * both are restored. NAME tells the wholes of a source apart: "node", "module 1". Load R before each
 * tick. Values that cannot be right at NOW_NS reset R.
 */
void remainder_load(struct remainder *r, const char *name, struct source_state *state, uint64_t now_ns);
/* Saves R in STATE. -ENOSPC: STATE has no room. */
int remainder_save(const struct remainder *r, const char *name, struct source_state *state);
bool remainder_is_kept(const char *name, struct source_state *state);
void remainder_forget(const char *name, struct source_state *state);

#endif
