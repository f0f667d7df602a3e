/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a slurmstepd publishes of its running step, with and without a thread. This machine may have no
 * hardware counters: --ceems-perf=hw counts events of the kernel as well, in the same way, and those show
 * that it moves.
 */
#include "src/libstep/steplive.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_sampler.h"
#include "scratch.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define EVERY_NS (20 * NSEC_PER_MSEC)
#define TRIES 500 /* of 20 ms */

static char dir[] = SCRATCH_TEMPLATE;
static struct fake_sampler node;
static struct settings settings;

/*
 * A process that waits on a pipe, as a task waits for its slurmstepd, and then computes until it is killed.
 */
static pid_t fork_task(int *ret_go)
{
	char byte;
	pid_t pid;
	int p[2];

	if (pipe(p) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		(void)close(p[1]);
		if (read(p[0], &byte, 1) == 1)
			(void)execlp("sh", "sh", "-c", "while :; do :; done", (char *)NULL);
		_exit(1);
	}
	(void)close(p[0]);
	*ret_go = p[1];
	return pid;
}

static unsigned int count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned int n = 0;
	struct dirent *e;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		(void)closedir(d);
	return n;
}

static const struct timespec pause_20ms = { .tv_nsec = 20000000 };

/* One that was joined is listed for another moment. */
static void has_threads(unsigned int want, const char *name)
{
	unsigned int i;

#ifdef __SANITIZE_THREAD__
	want++; /* its own */
#endif
	for (i = 0; i < TRIES && count_threads() != want; i++)
		(void)nanosleep(&pause_20ms, NULL);
	is_u64(count_threads(), want, name);
}

static unsigned int claim(void)
{
	const struct ledger_identity id = { .job_id = 7, .job_cpus = 1, .step_cpus = 1, .node_count = 1 };
	unsigned int slot = 0;

	if (ledger_claim(node.l, &id, &slot) < 0)
		exit(99);
	return slot;
}

static uint64_t told(unsigned int slot, enum metric m)
{
	struct values f;

	return ledger_told(ledger_slot(node.l, slot), &f) && values_has(&f, m) ? f.value[m] : 0;
}

/* Until it is more than BEFORE. */
static bool moves(unsigned int slot, enum metric m, uint64_t before)
{
	unsigned int i;

	for (i = 0; i < TRIES && told(slot, m) <= before; i++)
		(void)nanosleep(&pause_20ms, NULL);
	return told(slot, m) > before;
}

static void test_counters(uint64_t every_ns, const char *name)
{
	const struct perf_request request = { .groups = PERF_GROUP_HW };
	const struct stepprobes_setup probes = { .settings = &settings, .request = &request };
	struct steplive_setup setup = { .ledger = node.l, .slot = claim(), .every_ns = every_ns };
	struct steplive *sl = NULL;
	struct errmsg lacking = { 0 };
	struct cgroup_paths paths = { 0 };
	uint32_t bpf_slot;
	uint64_t before;
	int go = -1;
	pid_t pid = fork_task(&go);

	if (pid < 0 || stepprobes_create(&probes, &setup.probes) < 0)
		exit(99);
	stepprobes_start(setup.probes, &pid, 1, &paths, &bpf_slot, &lacking);
	is_int(steplive_start(&setup, &sl), 0, name);
	has_threads(every_ns ? 2 : 1, "  threads");
	(void)!write(go, "x", 1);
	if (!every_ns) {
		const struct timespec pause = { .tv_nsec = 200000000 };

		is_u64(told(setup.slot, METRIC_TASK_CLOCK), 0, "  nothing is published before Slurm polls");
		(void)nanosleep(&pause, NULL); /* an exec, and some computing */
		steplive_poll(sl);
	}
	if (moves(setup.slot, METRIC_TASK_CLOCK, 0)) {
		before = told(setup.slot, METRIC_TASK_CLOCK);
		if (every_ns)
			ok(moves(setup.slot, METRIC_TASK_CLOCK, before), "  its counters move by themselves");
		steplive_poll(sl);
		steplive_poll(sl);
		ok(told(setup.slot, METRIC_TASK_CLOCK) >= before, "  a poll beside it does no harm");
	} else {
		skip(1, "no perf events here");
	}
	steplive_stop(sl);
	has_threads(1, "  the end leaves no thread");
	before = told(setup.slot, METRIC_TASK_CLOCK);
	stepprobes_close(setup.probes, false);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	(void)close(go);
	is_u64(told(setup.slot, METRIC_TASK_CLOCK), before, "  and nothing writes to the slot any more");
}

/* A step that ends at once: the thread may not even have begun. */
static void test_ends(void)
{
	struct steplive_setup setup = { .ledger = node.l, .slot = claim(), .every_ns = 3600 * NSEC_PER_SEC };
	struct steplive *sl;
	unsigned int i;
	uint64_t begin = clock_mono_ns();

	for (i = 0; i < 100; i++) {
		if (steplive_start(&setup, &sl) < 0)
			exit(99);
		steplive_stop(sl);
	}
	ok(clock_mono_ns() - begin < 30 * NSEC_PER_SEC,
	   "100 steps ended without waiting for their threads' next turn");
	has_threads(1, "none of which is left");
	steplive_stop(NULL);
}

int main(void)
{
	struct errmsg err = { 0 };

	alarm(120);
	if (!mkdtemp(dir) || fake_start(&node, dir, "n1", &err) < 0)
		return 99;
	test_counters(EVERY_NS, "a step with a thread");
	test_counters(0, "one without");
	test_ends();
	fake_stop(&node);
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
