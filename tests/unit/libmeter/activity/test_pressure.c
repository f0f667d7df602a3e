/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a step waited for: from fixtures of cgroup trees, from texts of other kernels and broken ones, then of
 * two processes that share a CPU, and of one under a quota, in folders of the machine that runs the test.
 */
#define _GNU_SOURCE /* sched_setaffinity() */
#include "src/libmeter/activity/pressure.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cgfolders.h"
#include "paths_of.h"
#include "scratch.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define V2 "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0"
#define V1 "/sys/fs/cgroup/cpu,cpuacct/slurm/uid_1000/job_7/step_0"
#define HYBRID "/sys/fs/cgroup/unified/ceems/job_7/step_0"
#define NA UINT64_MAX

static const enum metric metrics[] = {
	METRIC_CPU_PRESSURE_SOME,    METRIC_CPU_PRESSURE_FULL,	   METRIC_MEMORY_PRESSURE_SOME,
	METRIC_MEMORY_PRESSURE_FULL, METRIC_IO_PRESSURE_SOME,	   METRIC_IO_PRESSURE_FULL,
	METRIC_CPU_THROTTLED,	     METRIC_CPU_THROTTLED_PERIODS,
};

static uint64_t value(const struct values *f, enum metric m)
{
	return values_has(f, m) ? f->value[m] : NA;
}

static int open_folder(const char *path)
{
	return path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static void read_folders(const char *v2, const char *cpuacct, struct values *f)
{
	int v2_fd = open_folder(v2), cpuacct_fd = open_folder(cpuacct);

	values_init(f);
	pressure_read_folders(v2_fd, cpuacct_fd, f);
	close(v2_fd);
	close(cpuacct_fd);
}

static void test_trees(void)
{
	static const struct {
		const char *name, *v2, *cpuacct;
		uint64_t want[ARRAY_SIZE(metrics)];
	} t[] = {
		{ "no cgroup", NULL, NULL, { NA, NA, NA, NA, NA, NA, NA, NA } },
		{ "v2",
		  FIXTURES "/cgroup-v2" V2,
		  NULL,
		  { 2500000000, 0, 700001000, 600001000, 42000, 7000, UINT64_C(8123456000), 412 } },
		{ "v2 without PSI",
		  FIXTURES "/cgroup-v2-no-psi" V2,
		  NULL,
		  { NA, NA, NA, NA, NA, NA, UINT64_C(8123456000), 412 } },
		{ "v1",
		  NULL,
		  FIXTURES "/cgroup-v1" V1,
		  { NA, NA, NA, NA, NA, NA, UINT64_C(8123456789), 412 } },
		{ "hybrid",
		  FIXTURES "/cgroup-hybrid" HYBRID,
		  FIXTURES "/cgroup-hybrid" V1,
		  { 2500000000, 0, 700001000, 600001000, 42000, 7000, UINT64_C(8123456789), 412 } },
		{ "hybrid, v2 alone",
		  FIXTURES "/cgroup-hybrid" HYBRID,
		  NULL,
		  { 2500000000, 0, 700001000, 600001000, 42000, 7000, NA, NA } },
	};
	struct values f;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		read_folders(t[i].v2, t[i].cpuacct, &f);
		for (k = 0; k < ARRAY_SIZE(metrics); k++)
			is_u64(value(&f, metrics[k]), t[i].want[k], metric_table[metrics[k]].name);
		diag("%s", t[i].name);
	}
	is_str(metric_reason_text(f.reason[METRIC_CPU_THROTTLED]), "no cpu controller",
	       "the quota is missing for that");
	read_folders(FIXTURES "/cgroup-v1" V1, NULL, &f);
	ok(!values_has(&f, METRIC_CPU_THROTTLED), "v1's nanoseconds are not taken for v2's");
	is_str(metric_reason_text(f.reason[METRIC_CPU_PRESSURE_SOME]), "no PSI", "PSI is missing for that");
}

/* Of the file cpu.pressure, with memory.pressure beside it as it should be. */
static void test_texts(void)
{
	static const struct {
		const char *name, *text;
		uint64_t some, full;
	} t[] = {
		{ "an empty file", "", NA, NA },
		{ "not PSI", "usage_usec 5\n", NA, NA },
		{ "no total", "some avg10=0.00\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n", NA, 5000 },
		{ "no number", "some avg10=0.00 total=\nfull total=x\n", NA, NA },
		{ "a negative one", "some avg10=0.00 total=-5\n", NA, NA },
		{ "a line that is cut", "some avg10=0.00 total=5\nfull avg10=0.00 total=1", 5000, NA },
		{ "too large", "some avg10=0.00 total=99999999999999999999\n", NA, NA },
		{ "too large as nanoseconds", "some avg10=0.00 total=18446744073709552\n", NA, NA },
		{ "Linux before 5.13: no full of the CPU",
		  "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n", 12000, NA },
		{ "both", "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 total=3\n", 12000,
		  3000 },
	};
	char dir[] = SCRATCH_TEMPLATE;
	static const char memory[] = "some avg10=0.00 total=9\nfull avg10=0.00 total=8\n";
	struct values f;
	size_t i;

	if (!mkdtemp(dir))
		exit(99);
	scratch_write(scratch_path(dir, "memory.pressure"), memory, strlen(memory));
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		scratch_write(scratch_path(dir, "cpu.pressure"), t[i].text, strlen(t[i].text));
		read_folders(dir, NULL, &f);
		is_u64(value(&f, METRIC_CPU_PRESSURE_SOME), t[i].some, t[i].name);
		is_u64(value(&f, METRIC_CPU_PRESSURE_FULL), t[i].full, "its full");
		is_u64(value(&f, METRIC_MEMORY_PRESSURE_FULL), 8000, "another file is read all the same");
	}
	scratch_clear(dir);
	rmdir(dir);
}

