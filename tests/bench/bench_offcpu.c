/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_offcpu FOLDER [ROUNDS]: what --ceems-profile=offcpu adds to a switch between threads. Two processes
 * send a byte back and forth through pipes, on one CPU, with and without it in turn; the medians of both are
 * printed. Needs root; FOLDER is a v2 cgroup, which is created.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/profiler/offcpu.h"
#include "src/libutil/clock.h"

#define TURNS 15
static const char *folder;

static void pass(void *ctx, const struct stacks_record *r)
{
	*(uint64_t *)ctx += r->wait_ns;
}

/* Returns ns per round trip, which has two switches, of processes in FOLDER. */
static uint64_t ping_pong(long rounds)
{
	int there[2], back[2], told[2], fd;
	char path[4096];
	uint64_t ns = 0, begin_ns;
	cpu_set_t cpu;
	char byte = 0;
	pid_t pid;
	long i;

	if (pipe(there) < 0 || pipe(back) < 0 || pipe(told) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		CPU_ZERO(&cpu);
		CPU_SET(0, &cpu);
		(void)sched_setaffinity(0, sizeof(cpu), &cpu);
		(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
		fd = open(path, O_WRONLY);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(1);
		if (fork() == 0) {
			for (i = 0; i < rounds; i++)
				if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
					break;
			_exit(0);
		}
		begin_ns = clock_mono_ns();
		for (i = 0; i < rounds; i++)
			if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
				_exit(1);
		ns = (clock_mono_ns() - begin_ns) / (uint64_t)rounds;
		_exit(write(told[1], &ns, sizeof(ns)) != sizeof(ns) || wait(NULL) < 0);
	}
	(void)close(told[1]);
	if (read(told[0], &ns, sizeof(ns)) != sizeof(ns))
		exit(1);
	(void)waitpid(pid, NULL, 0);
	for (i = 0; i < 2; i++) {
		(void)close(there[i]);
		(void)close(back[i]);
	}
	(void)close(told[0]);
	return ns;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static const char *const what[] = { "without", "user", "kernel", "both" };
	const long rounds = argc > 2 ? atol(argv[2]) : 50000;
	uint64_t ns[4][TURNS], waited = 0;
	struct offcpu_setup setup = { 0 };
	struct offcpu *o = NULL;
	struct errmsg err = { 0 };
	int turn, k;

	if (argc < 2) {
		(void)fputs("usage: bench_offcpu FOLDER [ROUNDS]\n", stderr);
		return 2;
	}
	folder = argv[1];
	(void)mkdir(folder, 0755);
	setup.cgroup_fd = open(folder, O_RDONLY | O_DIRECTORY);
	for (turn = 0; turn < TURNS; turn++)
		for (k = 0; k < 4; k++) {
			setup.has_user = k & 1;
			setup.has_kernel = k & 2;
			if (k && offcpu_open(&setup, &o, &err) < 0) {
				(void)fprintf(stderr, "%s\n", err.text);
				return 1;
			}
			ns[k][turn] = ping_pong(rounds);
			if (o)
				offcpu_drain(o, pass, &waited);
			offcpu_close(o);
			o = NULL;
		}
	for (k = 0; k < 4; k++) {
		qsort(ns[k], TURNS, sizeof(ns[k][0]), by_size);
		printf("%-8s %6.0f ns per switch, least %.0f\n", what[k], (double)ns[k][TURNS / 2] / 2,
		       (double)ns[k][0] / 2);
	}
	printf("ratio of both to without: %.3f\n", (double)ns[3][TURNS / 2] / (double)ns[0][TURNS / 2]);
	(void)rmdir(folder);
	return 0;
}
