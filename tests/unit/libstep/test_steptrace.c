/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace from the slurmstepd's side, with a fake sampler and the program ceems-trace as it is installed:
 * what is in the file, and that nothing the file system or the user does to the program holds up the step.
 */
#define _GNU_SOURCE
#include "src/libstep/steptrace.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "fake_sampler.h"
#include "own_time.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "step_program.h"

static char dir[] = SCRATCH_TEMPLATE;
static struct fake_sampler node;
static _Atomic bool is_over, is_away;
static _Atomic uint64_t ahead_ns;
static _Thread_local bool is_ahead;
static struct errmsg lost; /* what the last step's user is told */

/* Our own: a test moves CLOCK_MONOTONIC on for its threads, so that a limit of seconds is over at once. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
	long rc = syscall(SYS_clock_gettime, id, ret);
	uint64_t ns = (uint64_t)ret->tv_nsec +
		      (is_ahead && id == CLOCK_MONOTONIC ? atomic_load(&ahead_ns) : 0);

	ret->tv_sec += (time_t)(ns / NSEC_PER_SEC);
	ret->tv_nsec = (long)(ns % NSEC_PER_SEC);
	return (int)rc;
}

static void *play_sampler(void *arg)
{
	(void)arg;
	while (!atomic_load(&is_over)) {
		if (ledger_wait_request(node.l, UINT64_MAX, clock_mono_ns() + 20 * NSEC_PER_MSEC) &&
		    !atomic_load(&is_away))
			(void)fake_tick(&node, 0, 1000, 500);
	}
	return NULL;
}

static const char *file_path(const char *suffix)
{
	static char name[64];

	(void)snprintf(name, sizeof(name), "ceems-trace-7.3-n1%s.csv", suffix);
	return scratch_path(dir, name);
}

static unsigned int count_rows(const char *path)
{
	size_t len = 0;
	char *text = scratch_read(path, &len), *p;
	unsigned int n = 0;

	for (p = text; p && (p = strchr(p, '\n')); p++)
		n++;
	free(text);
	return n;
}

static unsigned int rows_wanted;

static bool has_rows(void)
{
	return count_rows(file_path("")) >= rows_wanted;
}

static bool wait_for_rows(unsigned int n)
{
	rows_wanted = n;
	return wait_until(has_rows);
}

static unsigned int claim(void)
{
	const struct ledger_identity id = {
		.job_id = 7, .step_id = 3, .job_cpus = 1, .step_cpus = 1, .node_count = 1
	};
	unsigned int slot = 0;

	if (ledger_claim(node.l, &id, &slot) < 0)
		exit(99);
	ledger_slot(node.l, slot)->trace_ns = 10 * NSEC_PER_MSEC;
	return slot;
}

static struct steptrace *begin(unsigned int slot, const char *folder)
{
	const struct stepfile_owner owner = { .uid = getuid(), .gid = getgid(), .dir = folder, .job = "7" };
	const struct steptrace_setup setup = {
		.settings = &settings, .ledger = node.l, .slot = slot, .owner = &owner
	};
	struct steptrace *st = NULL;

	said[0] = '\0';
	is_int(steptrace_start(&setup, &st, NULL), 0, "  starts");
	return st;
}

/* Returns the milliseconds that it took. */
static uint64_t finish(struct steptrace *st)
{
	struct values last;
	uint64_t begin_ns;

	values_init(&last);
	values_set(&last, METRIC_ENERGY, 12345678);
	steptrace_leave(st); /* this process is in no step, so nothing moves */
	steptrace_halt(st);
	begin_ns = own_time_ns();
	memset(&lost, 0, sizeof(lost));
	steptrace_finish(st, &last, &lost);
	return (own_time_ns() - begin_ns) / NSEC_PER_MSEC;
}

static bool ends_with_row(const char *path, const char *event)
{
	size_t len = 0;
	char *text = scratch_read(path, &len);
	char *row = NULL;

	if (text && len > 2 && !strcmp(text + len - 2, "\r\n")) {
		text[len - 2] = '\0';
		row = strrchr(text, '\n');
	}
	row = row ? strstr(row, event) : NULL;
	free(text);
	return row != NULL;
}

