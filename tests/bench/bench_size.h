/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_size.h - how much a benchmark measures. */
#ifndef CEEMS_BENCH_SIZE_H
#define CEEMS_BENCH_SIZE_H

#include <stdint.h>
#include <stdlib.h>

/* N, or with CEEMS_BENCH_DIVISOR that part of N: enough to test that the benchmark works. Never 0. */
static inline uint64_t bench_n(uint64_t n)
{
	const char *divisor = getenv("CEEMS_BENCH_DIVISOR");
	const uint64_t by = divisor ? strtoull(divisor, NULL, 10) : 1;

	return by == 0 ? n : n > by ? n / by : 1;
}

#endif
