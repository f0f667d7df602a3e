/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_time.h - CLOCK_MONOTONIC less the time that this thread waited for a CPU (/proc/PID/schedstat): what a
 * call takes does not depend on who else keeps the machine busy. Where the kernel does not say, it is
 * CLOCK_MONOTONIC.
 */
#ifndef CEEMS_TEST_OWN_TIME_H
#define CEEMS_TEST_OWN_TIME_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "src/libutil/clock.h"

static inline uint64_t own_time_ns(void)
{
	uint64_t waited_ns = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "re");

	if (f) {
		if (fscanf(f, "%*u %" SCNu64, &waited_ns) != 1)
			waited_ns = 0;
		(void)fclose(f);
	}
	return clock_mono_ns() - waited_ns;
}

#endif
