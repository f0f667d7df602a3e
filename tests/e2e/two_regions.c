/* SPDX-License-Identifier: GPL-2.0-or-later */
/* two_regions SECONDS PERCENT - as two_callers.c, in parallel regions of OpenMP. */
#include <stdio.h>
#include <stdlib.h>

#include "own_ns.h"

__attribute__((noinline)) static double print(int n)
{
	char text[64];
	double sum = 0;
	int i;

	for (i = 0; i < n; i++) {
		(void)snprintf(text, sizeof(text), "%g", i * 1.5);
		sum += strtod(text, NULL);
	}
	return sum;
}

static volatile double sink;

__attribute__((noinline)) static long heavy(long ns)
{
	long sum = 0;

#pragma omp parallel reduction(+ : sum)
	{
		const long begin = own_ns();

		while (own_ns() < begin + ns)
			sink = print(50);
		sum += own_ns() - begin;
	}
	return sum;
}

__attribute__((noinline)) static long light(long ns)
{
	long sum = 0;

#pragma omp parallel reduction(+ : sum)
	{
		const long begin = own_ns();

		while (own_ns() < begin + ns)
			sink = print(40);
		sum += own_ns() - begin;
	}
	return sum;
}

int main(int argc, char **argv)
{
	const double end = argc > 1 ? atof(argv[1]) * 1e9 : 0;
	const long percent = argc > 2 ? atol(argv[2]) : 50;
	long in_heavy = 0, in_light = 0;

	while ((double)own_ns() < end) {
		in_heavy += heavy(2000000 * percent);
		in_light += light(2000000 * (100 - percent));
	}
	printf("%.4f\n", (double)in_heavy / (double)(in_heavy + in_light));
	return 0;
}
