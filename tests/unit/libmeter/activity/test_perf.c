/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters on children that fault and switch; the hardware ones are tested where there is a PMU. A
 * child stops, is attached to and then executes this program again, because counting begins at
 * exec. Its threads report their getrusage() since main(). On a machine of any speed that is no more
 * than perf counts since exec, and perf counts no more than wait4() reports of the whole process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgfolders.h"
#include "src/libmeter/activity/perf.h"
#include "tap.h"

/* --- what the children do ----------------------------------------------------------------- */

#define PAGES 500
#define SLEEPS 50
#define FORKS 20
#define THREADS 8

static void touch_pages(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t i;
	char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	(void)madvise(p, PAGES * page, MADV_NOHUGEPAGE);
	for (i = 0; i < PAGES; i++)
		((volatile char *)p)[i * page] = 1;
	(void)munmap(p, PAGES * page);
}

static void take_naps(void)
{
	struct timespec nap = { .tv_nsec = 1000 };
	int i;

	for (i = 0; i < SLEEPS; i++)
		(void)nanosleep(&nap, NULL);
}

struct usage {
	uint64_t faults, switches;
};

static void usage_add(struct usage *u, const struct rusage *ru)
{
	u->faults += (uint64_t)(ru->ru_minflt + ru->ru_majflt);
	u->switches += (uint64_t)(ru->ru_nvcsw + ru->ru_nivcsw);
}

/*
 * Each thread adds its own just before it ends: what it does in the kernel after that is in
 * its parent's rusage, but no longer in its perf events.
 */
static struct usage *done;

static void add_own(const struct usage *before)
{
	struct usage u = { 0 };
	struct rusage ru;

	if (getrusage(RUSAGE_THREAD, &ru) < 0)
		return;
	usage_add(&u, &ru);
	(void)__atomic_fetch_add(&done->faults, u.faults - before->faults, __ATOMIC_SEQ_CST);
	(void)__atomic_fetch_add(&done->switches, u.switches - before->switches, __ATOMIC_SEQ_CST);
}

static void *thread_main(void *arg)
{
	touch_pages();
	take_naps();
	add_own(&(struct usage){ 0 });
	return arg;
}

static int work(const char *what, int fd)
{
	struct usage from = { 0 };
	struct rusage ru;
	pthread_t t[THREADS];
	int i;

	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED || getrusage(RUSAGE_THREAD, &ru) < 0)
		return 1;
	usage_add(&from, &ru);

	if (!strcmp(what, "faults"))
		touch_pages();
	if (!strcmp(what, "naps"))
		take_naps();
	for (i = 0; !strcmp(what, "forks") && i < FORKS; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			touch_pages();
			take_naps();
			add_own(&(struct usage){ 0 });
			_exit(0);
		}
		(void)waitpid(pid, NULL, 0);
	}
	if (!strcmp(what, "threads")) {
		for (i = 0; i < THREADS; i++)
			if (pthread_create(&t[i], NULL, thread_main, NULL))
				return 1;
		for (i = 0; i < THREADS; i++)
			(void)pthread_join(t[i], NULL);
	}
	add_own(&from);
	return write(fd, done, sizeof(*done)) == sizeof(*done) ? 0 : 1;
}

static const char *self; /* not /proc/self/exe: under valgrind that is valgrind */

static int told[2]; /* a pipe, open over exec */

static struct folders folders; /* made for the tests of cgroups only */

