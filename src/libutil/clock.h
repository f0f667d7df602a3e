/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h - reads clocks in nanoseconds. Intervals use CLOCK_MONOTONIC, as bpf_ktime_get_ns() does;
 * records use the wall clock.
 */
#ifndef CEEMS_CLOCK_H
#define CEEMS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_MSEC UINT64_C(1000000)

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts); /* cannot fail for the three clocks below */
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* CPU time of the calling thread; measures what a tick or a hook costs. */
static inline uint64_t clock_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline struct timespec clock_ns_to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NSEC_PER_SEC),
				  .tv_nsec = (long)(ns % NSEC_PER_SEC) };
}

/*
 * Converts a deadline on CLOCK_MONOTONIC to one on the wall clock, for glibc functions that accept
 * only the wall clock. If the wall clock is set before the deadline, the deadline moves by as much.
 */
static inline struct timespec clock_wall_of(const struct timespec *mono)
{
	uint64_t mono_ns = (uint64_t)mono->tv_sec * NSEC_PER_SEC + (uint64_t)mono->tv_nsec;

	return clock_ns_to_timespec(clock_wall_ns() - clock_mono_ns() + mono_ns);
}

#endif
