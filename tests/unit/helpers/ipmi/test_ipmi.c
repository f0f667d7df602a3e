/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source ipmi with scripts for ceems-ipmi, in the test's own folder: what a BMC and its driver
 * may do to us. /dev/ipmi0 itself is for tests/e2e.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "src/libcore/settings.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define WAIT_NS (20 * NSEC_PER_SEC)

static char dir[] = SCRATCH_TEMPLATE;

/* BODY finds the time, CLOCK_MONOTONIC, in $t. */
static void write_helper(const char *body)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "#!/bin/sh\necho $$ >>pids\nt=%" PRIu64 "\n"
			 "echo meter ipmi other 0 power 25000 node\n%s\n",
			 clock_mono_ns(), body);

	if (!scratch_write(scratch_path(dir, "new"), text, (size_t)n) ||
	    chmod(scratch_path(dir, "new"), 0700) < 0 ||
	    rename(scratch_path(dir, "new"), scratch_path(dir, "ceems-ipmi")) < 0)
		diag("cannot write the helper");
	(void)unlink(scratch_path(dir, "pids"));
}

struct node {
	struct source *source;
	struct source_state state;
	struct reading r;
	struct errmsg err;
	uint64_t energy_uj;
	uint32_t rejected;
};

static const struct source_ops *ops(void)
{
	return &source_ipmi;
}

static const struct settings dcmi = { .ipmi_sensor = "dcmi" };

static int node_open(struct node *n, const char *body)
{
	const struct source_env env = {
		.sys_root = dir,
		.settings = &dcmi,
		.slow_interval_ns = 2 * NSEC_PER_SEC,
		.helper_dir = ".",
	};

	memset(n, 0, sizeof(*n));
	write_helper(body);
	return ops()->open(&env, &n->source, &n->err);
}

static int node_read(struct node *n)
{
	int rc = ops()->read(n->source, NSEC_PER_SEC, 0, &n->state, &n->r);

	if (rc == 0) {
		n->energy_uj += n->r.part[0].energy_uj;
		n->rejected += n->r.rejected;
	}
	return rc;
}

/* Ticks until it used energy and refused readings as often as said. */
static bool read_until(struct node *n, uint64_t energy_uj, uint32_t rejected)
{
	struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	uint64_t deadline = clock_mono_ns() + WAIT_NS;

	do {
		(void)node_read(n);
		if (n->energy_uj >= energy_uj && n->rejected >= rejected)
			return true;
		(void)nanosleep(&pause, NULL);
	} while (clock_mono_ns() < deadline);
	diag("%" PRIu64 " uJ, %u rejected", n->energy_uj, n->rejected);
	return false;
}

/* No process of the test's is left, neither running nor as a zombie. */
static bool is_all_gone(void)
{
	return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static void test_refused(void)
{
	static const struct {
		const char *name, *body;
		const char *says;
	} t[] = {
		{ "DCMI is not supported", "echo 'never DCMI power reading: no such command'",
		  "DCMI power reading: no such command" },
		{ "an answer with control bytes", "printf 'never \\033[31mred\\n'", "?[31mred" },
	};
	struct source_env env = {
		.sys_root = "/nowhere",
		.settings = &dcmi,
		.slow_interval_ns = 2 * NSEC_PER_SEC,
		.helper_dir = ".",
	};
	struct source *s;
	struct node n;
	size_t i;

	is_int(ops()->open(&env, &s, &n.err), -ENODEV, "no /dev/ipmi0");
	ok(strstr(n.err.text, "/nowhere/dev/ipmi0"), "which the reason names");
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		is_int(node_open(&n, t[i].body), -ENODEV, t[i].name);
		is_str(n.err.text, t[i].says, "with the helper's reason");
		ok(is_all_gone(), "and nothing left");
	}
	env.sys_root = dir;
	(void)unlink(scratch_path(dir, "ceems-ipmi"));
	is_int(ops()->open(&env, &s, &n.err), -ENOENT, "no helper");
	ok(strstr(n.err.text, "ceems-ipmi"), "which the reason names");
	ops()->close(NULL);
}

static void test_samples(void)
{
	struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	uint64_t opened_ns = clock_mono_ns();
	uint64_t until;
	struct node n;
	char text[128];

	/* 200 W for 1 s, then 300 W on the average for 2 s */
	if (!ok(node_open(&n, "echo about node: DCMI power reading\n"
			      "echo reading $((t - 4000000000)) ipmi 200000\n"
			      "echo reading $((t - 3000000000)) ipmi 200000\n"
			      "echo reading $((t - 1000000000)) ipmi 400000\n"
			      "exec sleep 60") == 0,
		"a BMC that answers"))
		return;
	ops()->describe(n.source, text, sizeof(text));
	is_str(text, "node: DCMI power reading", "describes itself");
	while (node_read(&n) < 0 && clock_mono_ns() < opened_ns + WAIT_NS)
		(void)nanosleep(&pause, NULL);
	ok(n.r.part[0].is_new_base && !n.r.part[0].energy_uj, "the first sample is a base and nothing else");
	ok(read_until(&n, 800000000, 0), "the others are read");
	is_u64(n.energy_uj, 800000000, "200 J and 600 J");
	is_u64(n.rejected, 0, "without fault");
	is_u64(n.r.nparts, 1, "one part");
	ok(n.r.part[0].domain == DOMAIN_OTHER && n.r.part[0].scope == SCOPE_NODE, "the whole node");
	is_int(n.r.part[0].quality, QUALITY_INTEGRATED, "integrated");
	until = n.r.part[0].until_ns;
	ok(until && until + NSEC_PER_SEC / 2 < clock_mono_ns(), "that reaches to the last sample");
	(void)node_read(&n);
	is_u64(n.r.part[0].energy_uj, 0, "without a new sample nothing is used");
	is_u64(n.r.part[0].until_ns, until, "and it reaches no further");
	ops()->close(n.source);
	ok(is_all_gone(), "close() leaves no process");
}