static pid_t child_stopped(const char *what)
{
	char fd[12];
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (folders.top[HIER_V2][0] && folders_enter(&folders) < 0)
			_exit(126);
		(void)raise(SIGSTOP);
		(void)snprintf(fd, sizeof(fd), "%d", told[1]);
		(void)execl(self, "test_perf", "--work", what, fd, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		return -1;
	return pid;
}

static bool child_run(pid_t pid, struct usage *least, struct usage *most)
{
	struct rusage ru;
	int status;

	(void)kill(pid, SIGCONT);
	if (wait4(pid, &status, 0, &ru) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		return false;
	*most = (struct usage){ 0 };
	usage_add(most, &ru);
	return read(told[0], least, sizeof(*least)) == sizeof(*least);
}

static void child_run_any(pid_t pid)
{
	struct usage least, most;

	(void)child_run(pid, &least, &most);
}

/* --- tests -------------------------------------------------------------------------------- */

/* Counters on PID[N] or, where CGROUP_FD is one, on the cgroup they are in; NULL: not. */
static struct perf *open_on(const struct perf_request *request, int cgroup_fd, const pid_t *pid, size_t n)
{
	struct perf_target target = { .request = request, .cgroup_fd = cgroup_fd, .pid = pid, .n = n };
	struct perf *p;

	return is_int(perf_open(&target, &p, NULL), 0, "open") ? p : NULL;
}

static const struct perf_request sw = { .groups = PERF_GROUP_SW },
				 hw = { .groups = PERF_GROUP_HW | PERF_GROUP_SW };

static void test_nothing_attached(void)
{
	struct values f;
	struct perf *p;

	values_init(&f);
	p = open_on(&sw, -1, NULL, 0);
	perf_read(p, &f, NULL);
	is_u64(f.reason[METRIC_PAGE_FAULTS], REASON_NOT_MEASURED, "no task: not measured");
	is_u64(f.reason[METRIC_CYCLES], REASON_NOT_ASKED, "hw: not asked for");
	values_set(&f, METRIC_PAGE_FAULTS, 3);
	perf_read(p, &f, NULL);
	is_u64(f.value[METRIC_PAGE_FAULTS], 3, "a value from elsewhere is kept");
	perf_close(p);
	perf_close(NULL);

	values_init(&f);
	values_set(&f, METRIC_PAGE_FAULTS, 3);
	perf_not_asked(&f);
	ok(f.reason[METRIC_TASK_CLOCK] == REASON_NOT_ASKED && values_has(&f, METRIC_PAGE_FAULTS) &&
		   f.reason[METRIC_IO_READ_BYTES] == REASON_NOT_MEASURED,
	   "perf_not_asked marks counters without value, nothing else");
}

static void test_dead_task(void)
{
	struct values f;
	struct perf *p;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
	values_init(&f);
	p = open_on(&sw, -1, &pid, 1);
	diag("a task that is gone is no error");
	perf_read(p, &f, NULL);
	ok(!values_has(&f, METRIC_TASK_CLOCK) && f.reason[METRIC_TASK_CLOCK] != REASON_NONE,
	   "but no zero either");
	perf_close(p);
}

static void test_no_descriptors(void)
{
	struct rlimit old, none;
	struct values f;
	struct perf *p;
	pid_t pid = child_stopped("faults");

	values_init(&f);
	(void)getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 3;
	(void)setrlimit(RLIMIT_NOFILE, &none);
	p = open_on(&sw, -1, &pid, 1); /* without descriptors left */
	(void)setrlimit(RLIMIT_NOFILE, &old);
	perf_read(p, &f, NULL);
	is_u64(f.reason[METRIC_PAGE_FAULTS], REASON_NO_COUNTER, "no free counter");
	perf_close(p);
	child_run_any(pid);
}

/* So many tasks that their events take all descriptors the process may have. */
static void test_many_tasks(void)
{
	struct rlimit old, few;
	struct values f;
	struct perf *p;
	pid_t pid[30] = { child_stopped("faults") };
	int fd[20];
	size_t i, n;

	values_init(&f);
	for (i = 1; i < ARRAY_SIZE(pid); i++)
		pid[i] = pid[0];
	(void)getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 64;
	(void)setrlimit(RLIMIT_NOFILE, &few);
	p = open_on(&sw, -1, pid, ARRAY_SIZE(pid));
	for (n = 0; n < ARRAY_SIZE(fd); n++) {
		fd[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd[n] < 0)
			break;
	}
	is_u64(n, ARRAY_SIZE(fd), "the process can open files still");
	while (n--)
		(void)close(fd[n]);
	(void)setrlimit(RLIMIT_NOFILE, &old);
	perf_read(p, &f, NULL);
	is_u64(f.reason[METRIC_PAGE_FAULTS], REASON_NO_COUNTER, "  and the reason is 'no free counter'");
	perf_close(p);
	child_run_any(pid[0]);
}

/* contain_spank: the descriptor's number is another file's by the time we come back. */
static void test_foreign_descriptor(void)
{
	struct values f;
	struct perf *p;
	pid_t pid = child_stopped("faults");
	int fd, first = dup(0);

	(void)close(first); /* the counters take the numbers from here on */
	values_init(&f);
	p = open_on(&sw, -1, &pid, 1);
	fd = dup2(0, first);
	perf_read(p, &f, NULL);
	is_u64(f.reason[METRIC_TASK_CLOCK], REASON_FAILED, "its counter is not readable");
	ok(values_has(&f, METRIC_PAGE_FAULTS), "the others are");
	perf_close(p);
	ok(fd >= 0 && close(fd) == 0, "the foreign file was not closed");
	child_run_any(pid);
}

static void test_counts(void)
{
	static const struct {
		const char *what;
		uint64_t faults;
	} t[] = {
		{ "faults", PAGES },
		{ "naps", 0 },
		{ "forks", FORKS * PAGES },
		{ "threads", THREADS * PAGES },
	};
	struct usage least, most;
	struct values f;
	struct perf *p;
	size_t i;
	pid_t pid;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t faults, switches;

		diag("%s", t[i].what);
		values_init(&f);
		pid = child_stopped(t[i].what);
		p = open_on(&sw, -1, &pid, 1);
		ok(pid > 0 && child_run(pid, &least, &most), "child ran");
		perf_read(p, &f, NULL);
		faults = f.value[METRIC_PAGE_FAULTS];
		switches = f.value[METRIC_CONTEXT_SWITCHES];
		/* Linux 6.1 once served 4,000 pages of threads in 3,824 faults, by its own count, too */
		ok(values_has(&f, METRIC_PAGE_FAULTS) && faults >= least.faults &&
			   faults >= t[i].faults / 2 && faults <= most.faults,
		   "page faults once each: %" PRIu64 " <= %" PRIu64 " <= %" PRIu64, least.faults, faults,
		   most.faults);
		ok(values_has(&f, METRIC_CONTEXT_SWITCHES) && switches >= least.switches &&
			   switches <= most.switches,
		   "context switches once each: %" PRIu64 " <= %" PRIu64 " <= %" PRIu64, least.switches,
		   switches, most.switches);
		ok(values_has(&f, METRIC_TASK_CLOCK) && f.value[METRIC_TASK_CLOCK] > 0 &&
			   values_has(&f, METRIC_CPU_MIGRATIONS),
		   "task clock and migrations are known");
		perf_close(p);
	}
}

/*
 * What a collector gets wrong that polls for processes and opens events on those it finds: a fork after
 * the open is counted twice (1 s was 2 s), threads older than the open are missed (8 s were 1.9 s),
 * and a process that comes and goes between two polls is missed.
 */
static void test_cgroup(void)
{
	static const char *const whats[] = { "faults", "forks", "threads" };
	struct usage least, most;
	int fd = open(folders.step[HIER_V2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct values f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(whats); i++) {
		pid_t pid = child_stopped(whats[i]);
		struct perf *p = open_on(&sw, fd, &pid, 1);
		uint64_t faults;

		values_init(&f);
		ok(child_run(pid, &least, &most), "child ran");
		perf_read(p, &f, NULL);
		perf_close(p);
		faults = f.value[METRIC_PAGE_FAULTS];
		ok(values_has(&f, METRIC_PAGE_FAULTS) && faults >= least.faults && faults <= most.faults,
		   "%s, by cgroup, each fault once: %" PRIu64 " <= %" PRIu64 " <= %" PRIu64, whats[i],
		   least.faults, faults, most.faults);
		ok(f.value[METRIC_TASK_CLOCK] > 0, "task clock");
	}
	(void)close(fd);
}

/* Threads that run already when the cgroup's counters are opened; nobody will exec. */
static int go[2];

static void *early_thread(void *arg)
{
	char c;

	if (read(go[0], &c, 1) == 1)
		touch_pages();
	return arg;
}

static void early_child(void)
{
	pthread_t t[THREADS];
	int i;

	if (folders_enter(&folders) < 0)
		_exit(126);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, early_thread, NULL))
			_exit(1);
	(void)raise(SIGSTOP);
	for (i = 0; i < THREADS; i++)
		(void)pthread_join(t[i], NULL);
	_exit(0);
}