/* --- this machine -------------------------------------------------------------------------- */

/* Runs on the one CPU that its parent chose until it is killed. */
static pid_t start_busy(void)
{
	pid_t pid = fork();

	if (pid < 0)
		exit(99);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
}

static void stop_busy(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* N that share a CPU, in the calling process's cgroups, until metric M of the step reaches NS. */
static void share_cpu(unsigned int n, const char *v2, int cpuacct_fd, enum metric m, uint64_t ns,
		      struct values *f)
{
	uint64_t start = clock_mono_ns();
	pid_t pid[2];
	cpu_set_t set;
	unsigned int i;

	sched_getaffinity(0, sizeof(set), &set);
	for (i = 0; i < CPU_SETSIZE && !CPU_ISSET(i, &set); i++)
		;
	CPU_ZERO(&set);
	CPU_SET(i, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (i = 0; i < n; i++)
		pid[i] = start_busy();
	do {
		usleep(20000);
		values_init(f);
		if (cpuacct_fd < 0)
			pressure_read(paths_of(v2, "", ""), f);
		else
			pressure_read_folders(-1, cpuacct_fd, f);
	} while (values_has(f, m) && f->value[m] < ns && clock_mono_ns() - start < 30 * NSEC_PER_SEC);
	for (i = 0; i < n; i++)
		stop_busy(pid[i]);
}

static void be_step(const struct folders *f, const char *path)
{
	uint64_t start = clock_mono_ns();
	struct values values;
	uint64_t stalled;

	if (folders_enter(f) < 0)
		_exit(98);
	share_cpu(2, path, -1, METRIC_CPU_PRESSURE_SOME, 200 * NSEC_PER_MSEC, &values);
	stalled = value(&values, METRIC_CPU_PRESSURE_SOME);
	_exit(stalled >= 200 * NSEC_PER_MSEC && stalled <= clock_mono_ns() - start &&
			      values_has(&values, METRIC_MEMORY_PRESSURE_SOME) &&
			      values_has(&values, METRIC_IO_PRESSURE_FULL) ?
		      0 :
		      97);
}

static bool has_psi(const struct folders *f)
{
	struct values values;

	if (!f->top[HIER_V2][0])
		return false;
	read_folders(f->step[HIER_V2], NULL, &values);
	return values_has(&values, METRIC_CPU_PRESSURE_SOME);
}

static void test_psi(void)
{
	struct folders f;
	char path[PATH_MAX];
	int status;
	pid_t pid;

	folders_make(&f);
	folders_step_path(HIER_V2, path, sizeof(path));
	if (has_psi(&f)) {
		fflush(stdout);
		pid = fork();
		if (!pid)
			be_step(&f, path);
		waitpid(pid, &status, 0);
		is_int(status, 0,
		       "two processes on one CPU wait for each other, and no longer than they ran");
	} else {
		skip(1, "no PSI of a v2 folder here");
	}
	folders_remove(&f);
}

static bool write_text(const char *dir, const char *file, const char *text)
{
	int fd = open(scratch_path(dir, file), O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return done;
}

/* 2 of 20 ms, in a folder of v1's cpu controller. */
static void be_throttled(const char *dir)
{
	struct values f;

	if (!write_text(dir, "cpu.cfs_period_us", "20000") || !write_text(dir, "cpu.cfs_quota_us", "2000") ||
	    !write_text(dir, "cgroup.procs", "0"))
		_exit(98);
	(void)share_cpu(1, "", open_folder(dir), METRIC_CPU_THROTTLED, 100 * NSEC_PER_MSEC, &f);
	_exit(f.value[METRIC_CPU_THROTTLED] >= 100 * NSEC_PER_MSEC &&
			      f.value[METRIC_CPU_THROTTLED_PERIODS] >= 3 ?
		      0 :
		      97);
}

static void test_quota(void)
{
	char root[PATH_MAX], dir[PATH_MAX + 32];
	int status, left = 2000;
	pid_t pid;

	if (cgmount_find("cpu", "/", root, sizeof(root)) < 0) {
		skip(1, "no v1 cpu hierarchy here");
		return;
	}
	(void)snprintf(dir, sizeof(dir), "%s/ceems-test-%d", root, (int)getpid());
	if (mkdir(dir, 0755) < 0) {
		skip(1, "no v1 cpu folder can be made here");
		return;
	}
	fflush(stdout);
	pid = fork();
	if (!pid)
		be_throttled(dir);
	waitpid(pid, &status, 0);
	is_int(status, 0, "a quota that is used up shows");
	while (rmdir(dir) < 0 && errno == EBUSY && left--)
		usleep(1000);
}

int main(void)
{
	alarm(120);
	test_trees();
	test_texts();
	test_psi();
	test_quota();
	return done_testing();
}