static void test_bad_answers(void)
{
	static const struct {
		const char *name, *line;
	} t[] = {
		{ "a failed exchange", "error - DCMI power reading: BMC busy" },
		{ "an empty line", "" },
		{ "no number", "reading 1 ipmi x" },
		{ "no time", "reading ipmi 200000" },
		{ "a time of 0", "reading 0 ipmi 200000" },
		{ "a time in the future", "reading 18446744073709551615 ipmi 200000" },
		{ "more words", "reading 1 ipmi 200000 2" },
		{ "negative", "reading 1 ipmi -200000" },
		{ "a megawatt", "reading $((t - 2500000000)) ipmi 1000000000" },
		{ "what the dynamic linker says", "error while loading shared libraries: libfreeipmi.so.17" },
		{ "a long line", "$(head -c 5000 /dev/zero | tr '\\0' x)" },
	};
	char body[512];
	struct node n;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		(void)snprintf(body, sizeof(body),
			       "echo reading $((t - 3000000000)) ipmi 100000\n"
			       "echo \"%s\"\n"
			       "echo reading $((t - 1000000000)) ipmi 100000\n"
			       "exec sleep 60",
			       t[i].line);
		if (!ok(node_open(&n, body) == 0 && read_until(&n, 200000000, 1), "%s", t[i].name))
			diag("%s", n.err.text);
		is_u64(n.energy_uj, 200000000, "costs one reading and no joule");
		is_u64(n.rejected, 1, "that is counted");
		if (n.source)
			ops()->close(n.source);
	}
}

static void test_late(void)
{
	struct node n;

	if (!ok(node_open(&n, "echo reading $((t - 30000000000)) ipmi 100000\n"
			      "echo reading $((t - 10000000000)) ipmi 100000\n"
			      "echo reading $((t - 9000000000)) ipmi 100000\n"
			      "exec sleep 60") == 0,
		"a BMC that was away for 20 s"))
		return;
	ok(read_until(&n, 100000000, 0), "comes back");
	is_u64(n.energy_uj, 100000000, "the time it was away is unknown, not guessed");
	ops()->close(n.source);
}

static void test_slow_start(void)
{
	struct node n;
	uint64_t t = clock_mono_ns();

	if (!ok(node_open(&n, "while ! test -e go; do sleep 0.01; done\n"
			      "echo reading $((t - 1000000000)) ipmi 100000\n"
			      "echo reading $t ipmi 100000\n"
			      "exec sleep 60") == 0,
		"a BMC that is busy is a source all the same"))
		return;
	ok(clock_mono_ns() - t >= 2 * NSEC_PER_SEC, "open() gave it two seconds");
	is_int(node_read(&n), -EIO, "nothing is claimed before its first answer");
	(void)scratch_write(scratch_path(dir, "go"), "", 0);
	ok(read_until(&n, 100000000, 0), "its answers come later");
	ops()->close(n.source);
	(void)unlink(scratch_path(dir, "go"));
}

/* close() waits half a second for what it killed; on a busy machine that takes longer. */
static bool is_all_killed(void)
{
	struct timespec nap = { .tv_nsec = 10 * 1000 * 1000 };
	uint64_t deadline = clock_mono_ns() + WAIT_NS;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) >= 0 && clock_mono_ns() < deadline) {
		if (pid > 0 && (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL))
			return false;
		(void)nanosleep(&nap, NULL);
	}
	return pid < 0 && errno == ECHILD;
}

/* A shell that ignores what can be ignored, and writes nothing. */
static void test_hang(void)
{
	struct node n;
	uint64_t t;

	if (!ok(node_open(&n, "trap '' TERM HUP PIPE INT\n"
			      "echo reading $t ipmi 100000\n"
			      "while :; do sleep 1; done") == 0,
		"a helper that hangs"))
		return;
	(void)node_read(&n);
	t = clock_mono_ns();
	(void)node_read(&n);
	ok(clock_mono_ns() - t < WAIT_NS, "does not block a tick");
	ops()->close(n.source);
	ok(is_all_killed(), "and is killed by close()");
}

static void test_flood(void)
{
	struct node n;
	uint64_t t = clock_mono_ns();
	int i;

	if (!ok(node_open(&n, "exec tr '\\0' x </dev/zero") == 0, "a flood without lines"))
		return;
	for (i = 0; i < 100; i++)
		(void)node_read(&n);
	ok(clock_mono_ns() - t < WAIT_NS, "does not block a tick");
	ops()->close(n.source);
	if (!ok(node_open(&n, "echo reading $t ipmi 100000\nexec yes") == 0, "a flood of lines"))
		return;
	ok(read_until(&n, 0, 100), "is read");
	ok(n.r.rejected <= 64, "some in each tick");
	ops()->close(n.source);
	ok(is_all_gone(), "nothing is left of either");
}

/* -------------------------------------------------------------------------------------------- */

int main(void)
{
	if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("dev", 0700) < 0 || !scratch_write("dev/ipmi0", "", 0))
		return skip_all("no folder of its own");
	test_refused();
	test_samples();
	test_bad_answers();
	test_late();
	test_slow_start();
	test_hang();
	test_flood();
	if (chdir("/") == 0) {
		scratch_clear(dir);
		(void)rmdir(dir);
	}
	return done_testing();
}