static void test_old_threads(void)
{
	int fd = open(folders.step[HIER_V2], O_RDONLY | O_DIRECTORY | O_CLOEXEC), status, i;
	uint64_t faults;
	struct values f;
	struct rusage ru;
	struct perf *p;
	pid_t pid;

	pid = pipe(go) < 0 ? -1 : fork();
	if (pid == 0)
		early_child();
	if (!ok(pid > 0 && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status),
		"a process with %d threads", THREADS))
		return;
	p = open_on(&sw, fd, &pid, 1);
	(void)kill(pid, SIGCONT);
	for (i = 0; i < THREADS; i++)
		(void)!write(go[1], "", 1);
	ok(wait4(pid, &status, 0, &ru) == pid && WIFEXITED(status) && !WEXITSTATUS(status), "ran");
	values_init(&f);
	perf_read(p, &f, NULL);
	perf_close(p);
	faults = f.value[METRIC_PAGE_FAULTS];
	if (values_has(&f, METRIC_TASK_CLOCK) && !f.value[METRIC_TASK_CLOCK])
		skip(1, "this v2 hierarchy takes no perf events, and a task's begin at its exec");
	else
		ok(faults >= (uint64_t)THREADS * PAGES && faults <= (uint64_t)(ru.ru_minflt + ru.ru_majflt),
		   "threads older than the open are counted: %" PRIu64 " of %ld faults", faults,
		   ru.ru_minflt + ru.ru_majflt);
	(void)close(fd);
}

