/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cleaner_hour.h - finds the hour at which the energy of a job would have emitted least.
 */
#ifndef CEEMS_CLEANER_HOUR_H
#define CEEMS_CLEANER_HOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libemission/factor_chain.h"
#include "src/librecord/record.h"
#include "src/libutil/must_check.h"

/*
 * How far another start may be from the job's own, before or after. A longer job covers every hour
 * of a day.
 */
#define CLEANER_HOUR_REACH_S UINT64_C(86400)

struct cleaner_hour {
	uint64_t begin; /* a full hour, in seconds since the epoch */
	double saved;	/* share of the job's CO2e, from 0 (no other hour is better) to 1 */
};

/*
 * Finds the full hour, at most CLEANER_HOUR_REACH_S from R's start, at which a run of the same
 * length has the lowest mean factor. Hours that CHAIN's series does not cover are skipped. Returns
 * false if: CHAIN has no series; the series does not cover R's run time; R's emissions are of
 * another region or not all from a series; R has not ended, or ran for more than a day; or no hour
 * is covered.
 */
bool cleaner_hour_find(const struct factor_chain *chain, const struct record *r,
		       struct cleaner_hour *ret) _must_check_;

#endif