static void test_file(void)
{
	unsigned int slot = claim();
	struct steptrace *st;
	struct stat sb;

	diag("a step");
	st = begin(slot, dir);
	ok(wait_for_rows(5), "  its file grows");
	if (getuid() == 0)
		ok(shows_only_path("ceems-trace"), "  another user sees no folder, job or group in /proc");
	diag("the end takes %u ms", (unsigned int)finish(st));
	ok(ends_with_row(file_path(""), ",end,"), "  the last row is there");
	ok(ends_with_row(file_path(""), ",,,12.345678,"), "  and has the energy of the end");
	is_int(stat(file_path(""), &sb), 0, "  the file is there");
	is_u64(sb.st_mode & 07777, 0600, "  and its user's alone");
	is_str(said, "", "  nothing is said");
	is_str(lost.text, "", "  not to its user either");
	diag("a step of the same name");
	st = begin(slot, dir);
	(void)finish(st);
	ok(scratch_has(dir, "ceems-trace-7.3-n1-2.csv"), "  gets another file");
	ledger_leave(node.l, slot);
}

/* The last whole row's number of missing samples. */
static unsigned int count_missed(const char *path)
{
	size_t len = 0;
	char *text = scratch_read(path, &len);
	unsigned int dropped, missed = 0;
	char *row = text;

	for (; row && strchr(row, '\n'); row = strchr(row, '\n') + 1)
		(void)sscanf(row, "%*[^,],%*[^,],%*[^,],,%u,%u,", &dropped, &missed);
	free(text);
	return missed;
}

static void test_missed(void)
{
	static const struct timespec pause_200ms = { .tv_nsec = 200000000 };
	unsigned int slot = claim();
	struct steptrace *st;
	unsigned int before, n;

	diag("no tick for 200 ms");
	scratch_clear(dir);
	st = begin(slot, dir);
	ok(wait_for_rows(5), "  its file grows");
	atomic_store(&is_away, true);
	before = count_rows(file_path(""));
	(void)nanosleep(&pause_200ms, NULL);
	atomic_store(&is_away, false);
	ok(wait_for_rows(before + 5), "  and grows again");
	(void)finish(st);
	n = count_missed(file_path(""));
	ok(n >= 10, "  samples each 10 ms that are missing are counted: %u", n);
	ledger_leave(node.l, slot);
}

/* A link that somebody else left. */
static void test_link(void)
{
	unsigned int slot = claim();
	struct steptrace *st;

	diag("a link of that name");
	scratch_clear(dir);
	(void)scratch_write(scratch_path(dir, "other"), "", 0);
	(void)!symlink(scratch_path(dir, "other"), file_path(""));
	st = begin(slot, dir);
	(void)finish(st);
	is_u64(count_rows(scratch_path(dir, "other")), 0, "  is not followed");
	ok(count_rows(file_path("-2")) >= 2, "  the trace is in a file of its own");
	ledger_leave(node.l, slot);
}

static void test_no_sampler(void)
{
	unsigned int slot = claim();
	struct steptrace *st;
	uint64_t ms;

	diag("slurmd is away");
	scratch_clear(dir);
	atomic_store(&is_away, true);
	st = begin(slot, dir);
	(void)nanosleep(&pause_10ms, NULL);
	ms = finish(st);
	ok(ms < 1000, "  the end does not wait for it: %u ms", (unsigned int)ms);
	ok(ends_with_row(file_path(""), ",end,"), "  the last row is there");
	atomic_store(&is_away, false);
	ledger_leave(node.l, slot);
}

static void test_troubles(void)
{
	unsigned int slot = claim();
	struct steptrace *st;

	diag("a folder that is not there");
	st = begin(slot, "/nonexistent/folder");
	ok(wait_until(has_said), "  the log has a line");
	(void)finish(st);
	is_str(said,
	       "trace: /nonexistent/folder/ceems-trace-7.3-n1.csv: No such file or directory; the trace "
	       "of this step ends there\n",
	       "  just one");
	ok(strstr(lost.text, "No such file or directory; the trace of this step ends there"),
	   "  its user is told the same");
	diag("a device that is full");
	(void)!symlink("/dev/full", scratch_path(dir, "full"));
	st = begin(slot, "/dev/full");
	ok(wait_until(has_said), "  the log has a line");
	(void)finish(st);
	diag("a program that is not there");
	(void)snprintf(settings.helper_dir, sizeof(settings.helper_dir), "/nonexistent");
	st = begin(slot, dir);
	ok(wait_until(has_said), "  the log has a line");
	(void)finish(st);
	is_str(said,
	       "trace: cannot start /nonexistent/ceems-trace: No such file or directory; this step is not "
	       "traced\n",
	       "  just one");
	ok(strstr(lost.text, "this step is not traced"), "  its user is told the same");
	ledger_leave(node.l, slot);
}

