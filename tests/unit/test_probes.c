/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The node's BPF object on the running kernel: loading, slots, links, and what becomes of them when
 * somebody dies. bpfrig.h says what it takes.
 */
#define _GNU_SOURCE
#include "bpfrig.h"

/* Ids that no cgroup has: the kernel counts them from 1. */
#define NOBODYS_ID (UINT64_C(1) << 40)

/* --- slots -------------------------------------------------------------------------------- */

static void test_full(struct probes *p)
{
	static uint32_t slot[PROBES_SLOTS + 1];
	struct probes_census c;
	uint32_t n = 0, i;
	int rc = 0;

	is_int(probes_register(p, 0, 0, 0, &slot[0]), -EINVAL, "no cgroup at all");
	is_int(probes_register(p, 1, 0, 0, &slot[0]), -EINVAL, "the root is the whole node");
	is_int(probes_register(p, 2, 1, 0, &slot[0]), -EINVAL, "in either hierarchy");
	while (n < ARRAY_SIZE(slot) && rc == 0) {
		rc = probes_register(p, NOBODYS_ID + n, 2 * NOBODYS_ID + n, 0, &slot[n]);
		n += rc == 0;
	}
	is_int(rc, -ENOSPC, "a full table says so");
	is_u64(n, PROBES_SLOTS, "after all slots were given");
	is_int(probes_census(p, &c, NULL), 0, "census");
	is_u64(c.slots, PROBES_SLOTS, "slots alive");
	is_u64(c.full, 1, "the refused one is counted");
	for (i = 0; i < n; i++)
		probes_release(p, slot[i]);
	is_int(probes_census(p, &c, NULL), 0, "census");
	is_u64(c.slots, 0, "all are given back");
}

static void test_dead_owners(struct probes *p)
{
	struct probes_census c;
	struct probes_dead dead;
	uint32_t slot, i;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (i = 1; i <= 3; i++)
			if (probes_register(p, NOBODYS_ID + i, 0, 0, &slot) < 0)
				_exit(1);
		_exit(0);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0, "a step dies with three slots");
	is_int(probes_census(p, &c, &dead), 0, "census");
	is_u64(c.slots, 0, "they do not count");
	is_u64(dead.nslots, 3, "they are there for who wants to read them");
	probes_reap(p, &dead);
	is_int(probes_census(p, &c, &dead), 0, "census");
	is_u64(dead.nslots, 0, "they are freed");
	is_int(probes_register(p, NOBODYS_ID + 1, 0, 0, &slot), 0, "register again");
	probes_release(p, slot);
}

/* --- the loader --------------------------------------------------------------------------- */

static void test_helper_fails(void)
{
	static const char *const bad[] = { "/bin/false", "/bin/true" };
	char script[PATH_MAX];
	struct errmsg err = { 0 };
	FILE *f;

	is_int(bpfload_run(bpfrig_helper, "", BPFRIG_TIMEOUT_NS, &err), -ENOENT, "BpfDir empty");
	is_int(bpfload_run("/nonexistent/ceems-bpf", bpfrig_dir, BPFRIG_TIMEOUT_NS, &err),
	       -EOPNOTSUPP, "no helper");
	is_int(bpfload_run(bad[0], bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), -EIO,
	       "a helper that fails");
	is_int(bpfload_run(bad[1], bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), 0, "one that succeeds");

	(void)snprintf(script, sizeof(script), "%s/helper", bpfrig_scratch);
	f = fopen(script, "we");
	if (!ok(f != NULL, "script"))
		return;
	(void)fputs("#!/bin/sh\nexec sleep 1000\n", f);
	(void)fchmod(fileno(f), 0700);
	(void)fclose(f);
	is_int(bpfload_run(script, bpfrig_dir, NSEC_PER_SEC / 5, &err), -ETIMEDOUT,
	       "one that hangs");
	f = fopen(script, "we");
	if (!ok(f != NULL, "script"))
		return;
	(void)fputs("#!/bin/sh\nyes | head -c 100000 >&2\nexit 4\n", f);
	(void)fclose(f);
	is_int(bpfload_run(script, bpfrig_dir, BPFRIG_TIMEOUT_NS, &err), -EOPNOTSUPP,
	       "one that talks too much");
	(void)unlink(script);

	is_int(bpfload_run(bpfrig_helper, bpfrig_scratch, BPFRIG_TIMEOUT_NS, &err), -EOPNOTSUPP,
	       "not a bpf file system");
	ok(strstr(err.text, "mount -t bpf") != NULL, "the error says what to do");
	diag("%s", err.text);
}

