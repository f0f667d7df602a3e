/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/cleaner_hour.h"

#include <string.h>
#include <strings.h>

#include "src/libutil/clock.h"

#define HOUR_S UINT64_C(3600)

/*
 * Mean factor of CHAIN over LENGTH_S seconds from BEGIN. False: the series does not cover all of
 * that time.
 */
static bool mean_factor(const struct factor_chain *chain, uint64_t begin, uint64_t length_s, double *ret)
{
	struct factor_mix mix;

	factor_chain_mix(chain, begin * NSEC_PER_SEC, (begin + length_s) * NSEC_PER_SEC, &mix);
	*ret = (double)mix.mean_ug_per_kwh;
	return mix.ns[FACTOR_FRESH] == length_s * NSEC_PER_SEC;
}

static bool is_of_series(const struct factor_chain *chain, const struct record *r)
{
	return chain && chain->series && !strcmp(r->emissions.kind, emission_kind_name(EMISSION_AVERAGE)) &&
	       !strcasecmp(r->emissions.region, chain->region);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

bool cleaner_hour_find(const struct factor_chain *chain, const struct record *r, struct cleaner_hour *ret)
{
	uint64_t length_s = 0; /* of another run, which nobody will suspend */
	double own, mean, least = 0;
	uint64_t best = 0;
	uint64_t t;

	if (!is_of_series(chain, r) || r->start <= CLEANER_HOUR_REACH_S ||
	    !record_run_s(r, /* now= */ 0, &length_s) || !length_s || length_s > CLEANER_HOUR_REACH_S ||
	    !mean_factor(chain, r->start, r->end - r->start, &own))
		return false;
	t = (r->start - CLEANER_HOUR_REACH_S + HOUR_S - 1) / HOUR_S * HOUR_S;
	for (; t <= r->start + CLEANER_HOUR_REACH_S; t += HOUR_S) {
		if (!mean_factor(chain, t, length_s, &mean))
			continue;
		if (!best || mean < least ||
		    (!(mean > least) && distance(t, r->start) < distance(best, r->start))) {
			best = t;
			least = mean;
		}
	}
	if (!best || !(own > 0))
		return false;
	*ret = (struct cleaner_hour){ .begin = best, .saved = least < own ? 1 - least / own : 0 };
	return true;
}
