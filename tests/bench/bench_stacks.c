/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_stacks ROUNDS CGROUP - what a sample of --ceems-profile costs the sampled program: the CPU time of
 * fixed work with and without sampling, in turn, for several sizes of the copy of the stack. The work is
 * below callers that fill 40 KiB, on CPU 0, in CGROUP (v2) or below. The rate is the highest; the last column
 * is for the usual rate.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/profiler/stacks.h"
#include "src/libprofile/unwind.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define HZ 999
#define USUAL_HZ 99
#define SLICE 20 /* of work() */

static const struct kind {
	const char *name;
	bool is_sampled;
	uint32_t dump_size;
} kinds[] = {
	{ "not sampled", false, 0 },  { "by frame pointers", true, 0 }, { "with 4 KiB", true, 4096 },
	{ "with 8 KiB", true, 8192 }, { "with 16 KiB", true, 16384 },	{ "with 32 KiB", true, 32768 },
};

static struct {
	uint64_t cpu_ns, samples;
} sum[ARRAY_SIZE(kinds)];

static uint64_t work(uint64_t x)
{
	unsigned int i;

	for (i = 0; i < 1000000; i++)
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return x;
}

static void count(void *ctx, const struct stacks_record *r)
{
	*(uint64_t *)ctx += r->kind == STACKS_SAMPLE && r->tid == (uint32_t)getpid();
}

static int slice(size_t kind, int cgroup_fd, uint64_t *x)
{
	const uint32_t cpu = 0;
	const struct stacks_setup setup = {
		.cgroup_fd = cgroup_fd,
		.cpu = &cpu,
		.ncpus = 1,
		.hz = HZ,
		.has_user = true,
		.user_registers = unwind_host() ? unwind_host()->sampled : 0,
		.uid = getuid(),
		.dump_size = kinds[kind].dump_size,
	};
	struct stacks *s = NULL;
	struct errmsg err = { 0 };
	uint64_t before;
	int i;

	if (kinds[kind].is_sampled && stacks_open(&setup, &s, &err) < 0) {
		(void)fprintf(stderr, "bench_stacks: %s\n", err.text);
		return 1;
	}
	before = clock_thread_cpu_ns();
	for (i = 0; i < SLICE; i++)
		*x = work(*x);
	sum[kind].cpu_ns += clock_thread_cpu_ns() - before;
	if (s) {
		(void)usleep(1000);
		stacks_drain(s, count, &sum[kind].samples);
	}
	stacks_close(s);
	return 0;
}

__attribute__((noinline)) static int measure_below(int depth, int rounds, int cgroup_fd)
{
	volatile char frame[2048];
	uint64_t x = 1;
	size_t kind;
	int i, rc = 0;

	frame[depth] = 0;
	if (depth)
		return measure_below(depth - 1, rounds, cgroup_fd) + frame[depth];
	for (i = 0; i < rounds && !rc; i++)
		for (kind = 0; kind < ARRAY_SIZE(kinds) && !rc; kind++)
			rc = slice(kind, cgroup_fd, &x);
	return rc || !x;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 100;
	_cleanup_close_ int fd = argc > 2 ? open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	cpu_set_t cpu;
	size_t i;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (fd < 0) {
		(void)fputs("usage: bench_stacks ROUNDS CGROUP\n", stderr);
		return 2;
	}
	if (sched_setaffinity(0, sizeof(cpu), &cpu) < 0) {
		perror("bench_stacks: CPU 0");
		return 1;
	}
	if (measure_below(20, rounds, fd))
		return 1;
	for (i = 1; i < ARRAY_SIZE(kinds); i++) {
		const double us = ((double)sum[i].cpu_ns - (double)sum[0].cpu_ns) / 1e3 /
				  (double)sum[i].samples;

		printf("%-20s %6.2f us per sample, ratio at %d Hz %.5f (%" PRIu64 " samples)\n",
		       kinds[i].name, us, USUAL_HZ, 1 + us * USUAL_HZ / 1e6, sum[i].samples);
	}
	return 0;
}