static void test_load_is_idempotent(void)
{
	struct probes *p, *again;
	char path[PATH_MAX + 32];
	uint32_t id;

	is_int(probes_open(bpfrig_dir, &p, NULL), 0, "open");
	is_int(probes_hold(p, PROBES_TASKS, NULL), 0, "hold");
	id = bpfrig_link_id(LINK_TASK_EXIT);
	is_int(bpfrig_load(), 0, "load again");
	ok(id && bpfrig_link_id(LINK_TASK_EXIT) == id, "what works is kept");

	(void)snprintf(path, sizeof(path), "%s/" PROBES_DIR "/task_rows", bpfrig_dir);
	ok(unlink(path) == 0, "a pin is lost");
	is_int(probes_open(bpfrig_dir, &again, NULL), -ENOENT, "half a set is none");
	is_int(bpfrig_load(), 0, "load repairs it");
	is_int(probes_open(bpfrig_dir, &again, NULL), 0, "open");
	probes_close(again);
	probes_close(p);
	ok(bpfrig_link_goes(id), "the old programs go with who held them");
}

/* The order of a node: slurmd stops while a step runs; the step is the last to leave. */
static void test_last_one_unloads(void)
{
	struct errmsg err = { 0 };
	struct probes *p;
	uint32_t id, slot;

	if (!ok(probes_open(bpfrig_dir, &p, &err) == 0, "open %s", err.text))
		return;
	is_int(probes_hold(p, PROBES_TASKS, NULL), 0, "hold");
	is_int(probes_register(p, NOBODYS_ID, 0, 0, &slot), 0, "a step runs");
	is_int(bpfrig_unload(), -EBUSY, "slurmd stops");
	id = bpfrig_link_id(LINK_TASK_EXIT);
	ok(bpfrig_link_lives(id), "the programs stay");
	probes_release(p, slot);
	ok(access(bpfrig_dir, F_OK) < 0, "the step's end removes the pins");
	ok(bpfrig_link_lives(id), "it still holds the programs");
	probes_close(p);
	ok(bpfrig_link_goes(id), "nothing stays in the kernel");

	is_int(bpfrig_load(), 0, "load");
	is_int(bpfrig_unload(), 0, "unload while nobody uses it");
	ok(access(bpfrig_dir, F_OK) < 0, "nothing stays");
}

static void run_tests(void)
{
	struct errmsg err = { 0 };
	struct probes *p;

	is_int(bpfrig_unload(), 0, "unload");
	is_int(bpfrig_unload(), 0, "unload what is not loaded");
	is_int(probes_open("", &p, &err), -ENOENT, "BpfDir empty");
	is_int(probes_open(bpfrig_dir, &p, &err), -ENOENT, "not loaded");
	test_helper_fails();
	is_int(bpfrig_load(), 0, "load");
	test_load_is_idempotent();
	if (!ok(probes_open(bpfrig_dir, &p, &err) == 0, "open %s", err.text))
		return;
	test_full(p);
	test_dead_owners(p);
	probes_close(p);
	test_last_one_unloads();
}

int main(void)
{
	const char *why = bpfrig_up();

	if (why)
		return skip_all(why);
	run_tests();
	bpfrig_down();
	return done_testing();
}
