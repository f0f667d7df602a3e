/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_times.h - takes and sorts times in nanoseconds. It needs libc only, for plugins of another Slurm. */
#ifndef CEEMS_BENCH_TIMES_H
#define CEEMS_BENCH_TIMES_H

#include <stdint.h>
#include <time.h>

static inline uint64_t bench_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* For qsort(). */
static inline int bench_by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

#endif
