/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The harvest against the running kernel: needs root and the right to load BPF programs.
 * A bpf file system is mounted in a private mount namespace, cgroups are made below the
 * machine's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/harvest.h"
#include "src/libmeter/bpfsys.h"
#include "src/libmeter/harvest.h"
#include "src/libnode/bpfload.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define TIMEOUT_NS (30 * NSEC_PER_SEC)

static char scratch[] = "/tmp/test_harvest-XXXXXX";
static char dir[PATH_MAX];
static char helper[PATH_MAX];

/* --- cgroups
 * ------------------------------------------------------------------------------ */

struct folder {
	char path[PATH_MAX];
	uint64_t id;
};

static const char *find_root(const char *const *candidates)
{
	char probe[PATH_MAX];

	for (; *candidates; candidates++) {
		(void)snprintf(probe, sizeof(probe), "%s/cgroup.procs", *candidates);
		if (access(probe, W_OK) == 0)
			return *candidates;
	}
	return NULL;
}

static bool folder_make(struct folder *f, const char *parent, const char *name)
{
	struct stat st;

	(void)snprintf(f->path, sizeof(f->path), "%.3000s/%s", parent, name);
	if (mkdir(f->path, 0755) < 0 || stat(f->path, &st) < 0)
		return false;
	f->id = st.st_ino;
	return true;
}

static bool folder_join(const struct folder *f, pid_t pid)
{
	char path[PATH_MAX + 16];
	FILE *procs;
	bool done;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", f->path);
	procs = fopen(path, "we");
	if (!procs)
		return false;
	done = fprintf(procs, "%d", (int)pid) > 0;
	return fclose(procs) == 0 && done;
}

/* The kernel lets go of a dead task's cgroup a little after its parent knows. */
static void folder_remove(const struct folder *f)
{
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;

	while (rmdir(f->path) < 0 && errno == EBUSY && clock_mono_ns() < deadline)
		(void)usleep(1000);
}

/* --- children that do a known amount of I/O
 * ------------------------------------------------ */

static int null_fd, zero_fd;
static char data[4096];

static void do_io(unsigned int writes, size_t wsize, unsigned int reads, size_t rsize)
{
	while (writes--)
		if (write(null_fd, data, wsize) != (ssize_t)wsize)
			_exit(1);
	while (reads--)
		if (read(zero_fd, data, rsize) != (ssize_t)rsize)
			_exit(1);
}

static void work_plain(void)
{
	do_io(1000, 64, 500, 128);
}

static void *thread_main(void *arg)
{
	do_io(1, 100, 0, 0);
	return arg;
}

static void work_threads(void)
{
	pthread_t t[200];
	size_t i;

	for (i = 0; i < 200; i++)
		if (pthread_create(&t[i], NULL, thread_main, NULL))
			_exit(1);
	for (i = 0; i < 200; i++)
		(void)pthread_join(t[i], NULL);
	do_io(1, 1, 0, 0);
}

