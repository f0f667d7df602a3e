/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * two_functions SECONDS PERCENT - uses so much CPU time, PERCENT of it in heavy() and the rest in light(),
 * and prints its pid and the part that was in heavy(). Both call the same leaf.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROUND_NS 200000000L /* longer than the interval of any rate */

static long own_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

__attribute__((noinline)) void leaf(void)
{
	volatile unsigned int i;

	for (i = 0; i < 20000; i++)
		;
}

__attribute__((noinline)) void heavy(long ns)
{
	long end = own_ns() + ns;

	while (own_ns() < end)
		leaf();
	__asm__ volatile("");
}

__attribute__((noinline)) void light(long ns)
{
	long end = own_ns() + ns;

	while (own_ns() < end)
		leaf();
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	const long end = argc > 1 ? atol(argv[1]) * 1000000000L : 0, percent = argc > 2 ? atol(argv[2]) : 50;
	long begin, in_heavy = 0;

	while (own_ns() < end) {
		begin = own_ns();
		heavy(ROUND_NS / 100 * percent);
		in_heavy += own_ns() - begin;
		light(ROUND_NS / 100 * (100 - percent));
	}
	printf("%d %.4f %.3f\n", (int)getpid(), (double)in_heavy / (double)own_ns(), (double)own_ns() / 1e9);
	return 0;
}
