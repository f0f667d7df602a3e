/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_time.h - a histogram of the times that slurmctld spent in our hook, which runs under its job write
 * lock. Its bins are a quarter of an octave wide, so a quantile is at most 25 % too high. One thread adds
 * times. Another may read meanwhile, and then perhaps misses the last calls.
 */
#ifndef CEEMS_HOOK_TIME_H
#define CEEMS_HOOK_TIME_H

#include <stdatomic.h>
#include <stdint.h>

#include "src/libstore/job_facts.h"

#define HOOK_TIME_BINS 128

struct hook_time {
	_Atomic uint64_t n;
	_Atomic uint64_t sum_ns;
	_Atomic uint64_t max_ns;
	_Atomic uint64_t bin[HOOK_TIME_BINS];
};

void hook_time_add(struct hook_time *t, uint64_t ns);

/* Returns the time that PERMILLE of the calls did not exceed; 0: there were no calls. */
uint64_t hook_time_quantile_ns(const struct hook_time *t, unsigned int permille);

/* Gives the histogram in the form in which it is written to the inbox for the recorder. */
void hook_time_cost(const struct hook_time *t, struct hook_cost *ret);

#endif