static void test_two_tasks(void)
{
	struct values f;
	struct perf *p;
	pid_t pid[2] = { child_stopped("faults"), child_stopped("faults") };

	values_init(&f);
	p = open_on(&sw, -1, pid, 2);
	child_run_any(pid[0]);
	child_run_any(pid[1]);
	perf_read(p, &f, NULL);
	ok(f.value[METRIC_PAGE_FAULTS] >= UINT64_C(2) * PAGES, "two tasks add up");
	perf_close(p);
}

static void test_hardware(void)
{
	struct values f;
	struct perf *p;
	pid_t pid = child_stopped("faults");

	values_init(&f);
	p = open_on(&hw, -1, &pid, 1);
	child_run_any(pid);
	perf_read(p, &f, NULL);
	ok(values_has(&f, METRIC_PAGE_FAULTS), "hw brings the software events");
	if (f.reason[METRIC_CYCLES] == REASON_NO_PMU) {
		ok(f.reason[METRIC_BRANCH_MISSES] == REASON_NO_PMU &&
			   f.reason[METRIC_PMU_ENABLED] == REASON_NO_PMU,
		   "n/a (%s) for all hardware events", metric_reason_text(f.reason[METRIC_CYCLES]));
		skip(1, "no PMU");
	} else if (values_has(&f, METRIC_CYCLES)) {
		ok(f.value[METRIC_CYCLES] > 0, "cycles");
		ok(f.value[METRIC_INSTRUCTIONS] > 0, "instructions");
	} else {
		skip(2, metric_reason_text(f.reason[METRIC_CYCLES]));
	}
	perf_close(p);
}

int main(int argc, char **argv)
{
	struct values f;
	struct perf *p;
	pid_t pid;

	if (argc == 4 && !strcmp(argv[1], "--work"))
		return work(argv[2], (int)strtol(argv[3], NULL, 10));
	if (pipe(told) < 0)
		return skip_all("no pipe");
	self = argv[0];
	test_nothing_attached();
	test_dead_task();

	values_init(&f);
	pid = child_stopped("faults");
	p = open_on(&sw, -1, &pid, 1);
	perf_read(p, &f, NULL);
	perf_close(p);
	child_run_any(pid);
	if (!values_has(&f, METRIC_TASK_CLOCK)) {
		skip(1, metric_reason_text(f.reason[METRIC_TASK_CLOCK]));
		return done_testing();
	}
	test_no_descriptors();
	test_many_tasks();
	test_foreign_descriptor();
	test_counts();
	test_two_tasks();
	test_hardware();
	folders_make(&folders);
	if (folders.top[HIER_V2][0]) {
		test_cgroup();
		test_old_threads();
	} else {
		skip(1, "no cgroup v2 folder can be made here");
	}
	folders_remove(&folders);
	return done_testing();
}
