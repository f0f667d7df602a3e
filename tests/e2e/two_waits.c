/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * two_waits SECONDS: for that long sleeps three quarters of the time and waits for a futex one, each called
 * by a function of its own. Prints the seconds of both. By frame pointers alone the direct caller of the C
 * library's function may be missing, so there is one more function between.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint32_t word;

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void nap(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	(void)nanosleep(&t, NULL);
	__asm__ volatile("");
}

__attribute__((noinline)) static void lock(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	(void)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0);
	__asm__ volatile("");
}

__attribute__((noinline)) static double sleeps(void)
{
	const double begin = now();

	nap(30000000);
	return now() - begin;
}

__attribute__((noinline)) static double locks(void)
{
	const double begin = now();

	lock(10000000);
	return now() - begin;
}

int main(int argc, char **argv)
{
	const double end = now() + (argc > 1 ? atof(argv[1]) : 1);
	double slept = 0, locked = 0;

	while (now() < end) {
		slept += sleeps();
		locked += locks();
	}
	printf("%.4f %.4f\n", slept, locked);
	return 0;
}