/* What the kernel needs to kill that program, on this machine now. */
static uint64_t kill_takes_ms(void)
{
	char program[PATH_MAX];
	char *argv[] = { program, NULL };
	uint64_t begin_ns;
	pid_t pid;

	(void)snprintf(program, sizeof(program), "%s", scratch_path(dir, "ceems-trace"));
	if (helper_spawn(argv, environ, -1, STDERR_FILENO, &pid) < 0)
		return 0;
	begin_ns = clock_mono_ns();
	(void)kill(pid, SIGKILL);
	(void)helper_wait(pid, begin_ns + 60 * NSEC_PER_SEC, NULL);
	return (clock_mono_ns() - begin_ns) / NSEC_PER_MSEC;
}

/*
 * A killed child may still end when finish() is over: steptrace.c waits 20 ms, a busy machine takes longer.
 */
static bool no_child_is_left(void)
{
	return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static void test_programs(void)
{
	unsigned int slot = claim();
	struct steptrace *st;
	uint64_t ms;

	diag("a program that reads nothing and does not end");
	use_program(dir, "ceems-trace", "#!/bin/sh\nexec sleep 100\n");
	st = begin(slot, dir);
	(void)nanosleep(&pause_10ms, NULL);
	ms = finish(st);
	ok(ms < 1000 + kill_takes_ms(), "  is killed: %u ms", (unsigned int)ms);
	is_str(said,
	       "trace: ceems-trace was killed, or its folder did not answer; the trace of this step ends "
	       "there\n",
	       "  which the log says");
	ok(wait_until(no_child_is_left), "  and nothing is left");
	diag("one that still works, as on a busy node");
	use_program(dir, "ceems-trace",
		    "#!/bin/sh\ncat >/dev/null\nend=$(($(date +%s) + 3))\nwhile [ $(date +%s) -lt $end ]; do "
		    ":; done\n"
		    ": >\"${0%/*}/worked\"\necho done\n");
	st = begin(slot, dir);
	(void)nanosleep(&pause_10ms, NULL);
	ms = finish(st);
	diag("  in %u ms", (unsigned int)ms);
	is_str(said, "", "  ends by itself");
	is_int(access(scratch_path(dir, "worked"), F_OK), 0, "  when its work is done");
	diag("one that is gone at once");
	use_program(dir, "ceems-trace", "#!/bin/sh\nexit 1\n");
	st = begin(slot, dir);
	ok(wait_until(has_said), "  the log says so while the step runs");
	(void)finish(st);
	is_str(said,
	       "trace: ceems-trace was killed, or its folder did not answer; the trace of this step ends "
	       "there\n",
	       "  once");
	diag("one that says what a terminal should not get");
	use_program(dir, "ceems-trace", "#!/bin/sh\nprintf 'error - a\\033[2Jb\\nand more\\n'\n");
	st = begin(slot, dir);
	ok(wait_until(has_said), "  the log has a line");
	(void)finish(st);
	is_str(said, "trace: a?[2Jb; the trace of this step ends there\n", "  without it");
	ledger_leave(node.l, slot);
}

static bool has_begun_to_work(void)
{
	return access(scratch_path(dir, "works"), F_OK) == 0;
}

/*
 * Moves the clock to before the limit of a program that works, and, after some looks at the
 * program, over the limit.
 */
static void *pass_limit(void *arg)
{
	/* the first look comes after STEPFILE_END_NS */
	const struct timespec looks = clock_ns_to_timespec(STEPFILE_END_NS + 300 * NSEC_PER_MSEC);

	(void)arg;
	(void)wait_until(has_begun_to_work);
	atomic_store(&ahead_ns, STEPFILE_WORK_NS - 2 * NSEC_PER_SEC);
	(void)nanosleep(&looks, NULL);
	atomic_store(&ahead_ns, STEPFILE_WORK_NS + STEPFILE_END_NS);
	return NULL;
}

static void test_limit(void)
{
	unsigned int slot = claim();
	struct steptrace *st;
	pthread_t thread;
	uint64_t begin_ns, ms;

	diag("a program that works without end");
	scratch_clear(dir);
	use_program(dir, "ceems-trace",
		    "#!/bin/sh\ncat >/dev/null\n: >\"${0%/*}/works\"\nwhile :; do :; done\n");
	st = begin(slot, dir);
	begin_ns = clock_mono_ns();
	if (pthread_create(&thread, NULL, pass_limit, NULL))
		exit(99);
	is_ahead = true;
	(void)finish(st);
	ms = (clock_mono_ns() - begin_ns) / NSEC_PER_MSEC;
	is_ahead = false;
	(void)pthread_join(thread, NULL);
	ok(ms >= (STEPFILE_END_NS + STEPFILE_WORK_NS) / NSEC_PER_MSEC, "  is left alone for a while: %u ms",
	   (unsigned int)ms);
	is_str(said,
	       "trace: ceems-trace was killed, or its folder did not answer; the trace of this step ends "
	       "there\n",
	       "  and killed then, which the log says");
	ok(wait_until(no_child_is_left), "  and nothing is left");
	ledger_leave(node.l, slot);
}

/* A call of ceems-trace fails, by libfiu: POINT with errno ERROR. */
static void test_fault(const char *point, int error)
{
	unsigned int slot = claim();
	struct steptrace *st;
	char text[512];

	diag("%s: %s", point, strerror(error));
	scratch_clear(dir);
	use_fault(dir, "ceems-trace", point, error);
	st = begin(slot, dir);
	if (!strcmp(point, "io/oc/close"))
		ok(wait_for_rows(2), "  its file grows");
	else
		ok(wait_until(has_said), "  the log has a line while the step runs");
	(void)finish(st);
	(void)snprintf(text, sizeof(text), "trace: %s: %s; the trace of this step ends there\n",
		       file_path(""), strerror(error));
	is_str(said, text, "  the log says so, once");
	ledger_leave(node.l, slot);
}

static void test_faults(void)
{
	static const char *const points[] = { "io/oc/open", "io/rw/write", "io/oc/close" };
	size_t i;

	if (!has_faults("ceems-trace")) {
		skip(18, "fiu-run does not run ceems-trace here (Debian: fiu-utils)");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		test_fault(points[i], ENOSPC);
		test_fault(points[i], EIO);
	}
}

static void test_forbidden(void)
{
	const struct stepfile_owner owner = { .uid = getuid(), .gid = getgid(), .dir = dir, .job = "7" };
	const struct steptrace_setup setup = {
		.settings = &settings, .ledger = node.l, .slot = claim(), .owner = &owner
	};
	struct errmsg err = { 0 };
	struct steptrace *st = NULL;

	(void)snprintf(settings.trace_dir, sizeof(settings.trace_dir), SETTINGS_NONE);
	is_int(steptrace_start(&setup, &st, &err), -EPERM, "a site without traces");
	is_str(err.text, "TraceDir=none in ceems.conf", "  says so");
	steptrace_leave(NULL);
	steptrace_halt(NULL);
	steptrace_finish(NULL, NULL, NULL);
}

static void test_job_name(void)
{
	static char leader[] = "SLURM_JOB_ID_HET_GROUP_0=21", second[] = "SLURM_JOB_ID_HET_GROUP_1=22";
	static char no_group[] = "SLURM_JOB_ID_HET_GROUP_=22", no_number[] = "SLURM_JOB_ID_HET_GROUP_1=22x",
		    other[] = "A=22";
	static char *const none[] = { NULL }, *const het[] = { other, leader, second, NULL };
	static char *const bad[] = { leader, no_group, no_number, other, NULL }, *const headless[] = { second,
												       NULL };
	const struct {
		uint32_t job_id, array_job_id, task;
		char *const *env;
		const char *name;
	} rows[] = {
		{ 7, 0, 0, NULL, "7" },
		{ 7, 0, 0, none, "7" },
		{ 8, 5, 3, none, "5_3-8" },
		{ 5, 5, 0, NULL, "5_0-5" },
		{ 22, 0, 0, het, "21+1-22" },
		{ 21, 0, 0, het, "21+0-21" },
		{ 23, 0, 0, het, "23" },
		{ 22, 0, 0, bad, "22" },
		{ 22, 0, 0, headless, "22" },
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, NULL, "4294967295_4294967295-4294967295" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[STEPFILE_JOB_MAX];

		stepfile_job_name(rows[i].job_id, rows[i].array_job_id, rows[i].task, rows[i].env, name);
		is_str(name, rows[i].name, "the job in a file's name");
	}
}

int main(void)
{
	struct errmsg err = { 0 };
	pthread_t thread;

	alarm(300);
	logger_set_sink(keep_line);
	(void)snprintf(settings.helper_dir, sizeof(settings.helper_dir), "%s", HELPER_DIR);
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0 || fake_start(&node, dir, "n1", &err) < 0 ||
	    pthread_create(&thread, NULL, play_sampler, NULL))
		return 99;
	test_job_name();
	test_file();
	test_missed();
	test_link();
	test_no_sampler();
	test_troubles();
	test_programs();
	test_limit();
	test_faults();
	test_forbidden();
	atomic_store(&is_over, true);
	(void)pthread_join(thread, NULL);
	fake_stop(&node);
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
