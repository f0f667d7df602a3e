/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cleaner_hour.h - the hour at which the electricity of a job would have emitted least.
 */
#ifndef CEEMS_CLEANER_HOUR_H
#define CEEMS_CLEANER_HOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libemission/factor_chain.h"
#include "src/librecord/record.h"

/* Starts this long before and after the job's own start are compared; a longer job has every hour of the day in it. */
#define CLEANER_HOUR_REACH_S UINT64_C(86400)

struct cleaner_hour {
	uint64_t begin; /* a full hour, in seconds since the epoch */
	double saved;	/* share of the job's CO2e, from 0 (no other hour is better) to 1 */
};

/*
 * Compares the mean factor of CHAIN over R's run time with the mean of as much time from each full hour within reach.
 * The series has to cover the job and that other time; hours that the series does not cover are left out. False: CHAIN
 * has no series, R's emissions are of another region or not of a series alone, R has not ended, ran for more than a
 * day, or no other hour is covered.
 */
bool cleaner_hour_find(const struct factor_chain *chain, const struct record *r, struct cleaner_hour *ret);

#endif
