/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sampler of a slurmd that was restarted reads of a step: lists of processes show less than
 * was booked, as they lack those that ended before.
 */
#include "src/libnode/readers.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>

#include "cgfolders.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define BOOKED_NS (3600 * NSEC_PER_SEC)
#define WORK_NS (60 * NSEC_PER_MSEC)

/* A process of the step that has computed for WORK_NS and waits. */
static pid_t work(const struct folders *f)
{
	int done[2];
	pid_t pid;
	char c;

	if (pipe(done) < 0)
		exit(99);
	pid = fork();
	if (pid < 0)
		exit(99);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (folders_enter(f) < 0)
			_exit(98);
		while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < WORK_NS)
			;
		(void)!write(done[1], "", 1);
		for (;;)
			pause();
	}
	close(done[1]);
	if (read(done[0], &c, 1) != 1)
		diag("the worker failed");
	close(done[0]);
	return pid;
}

static uint64_t read_aged(struct readers *r, const struct ledger_slot *s, uint64_t booked_ns, uint64_t age_ns,
			  bool is_last)
{
	struct book_line line = { .claim = 1,
				  .s = s,
				  .busy_ns = booked_ns,
				  .booked_ns = booked_ns,
				  .until_ns = s->t_open_mono_ns + age_ns,
				  .is_last = is_last };
	struct tick t = { .line = &line, .nlines = 1 };

	readers_read(r, &t);
	readers_close_gone(r);
	return line.busy_ns;
}

static uint64_t read_line(struct readers *r, const struct ledger_slot *s, uint64_t booked_ns)
{
	return read_aged(r, s, booked_ns, READERS_YOUNG_NS, /* is_last= */ false);
}

/* Not read for a moment, and then all that it used. */
static void test_young(const struct folders *f, struct weights *w)
{
	struct ledger_slot slot = { .cgroup_known = 1, .t_open_mono_ns = NSEC_PER_SEC };
	struct readers *r = NULL;
	pid_t pid;
	int i;

	folders_step_path(HIER_V2, slot.cgroup.v2, sizeof(slot.cgroup.v2));
	folders_step_path(HIER_FREEZER, slot.cgroup.freezer, sizeof(slot.cgroup.freezer));
	pid = work(f);
	for (i = 0; i < 2; i++) {
		bool is_last = i;

		if (readers_create(w, &r) < 0)
			exit(99);
		is_u64(read_aged(r, &slot, 0, READERS_YOUNG_NS - 1, /* is_last= */ false), 0,
		       "a young step is not read");
		ok(read_aged(r, &slot, 0, READERS_YOUNG_NS - is_last, is_last) >= WORK_NS / 2,
		   is_last ? "but for the last time it is" : "an older one is, from its start on");
		readers_destroy(r);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_restart(const struct folders *f, struct weights *w)
{
	struct ledger_slot slot = { .cgroup_known = 1 };
	struct readers *r = NULL;
	uint64_t busy_ns;
	pid_t pid[2];
	int i;

	folders_step_path(HIER_V2, slot.cgroup.v2, sizeof(slot.cgroup.v2));
	folders_step_path(HIER_FREEZER, slot.cgroup.freezer, sizeof(slot.cgroup.freezer));
	if (readers_create(w, &r) < 0)
		exit(99);
	pid[0] = work(f);
	is_u64(read_line(r, &slot, BOOKED_NS), BOOKED_NS,
	       "a list that shows less than is booked changes nothing");
	pid[1] = work(f);
	busy_ns = read_line(r, &slot, BOOKED_NS);
	ok(busy_ns >= BOOKED_NS + WORK_NS / 2, "CPU time used from then on is added: %" PRIu64,
	   busy_ns - BOOKED_NS);
	readers_destroy(r);
	for (i = 0; i < 2; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
}

int main(void)
{
	struct topology *t = NULL;
	struct weights *w = NULL;
	struct folders f;

	alarm(120);
	if (topology_read("/", 1, &t) < 0)
		return 99;
	if (weights_create(&(struct weights_setup){ .sys_root = "/", .topology = t }, &w) < 0)
		return 99;
	folders_make(&f);
	if (f.top[HIER_V2][0] || f.top[HIER_FREEZER][0]) {
		test_restart(&f, w);
		test_young(&f, w);
	} else {
		skip(6, "no cgroup can be made here");
	}
	folders_remove(&f);
	weights_destroy(w);
	free(t);
	return done_testing();
}