static void work_forks(void)
{
	int i;
	pid_t pid;

	for (i = 0; i < 300; i++) {
		pid = fork();
		if (pid < 0)
			_exit(1);
		if (pid == 0) {
			do_io(2, 10, 0, 0);
			_exit(0);
		}
		if (i % 20 == 19)
			while (waitpid(-1, NULL, 0) > 0)
				;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* The child stops before and after WORK; it joins the cgroups while stopped, doing no
 * I/O. */
static pid_t child_start(void (*work)(void), const struct folder *a,
			 const struct folder *b)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -1;
	if (pid == 0) {
		(void)raise(SIGSTOP);
		work();
		(void)raise(SIGSTOP);
		_exit(0);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		return -1;
	if ((a && !folder_join(a, pid)) || (b && !folder_join(b, pid)))
		return -1;
	(void)kill(pid, SIGCONT);
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		return -1;
	return pid;
}

static bool child_end(pid_t pid)
{
	int status;

	(void)kill(pid, SIGCONT);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/* --- tests
 * -------------------------------------------------------------------------------- */

struct work {
	const char *name;
	void (*run)(void);
	uint64_t wchar, syscw;
	uint64_t rchar, syscr; /* 0: not compared, libc reads a little for threads */
};

static const struct work works[] = {
	{ "one process", work_plain, 64000, 1000, 64000, 500 },
	{ "200 threads", work_threads, 20001, 201, 0, 0 },
	{ "300 children", work_forks, 6000, 600, 0, 0 },
};

static void check_figures(const struct figures *f, const struct work *w, const char *when)
{
	diag("%s, %s", w->name, when);
	is_u64(f->value[METRIC_IO_WRITE_BYTES], w->wchar, "bytes written");
	is_u64(f->value[METRIC_IO_WRITE_CALLS], w->syscw, "write calls");
	if (w->rchar) {
		is_u64(f->value[METRIC_IO_READ_BYTES], w->rchar, "bytes read");
		is_u64(f->value[METRIC_IO_READ_CALLS], w->syscr, "read calls");
	}
	ok(figures_has(f, METRIC_STORAGE_WRITE_BYTES) &&
		   figures_has(f, METRIC_CPU_TIME) &&
		   figures_has(f, METRIC_CONTEXT_SWITCHES) &&
		   f->value[METRIC_PAGE_FAULTS] > 0,
	   "the others are known");
}

static void test_exact(struct harvest *h, const char *what, const char *v2_root,
		       const char *v1_root)
{
	struct folder step2 = { 0 }, task2 = { 0 }, step1 = { 0 }, task1 = { 0 };
	char name[32];
	size_t i;

	(void)snprintf(name, sizeof(name), "test_harvest-%d", (int)getpid());
	diag("cgroups: %s", what);
	if ((v2_root && (!folder_make(&step2, v2_root, name) ||
			 !folder_make(&task2, step2.path, "task_0"))) ||
	    (v1_root && (!folder_make(&step1, v1_root, name) ||
			 !folder_make(&task1, step1.path, "task_0")))) {
		ok(false, "cgroups can be made: %s", strerror(errno));
		goto out;
	}
	for (i = 0; i < ARRAY_SIZE(works); i++) {
		struct figures f;
		uint32_t row;
		pid_t pid, outside;

		figures_init(&f);
		is_int(harvest_register(h, step2.id, step1.id, &row), 0, "register");
		outside = child_start(work_plain, NULL, NULL);
		pid = child_start(works[i].run, v2_root ? &task2 : NULL,
				  v1_root ? &task1 : NULL);
		ok(pid > 0 && outside > 0, "children work");
		is_int(harvest_read(h, row, &f), 0, "read while it lives");
		check_figures(&f, &works[i], "living");
		ok(child_end(pid) && child_end(outside), "children end");
		is_int(harvest_read(h, row, &f), 0, "read after its end");
		check_figures(&f, &works[i], "ended");
		harvest_release(h, row);
	}
out:
	folder_remove(&task2);
	folder_remove(&step2);
	folder_remove(&task1);
	folder_remove(&step1);
}

/* slurmstepd sits in the step's cgroup on v2, and must not be charged to the job. */
static void test_owner_is_left_out(struct harvest *h, const char *v2_root)
{
	struct folder back = { 0 }, step;
	struct figures f;
	char name[32];
	uint32_t row;
	pthread_t t;

	(void)snprintf(name, sizeof(name), "test_harvest-%d", (int)getpid());
	(void)snprintf(back.path, sizeof(back.path), "%s", v2_root);
	if (!ok(folder_make(&step, v2_root, name), "cgroup"))
		return;
	figures_init(&f);
	is_int(harvest_register(h, step.id, 0, &row), 0, "register");
	if (folder_join(&step, getpid())) {
		do_io(100, 64, 0, 0);
		(void)pthread_create(&t, NULL, thread_main, NULL);
		(void)pthread_join(t, NULL);
		is_int(harvest_read(h, row, &f), 0, "read");
		is_u64(f.value[METRIC_IO_WRITE_BYTES], 0, "own threads are left out");
		(void)folder_join(&back, getpid());
	} else {
		skip(2, "cannot move into a cgroup");
	}
	harvest_release(h, row);
	folder_remove(&step);
}

static void test_others_values_stay(struct harvest *h)
{
	struct figures f;
	uint32_t row;

	figures_init(&f);
	is_int(harvest_register(h, UINT64_MAX, 0, &row), 0, "register an id nobody has");
	is_int(harvest_read(h, row, &f), 0, "read");
	is_u64(f.value[METRIC_PAGE_FAULTS], 0, "nothing counted");
	figures_set(&f, METRIC_PAGE_FAULTS, 4711); /* perf came after the first poll */
	is_int(harvest_read(h, row, &f), 0, "read again");
	is_u64(f.value[METRIC_PAGE_FAULTS], 4711, "perf's page faults stay");
	ok(figures_has(&f, METRIC_IO_READ_BYTES), "the rest is filled in");
	harvest_release(h, row);

	figures_init(&f);
	figures_set(&f, METRIC_CPU_TIME, 1);
	harvest_miss(&f, REASON_NO_BPF);
	ok(figures_has(&f, METRIC_CPU_TIME) &&
		   f.reason[METRIC_IO_READ_BYTES] == REASON_NO_BPF,
	   "harvest_miss keeps what is known");
}

static void test_full(struct harvest *h)
{
	static uint32_t row[HARVEST_ROWS + 1];
	struct harvest_census c;
	uint32_t n = 0, i;
	int rc = 0;

	is_int(harvest_register(h, 0, 0, &row[0]), -EINVAL, "no cgroup at all");
	is_int(harvest_register(h, 1, 0, &row[0]), -EINVAL, "the root is the whole node");
	is_int(harvest_register(h, 2, 1, &row[0]), -EINVAL, "in either hierarchy");
	/* ids no cgroup has: the kernel counts them from 1 */
	while (n < ARRAY_SIZE(row) && rc == 0) {
		rc = harvest_register(h, (UINT64_C(1) << 40) + n, (UINT64_C(1) << 41) + n,
				      &row[n]);
		n += rc == 0;
	}
	is_int(rc, -ENOSPC, "a full table says so");
	is_u64(n, HARVEST_ROWS, "after all rows were given");
	is_int(harvest_census(h, true, &c), 0, "census");
	is_u64(c.rows, HARVEST_ROWS, "rows alive");
	is_u64(c.full, 1, "the refused one is counted");
	for (i = 0; i < n; i++)
		harvest_release(h, row[i]);
	is_int(harvest_census(h, true, &c), 0, "census");
	is_u64(c.rows, 0, "all are given back");
}

static void test_dead_owners(struct harvest *h)
{
	struct harvest_census c;
	uint32_t row, i;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (i = 1; i <= 3; i++)
			if (harvest_register(h, (UINT64_C(1) << 40) + i, 0, &row) < 0)
				_exit(1);
		_exit(0);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0, "a step dies with three rows");
	is_int(harvest_census(h, true, &c), 0, "census");
	is_u64(c.rows, 0, "they do not count");
	is_u64(c.reaped, 3, "they are freed");
	is_int(harvest_register(h, (UINT64_C(1) << 40) + 1, 0, &row), 0,
	       "register again");
	harvest_release(h, row);
}

/* --- the loader
 * --------------------------------------------------------------------------- */

static void test_helper_fails(void)
{
	static const char *const bad[] = { "/bin/false", "/bin/true" };
	char script[PATH_MAX];
	struct errmsg err = { 0 };
	FILE *f;

	is_int(bpfload_run(helper, "", TIMEOUT_NS, &err), -ENOENT, "BpfDir empty");
	is_int(bpfload_run("/nonexistent/ceems-bpf", dir, TIMEOUT_NS, &err), -EOPNOTSUPP,
	       "no helper");
	is_int(bpfload_run(bad[0], dir, TIMEOUT_NS, &err), -EIO, "a helper that fails");
	is_int(bpfload_run(bad[1], dir, TIMEOUT_NS, &err), 0, "one that succeeds");

	(void)snprintf(script, sizeof(script), "%s/helper", scratch);
	f = fopen(script, "we");
	if (!ok(f != NULL, "script"))
		return;
	(void)fputs("#!/bin/sh\nexec sleep 1000\n", f);
	(void)fchmod(fileno(f), 0700);
	(void)fclose(f);
	is_int(bpfload_run(script, dir, NSEC_PER_SEC / 5, &err), -ETIMEDOUT,
	       "one that hangs");
	f = fopen(script, "we");
	if (!ok(f != NULL, "script"))
		return;
	(void)fputs("#!/bin/sh\nyes | head -c 100000 >&2\nexit 4\n", f);
	(void)fclose(f);
	is_int(bpfload_run(script, dir, TIMEOUT_NS, &err), -EOPNOTSUPP,
	       "one that talks too much");
	(void)unlink(script);

	is_int(bpfload_run(helper, scratch, TIMEOUT_NS, &err), -EOPNOTSUPP,
	       "not a bpf file system");
	ok(strstr(err.text, "mount -t bpf") != NULL, "the error says what to do");
	diag("%s", err.text);
	is_int(bpfload_stop(helper, dir, TIMEOUT_NS, &err), 0,
	       "unload what is not loaded");
}

static uint32_t link_id(const char *name)
{
	struct bpf_link_info info = { 0 };
	union bpf_attr attr;
	char path[PATH_MAX + 16];
	long fd;

	(void)snprintf(path, sizeof(path), "%s/" HARVEST_DIR "/%s", dir, name);
	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uint64_t)(uintptr_t)path;
	fd = syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
	if (fd < 0)
		return 0;
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uint64_t)(uintptr_t)&info;
	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0)
		info.id = 0;
	(void)close((int)fd);
	return info.id;
}

