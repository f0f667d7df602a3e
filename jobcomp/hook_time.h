/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_time.h - how long slurmctld spent in our hook, which runs under its job write lock. A
 * histogram with four steps per octave: a quantile is at most a quarter too high. One thread adds; another may read
 * meanwhile, and then lacks the last calls.
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

/* The time that PERMILLE of the calls did not exceed; 0: there were none. */
uint64_t hook_time_quantile_ns(const struct hook_time *t, unsigned int permille);

/* For the recorder. */
void hook_time_cost(const struct hook_time *t, struct hook_cost *ret);

#endif
