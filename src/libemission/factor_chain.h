/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factor_chain.h - finds the emission factor for a moment. For a time t it is the first of these
 * links that exists:
 *
 *	fresh	the newest average point of the region in the series, if it holds at t or ended less
 *		than an hour before (grids publish a quarter of an hour late)
 *	last	the same point, if it ended less than EmissionMaxAge before: the provider fails
 *	static	the yearly mean of Country
 *	default	the world mean, if no Country is set
 *
 * A window is split where the factor changes. The energy charged by each link is counted beside the
 * emissions (METRIC_FRESH_FACTOR ...), so a record says on which factors its emissions rest.
 */
#ifndef CEEMS_FACTOR_CHAIN_H
#define CEEMS_FACTOR_CHAIN_H

#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libemission/factor_series.h"
#include "src/libutil/must_check.h"

#define FACTOR_FRESH_AGE_S UINT64_C(3600)

enum factor_step {
	/* The links of the chain, in their order. */
	FACTOR_FRESH,
	FACTOR_LAST,
	FACTOR_STATIC,
	FACTOR_DEFAULT,
	FACTOR_STEP_N
};
const char *factor_step_name(enum factor_step step); /* "fresh", "last", "static", "default" */

/* The chain as the site configured it. It may be copied; the series is borrowed. */
struct factor_chain {
	struct emission_factor fixed;	    /* the last link: static or default */
	char region[24];		    /* region in the series; empty: none */
	uint64_t fresh_age_s, max_age_s;    /* when a point stops being fresh, and last */
	const struct factor_series *series; /* NULL: none */
};

/*
 * Sets up RET from the settings, without a series. Errors are those of emission_lookup(), which
 * finds the last link.
 */
int factor_chain_setup(const struct settings *s, struct factor_chain *ret, struct errmsg *err) _must_check_;

/* The factors used in a window of time. */
struct factor_mix {
	uint64_t ns[FACTOR_STEP_N]; /* time per link; the times add up to the window */
	uint64_t mean_ug_per_kwh;   /* weighted by time, before PUE */
	unsigned int changes;	    /* how often the factor changes in the window */
	/* the factor in use at the end of the window */
	struct emission_factor now;
	enum factor_step now_step;
	uint64_t now_until_s; /* end of its point in the series; 0: it is from no series */
};

/*
 * Mixes the factors of the window [FROM_WALL_NS, UNTIL_WALL_NS), CLOCK_REALTIME. An empty or
 * backwards window has the factor of its end.
 */
void factor_chain_mix(const struct factor_chain *c, uint64_t from_wall_ns, uint64_t until_wall_ns,
		      struct factor_mix *ret);

/*
 * Calls EACH for each part of the window that has one factor, in order; an empty window is one part
 * of 0 ns.
 */
typedef void (*factor_chain_fn)(void *ctx, const struct emission_factor *f, enum factor_step step,
				uint64_t ns);
void factor_chain_walk(const struct factor_chain *c, uint64_t from_wall_ns, uint64_t until_wall_ns,
		       factor_chain_fn each, void *ctx);

/*
 * Splits ENERGY_UJ, spread evenly over the window of M, by link; the parts add up to ENERGY_UJ. The
 * emissions of that energy are emission_ng() with m->mean_ug_per_kwh.
 */
void factor_mix_split(const struct factor_mix *m, uint64_t energy_uj, uint64_t ret_uj[FACTOR_STEP_N]);

#endif