/* Freeing is deferred in the kernel. */
static bool link_is_gone(uint32_t id)
{
	uint64_t deadline = clock_mono_ns() + TIMEOUT_NS;
	union bpf_attr attr;
	long fd;

	while (clock_mono_ns() < deadline) {
		memset(&attr, 0, sizeof(attr));
		attr.link_id = id;
		fd = syscall(SYS_bpf, BPF_LINK_GET_FD_BY_ID, &attr, sizeof(attr));
		if (fd < 0)
			return errno == ENOENT;
		(void)close((int)fd);
		(void)usleep(1000);
	}
	return false;
}

static void test_load_is_idempotent(void)
{
	uint32_t id = link_id("on_exit");
	char path[PATH_MAX + 32];
	struct harvest *h;

	ok(id != 0, "the exit program is attached");
	is_int(bpfload_run(helper, dir, TIMEOUT_NS, NULL), 0, "load again");
	is_u64(link_id("on_exit"), id, "what works is kept");

	(void)snprintf(path, sizeof(path), "%s/" HARVEST_DIR "/rows", dir);
	ok(unlink(path) == 0, "a pin is lost");
	is_int(harvest_open(dir, &h, NULL), -ENOENT, "half a set is none");
	is_int(bpfload_run(helper, dir, TIMEOUT_NS, NULL), 0, "load repairs it");
	ok(link_id("on_exit") != id && link_is_gone(id),
	   "with new programs, the old are gone");
}

