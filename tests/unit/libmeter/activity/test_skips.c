/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is counted while the kernel skips BPF programs: with preemption, a task that is preempted in a
 * program keeps others on its CPU from running it. Ended tasks are all counted, with their I/O; without
 * tracefs, and always I/O by file system, it is a lower bound, and probes_skipped() bounds what is missing.
 * tests/bpf/kernels.t runs it on kernels that preempt, with tracefs and without.
 */
#define _GNU_SOURCE
#include "bpfrig.h"

#include <fcntl.h>
#include <pthread.h>

#include "src/libmeter/activity/fsio.h"
#include "src/libmeter/activity/taskcount.h"

#define ROUNDS 6
#define WRITERS_MAX 12
#define THREADS 400

static struct settings settings;
static unsigned int writers, writes; /* of the round */

static void write_bytes(unsigned int n)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (n--)
		if (write(fd, "x", 1) != 1)
			_exit(1);
}

static void work_writers(void)
{
	unsigned int i;

	for (i = 0; i < writers; i++)
		if (fork() == 0) {
			write_bytes(writes);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static pthread_barrier_t all_there;

static void *thread_main(void *arg)
{
	(void)pthread_barrier_wait(&all_there);
	return arg;
}

/* They end at the same time. */
static void work_threads(void)
{
	pthread_t t[THREADS];
	size_t i;

	(void)pthread_barrier_init(&all_there, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread_main, NULL))
			_exit(1);
	for (i = 0; i < THREADS; i++)
		(void)pthread_join(t[i], NULL);
}

/* Reads the row of ended tasks of SLOT. */
static uint64_t ended_tasks(struct probes *p, uint32_t slot)
{
	struct probes_task_row row = { 0 };
	int rows;

	return probes_map(p, "task_rows", &rows) < 0 || bpfsys_lookup(rows, &slot, &row) < 0 ?
		       0 :
		       row.ended.tasks;
}

static bool run_child(void (*work)(void), const struct folder *f)
{
	pid_t pid = child_start(work, f, NULL);

	return pid > 0 && child_end(pid);
}

/* Whether the program for exits can be that of the perf event, which the kernel never skips. */
static bool has_tracefs(void)
{
	return access("/sys/kernel/tracing/events/sched/sched_process_exit/id", R_OK) == 0 ||
	       access("/sys/kernel/debug/tracing/events/sched/sched_process_exit/id", R_OK) == 0;
}

static void check_tasks(struct probes *p, uint32_t slot, const struct folder *f)
{
	const uint64_t truth = ROUNDS * (THREADS + 1);
	uint64_t skipped = probes_skipped(p, PROBES_TASKS), before = ended_tasks(p, slot), counted;
	unsigned int failed = 0, i;

	for (i = 0; i < ROUNDS; i++)
		failed += !run_child(work_threads, f);
	is_u64(failed, 0, "threads");
	counted = ended_tasks(p, slot) - before;
	skipped = probes_skipped(p, PROBES_TASKS) - skipped;
	if (has_tracefs()) {
		is_u64(counted, truth, "each ended thread is counted");
		is_u64(skipped, 0, "no exit was skipped");
		return;
	}
	ok(counted <= truth && counted + skipped >= truth, "without tracefs: what is missing is told");
	diag("%" PRIu64 " of %" PRIu64 " ended threads were counted, %" PRIu64 " skipped", counted, truth,
	     skipped);
}

/* The write calls that fsio counted. */
static uint64_t fsio_calls(struct fsio *io)
{
	struct step_detail d = { 0 };
	struct values f;
	uint64_t sum = 0;
	uint32_t i;

	values_init(&f);
	if (fsio_read(io, &f, &d) < 0)
		return UINT64_MAX;
	for (i = 0; i < d.nfs; i++)
		sum += d.fs[i].write_calls;
	return sum;
}

static void check_io(struct probes *p, uint32_t slot, const struct folder *f)
{
	unsigned int seed = 1, bad = 0, i;
	struct errmsg err = { 0 };
	uint64_t truth, skipped, before, counted, all = 0, missing = 0;
	struct fsio *io;

	if (!ok(fsio_open(p, slot, &settings, &io, &err) == 0, "I/O by file system %s", err.text))
		return;
	for (i = 0; i < ROUNDS; i++) {
		writers = 1 + (unsigned int)rand_r(&seed) % WRITERS_MAX;
		writes = 1000 + (unsigned int)rand_r(&seed) % 4000;
		truth = (uint64_t)writers * writes;
		skipped = probes_skipped(p, PROBES_IO);
		before = fsio_calls(io);
		bad += !run_child(work_writers, f);
		counted = fsio_calls(io) - before;
		skipped = probes_skipped(p, PROBES_IO) - skipped;
		bad += counted > truth || counted + skipped < truth;
		all += truth;
		missing += truth - counted;
	}
	is_u64(bad, 0, "counted is a lower bound; with what was skipped, an upper bound");
	diag("%" PRIu64 " of %" PRIu64 " writes were skipped", missing, all);
	fsio_close(io);
}

static void run_tests(struct probes *p)
{
	struct errmsg err = { 0 };
	struct folder f;
	uint32_t slot;

	is_u64(probes_skipped(p, PROBES_NET), 0, "packets have no program that is skipped");
	if (!bpfrig_root(true)) {
		skip(1, "no v2 cgroup that can be written");
		return;
	}
	if (!ok(folder_make_own(&f, bpfrig_root(true), "skips") &&
			probes_register(p, f.id, 0, 1u << PROBES_IO, &slot) == 0 &&
			probes_hold(p, PROBES_TASKS, &err) == 0,
		"a step %s", err.text))
		return;
	check_tasks(p, slot, &f);
	if (probes_hold(p, PROBES_IO, &err) == 0)
		check_io(p, slot, &f);
	else
		skip(1, "I/O by file system: this kernel has no function hooks");
	probes_release(p, slot);
	folder_remove(&f);
}

int main(void)
{
	const char *why = bpfrig_up();
	struct errmsg err = { 0 };
	struct probes *p;

	if (why)
		return skip_all(why);
	if (!ok(probes_open(bpfrig_dir, &p, &err) == 0, "open %s", err.text))
		return done_testing();
	run_tests(p);
	probes_close(p);
	(void)bpfrig_unload();
	bpfrig_down();
	return done_testing();
}
