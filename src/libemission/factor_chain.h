/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factor_chain.h - which emission factor counts for a moment, and what a joule makes of it. For an
 * instant t the first of these that there is:
 *
 *	fresh	the series' newest average point of the region that began, if it holds at t or ended
 *		less than an hour ago (grids publish a quarter of an hour late)
 *	last	the same point, if it ended less than EmissionMaxAge ago: the provider is out
 *	static	the yearly mean of Country
 *	default	the world's mean, where no Country is set
 *
 * A window that such a change falls into is split there. The energy of each of the four is booked
 * beside the emissions (METRIC_FRESH_FACTOR ...). So a record says which factors its emissions rest
 * on.
 */
#ifndef CEEMS_FACTOR_CHAIN_H
#define CEEMS_FACTOR_CHAIN_H

#include <stdint.h>

#include "src/libcore/settings.h"
#include "src/libemission/factor_series.h"

#define FACTOR_FRESH_AGE_S UINT64_C(3600)

enum factor_step {
	FACTOR_FRESH,
	FACTOR_LAST,
	FACTOR_STATIC,
	FACTOR_DEFAULT,
	FACTOR_STEP_N
};
const char *factor_step_name(enum factor_step step); /* "fresh", "last", "static", "default" */

/* What a site set. Copy it freely; the series is borrowed. */
struct factor_chain {
	struct emission_factor fixed; /* static or default: the end of the chain */
	char region[24];	      /* of the series; empty: of none */
	uint64_t fresh_age_s, max_age_s;
	const struct factor_series *series; /* NULL: none */
};

/* Without a series. Errors as of emission_lookup(), which finds the end of the chain. */
int factor_chain_setup(const struct settings *s, struct factor_chain *ret, struct errmsg *err);

/* A window of time. */
struct factor_mix {
	uint64_t ns[FACTOR_STEP_N];  /* by step; they add up to the window */
	uint64_t mean_ug_per_kwh;    /* weighted by time, before PUE */
	unsigned int changes;	     /* 0: any part of the window has the same factor */
	/* in force at the window's end */
	struct emission_factor now;
	enum factor_step now_step;
	uint64_t now_until_s; /* of its point; 0: it is none of a series */
};

/* CLOCK_REALTIME; an empty or backwards window is that of its end. */
void factor_chain_mix(const struct factor_chain *c, uint64_t from_wall_ns, uint64_t until_wall_ns,
		      struct factor_mix *ret);

/* Each part of the window that has one factor to EACH, in order; an empty window is one of 0 ns. */
typedef void (*factor_chain_fn)(void *ctx, const struct emission_factor *f, enum factor_step step,
				uint64_t ns);
void factor_chain_walk(const struct factor_chain *c, uint64_t from_wall_ns,
		       uint64_t until_wall_ns, factor_chain_fn each, void *ctx);

/*
 * ENERGY_UJ, spread evenly over the mix's window, by step: the shares add up to it. Its emissions are
 * emission_ng() of mean_ug_per_kwh.
 */
void factor_mix_split(const struct factor_mix *m, uint64_t energy_uj,
		      uint64_t ret_uj[FACTOR_STEP_N]);

#endif
