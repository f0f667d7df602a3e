/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_time.h - how long slurmctld spent in our hook, which runs under its job write lock. A
 * histogram with four steps per octave: a quantile is at most a quarter too high.
 */
#ifndef CEEMS_HOOK_TIME_H
#define CEEMS_HOOK_TIME_H

#include <stdint.h>

#define HOOK_TIME_BINS 128

struct hook_time {
	uint64_t n;
	uint64_t max_ns;
	uint64_t bin[HOOK_TIME_BINS];
};

void hook_time_add(struct hook_time *t, uint64_t ns);

/* The time that PERMILLE of the calls did not exceed; 0: there were none. */
uint64_t hook_time_quantile_ns(const struct hook_time *t, unsigned int permille);

#endif
