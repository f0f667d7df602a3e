/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_fwq - fixed work quanta: the same arithmetic again and again, and how long each took. What else runs
 * on the CPU makes some of them longer (Sottile and Minnich 2004, "Analysis of microbenchmarks for
 * performance tuning of clusters"). `bench_fwq QUANTA [DEPTH]` prints the mean, the median and the 99.9th
 * percentile of the wall time and the mean of the CPU time of a quantum, in ns. tests/bench/fwq runs it as a
 * step; tests/bench/profile below DEPTH callers, each with a frame of 1 KiB.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_times.h"
#include "src/libutil/clock.h"

/* Some 1 ms: a thousandth of SampleInterval, and far above the cost of reading a clock. */
#define WORK 1000000

static uint64_t work(uint64_t x)
{
	unsigned int i;

	for (i = 0; i < WORK; i++)
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return x;
}

static int measure(uint64_t *ns, long n)
{
	uint64_t x = 1, sum = 0, cpu_ns;
	long i;

	x = work(x); /* the clock of the CPU goes up */
	cpu_ns = clock_thread_cpu_ns();
	for (i = 0; i < n; i++) {
		uint64_t before = clock_mono_ns();

		x = work(x);
		ns[i] = clock_mono_ns() - before;
		sum += ns[i];
	}
	cpu_ns = clock_thread_cpu_ns() - cpu_ns;
	qsort(ns, (size_t)n, sizeof(*ns), bench_by_time);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sum / (uint64_t)n, ns[n / 2],
	       ns[n - 1 - n / 1000], cpu_ns / (uint64_t)n);
	return x == 0; /* the work is not to be left out */
}

__attribute__((noinline)) static int measure_below(long depth, uint64_t *ns, long n)
{
	volatile char frame[1024];

	frame[depth % (long)sizeof(frame)] = 0;
	return depth > 0 ? measure_below(depth - 1, ns, n) + frame[depth % (long)sizeof(frame)] :
			   measure(ns, n);
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 0;
	uint64_t *ns = n > 0 ? calloc((size_t)n, sizeof(*ns)) : NULL;
	int rc;

	if (!ns) {
		(void)fputs("usage: bench_fwq QUANTA [DEPTH]\n", stderr);
		return 2;
	}
	rc = measure_below(argc > 2 ? atol(argv[2]) : 0, ns, n);
	free(ns);
	return rc;
}
