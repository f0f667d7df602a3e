/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * two_callers SECONDS PERCENT [THREADS [LIBRARY]] - each thread uses so much CPU time, PERCENT of it below
 * heavy() and the rest below light(), and it prints the part that was in heavy(). Both call the same: what is
 * recursive, what has a frame of a size known at run time, and the C library, which calls back. For unwinding
 * without frame pointers.
 *
 * -DLIBRARY: these two functions alone; -DBY_DLOPEN: they are in LIBRARY.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "own_ns.h"

#define THREADS_MAX 16

#define NOINLINE __attribute__((noinline))

#ifdef BY_DLOPEN
static void (*heavy)(long), (*light)(long);

static int find_functions(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);

	if (!handle)
		return 0;
	*(void **)&heavy = dlsym(handle, "heavy");
	*(void **)&light = dlsym(handle, "light");
	return heavy && light;
}
#else
static volatile double sink;

static int compare(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

NOINLINE static void sort(size_t n)
{
	int *number = alloca(n * sizeof(*number));
	size_t i;

	for (i = 0; i < n; i++)
		number[i] = (int)(i * 7919 % 1009);
	qsort(number, n, sizeof(*number), compare);
	sink += number[n / 2];
}

NOINLINE static void print(int n)
{
	char text[64];
	int i;

	for (i = 0; i < n; i++) {
		(void)snprintf(text, sizeof(text), "%g", i * 1.5);
		sink += strtod(text, NULL);
	}
}

NOINLINE static int recurse(int depth)
{
	volatile char room[100];

	room[depth] = (char)depth;
	if (!depth)
		print(20);
	return depth ? recurse(depth - 1) + room[depth] : 0;
}

NOINLINE void heavy(long ns)
{
	const long end = own_ns() + ns;

	while (own_ns() < end) {
		sort(500);
		print(30);
		sink += recurse(20);
	}
	__asm__ volatile("");
}

NOINLINE void light(long ns)
{
	const long end = own_ns() + ns;

	while (own_ns() < end) {
		sink += recurse(20);
		print(30);
		sort(500);
	}
	__asm__ volatile("" ::: "memory");
}
#endif

#ifndef LIBRARY
static long end_ns, percent;

static void *run(void *ret)
{
	const long round = end_ns < 200000000 ? end_ns : 200000000;
	long begin, in_heavy = 0;

	while (own_ns() < end_ns) {
		begin = own_ns();
		heavy(round / 100 * percent);
		in_heavy += own_ns() - begin;
		light(round / 100 * (100 - percent));
	}
	*(double *)ret = (double)in_heavy / (double)own_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	const int nthreads = argc > 3 ? atoi(argv[3]) : 0;
	double part[THREADS_MAX] = { 0 }, sum = 0;
	pthread_t thread[THREADS_MAX];
	int i;

	if (argc < 3 || nthreads > THREADS_MAX)
		return 2;
#ifdef BY_DLOPEN
	if (argc < 5 || !find_functions(argv[4]))
		return 2;
#endif
	end_ns = (long)(atof(argv[1]) * 1e9);
	percent = atol(argv[2]);
	if (!nthreads)
		(void)run(&sum);
	for (i = 0; i < nthreads; i++)
		if (pthread_create(&thread[i], NULL, run, &part[i]) != 0)
			return 1;
	for (i = 0; i < nthreads; i++) {
		(void)pthread_join(thread[i], NULL);
		sum += part[i] / nthreads;
	}
	printf("%.4f\n", sum);
	return 0;
}
#endif