/* The order of a node: slurmd stops while a step runs; the step is the last to leave. */
static void test_last_one_unloads(void)
{
	struct errmsg err = { 0 };
	struct harvest *h;
	uint32_t exit_id = link_id("on_exit"), iter_id = link_id("living");
	uint32_t row;

	if (!ok(harvest_open(dir, &h, &err) == 0, "open %s", err.text))
		return;
	is_int(harvest_register(h, UINT64_MAX, 0, &row), 0, "a step runs");
	is_int(bpfload_stop(helper, dir, TIMEOUT_NS, &err), -EBUSY, "slurmd stops");
	diag("%s", err.text);
	ok(link_id("on_exit") == exit_id, "the programs stay");
	harvest_release(h, row);
	ok(access(dir, F_OK) < 0, "the step's end removes the pins");
	harvest_close(h);
	ok(link_is_gone(exit_id) && link_is_gone(iter_id), "nothing stays in the kernel");

	is_int(bpfload_run(helper, dir, TIMEOUT_NS, &err), 0, "load");
	exit_id = link_id("on_exit");
	is_int(bpfload_stop(helper, dir, TIMEOUT_NS, &err), 0,
	       "unload while nobody uses it");
	ok(access(dir, F_OK) < 0 && link_is_gone(exit_id), "nothing stays");
}

static void run_tests(void)
{
	static const char *const v2_roots[] = { "/sys/fs/cgroup",
						"/sys/fs/cgroup/unified", NULL };
	static const char *const v1_roots[] = { "/sys/fs/cgroup/freezer", NULL };
	const char *v2 = find_root(v2_roots);
	const char *v1 = find_root(v1_roots);
	struct errmsg err = { 0 };
	struct harvest *h;

	is_int(harvest_open("", &h, &err), -ENOENT, "BpfDir empty");
	is_int(harvest_open(dir, &h, &err), -ENOENT, "not loaded");
	test_helper_fails();
	is_int(bpfload_run(helper, dir, TIMEOUT_NS, &err), 0, "load");
	diag("%s", err.text);
	test_load_is_idempotent();
	if (!ok(harvest_open(dir, &h, &err) == 0, "open %s", err.text))
		return;
	test_full(h);
	test_dead_owners(h);
	test_others_values_stay(h);
	if (v2) {
		test_exact(h, "v2", v2, NULL);
		test_owner_is_left_out(h, v2);
	}
	if (v1)
		test_exact(h, "v1 freezer", NULL, v1);
	if (v1 && v2)
		test_exact(h, "v2 and v1, counted once", v2, v1);
	if (!v1 && !v2)
		skip(1, "no cgroups that can be written");
	harvest_close(h);
	test_last_one_unloads();
}

int main(void)
{
	const char *top = getenv("top_builddir");
	struct errmsg err = { 0 };

	(void)snprintf(helper, sizeof(helper), "%s/bpf/ceems-bpf", top ? top : "../..");
	if (access(helper, X_OK) < 0)
		return skip_all("ceems-bpf is not built");
	if (geteuid() != 0)
		return skip_all("not root");
	if (!mkdtemp(scratch) || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return skip_all("no private mount namespace");
	(void)snprintf(dir, sizeof(dir), "%s/bpf", scratch);
	if (mkdir(dir, 0700) < 0 || mount("bpf", dir, "bpf", 0, NULL) < 0) {
		(void)rmdir(dir);
		(void)rmdir(scratch);
		return skip_all("no bpf file system");
	}
	(void)strcat(dir, "/ceems");
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (bpfload_run(helper, dir, TIMEOUT_NS, &err) == -EOPNOTSUPP) {
		diag("%s", err.text);
		(void)skip_all("the kernel or our rights do not allow BPF");
	} else {
		(void)bpfload_stop(helper, dir, TIMEOUT_NS, NULL);
		run_tests();
		(void)done_testing();
	}
	dir[strlen(dir) - strlen("/ceems")] = '\0';
	(void)umount2(dir, MNT_DETACH);
	(void)rmdir(dir);
	(void)rmdir(scratch);
	return tap_failed ? 1 : 0;
}
