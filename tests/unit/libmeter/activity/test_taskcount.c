/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel counts for tasks, against known amounts of work. bpfrig.h lists the requirements.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "bpfrig.h"
#include "src/libmeter/activity/taskcount.h"

static struct probes *probes;

/* --- children that do a known amount of I/O ------------------------------------------------ */

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

/* As many as a node of 128 cores has of a threaded job with MPI, all alive at once. */
#define MANY_THREADS 4000
static pthread_barrier_t all_wrote;

static void *many_main(void *arg)
{
	do_io(1, 100, 0, 0);
	(void)pthread_barrier_wait(&all_wrote);
	for (;;)
		(void)pause();
	return arg;
}

/* They end with their process. */
static void work_many_threads(void)
{
	pthread_attr_t attr;
	pthread_t t;
	size_t i;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 32768);
	(void)pthread_barrier_init(&all_wrote, NULL, MANY_THREADS + 1);
	for (i = 0; i < MANY_THREADS; i++)
		if (pthread_create(&t, &attr, many_main, NULL))
			_exit(1);
	(void)pthread_barrier_wait(&all_wrote);
}

/* A tree of processes none of which lives to exec(): each writes and is gone. */
static void storm(int depth)
{
	int i;

	do_io(1, 10, 0, 0);
	for (i = 0; depth && i < 10; i++) {
		pid_t pid = fork();

		if (pid < 0)
			_exit(1);
		if (pid == 0) {
			storm(depth - 1);
			_exit(0);
		}
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void work_storm(void)
{
	storm(3); /* 1 + 10 + 100 + 1000 */
}

/* Double counting shows here: a parent writes before and after its children do. */
static void work_parent_of_writers(void)
{
	int i;

	do_io(10, 100, 0, 0);
	for (i = 0; i < 10; i++) {
		if (fork() == 0) {
			do_io(10, 100, 0, 0);
			_exit(0);
		}
		(void)wait(NULL);
	}
	do_io(10, 100, 0, 0);
}

/* --- a step, as slurmstepd has it ----------------------------------------------------------- */

struct step {
	uint32_t slot;
	struct taskcount *taskcount;
};

static bool step_open(struct step *s, uint64_t v2_id, uint64_t v1_id)
{
	int rc = probes_register(probes, v2_id, v1_id, 0, &s->slot);

	if (rc == 0)
		rc = taskcount_open(probes, s->slot, &s->taskcount);
	return ok(rc == 0, "a step registers");
}

static void step_close(struct step *s)
{
	taskcount_close(s->taskcount);
	probes_release(probes, s->slot);
}

static void step_read(struct step *s, bool is_empty, struct values *f)
{
	values_init(f);
	is_int(taskcount_read(s->taskcount, is_empty, f), 0, "read");
}

/* --- tests -------------------------------------------------------------------------------- */

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
	{ "4,000 threads at once (following forks misses earlier ones)", work_many_threads, 400000, 4000, 0,
	  0 },
	{ "a fork storm, no exec (a collector that polls sees what lives then)", work_storm, 11110, 1111, 0,
	  0 },
	/* 22,000 when a counter that children inherit is opened on them again */
	{ "forks between writes (inherited counters count children twice)", work_parent_of_writers, 12000,
	  120, 0, 0 },
};

static void check_values(const struct values *f, const struct work *w, const char *when)
{
	diag("%s, %s", w->name, when);
	is_u64(f->value[METRIC_IO_WRITE_BYTES], w->wchar, "bytes written");
	is_u64(f->value[METRIC_IO_WRITE_CALLS], w->syscw, "write calls");
	if (w->rchar) {
		is_u64(f->value[METRIC_IO_READ_BYTES], w->rchar, "bytes read");
		is_u64(f->value[METRIC_IO_READ_CALLS], w->syscr, "read calls");
	}
	ok(values_has(f, METRIC_STORAGE_WRITE_BYTES) && values_has(f, METRIC_CPU_TIME) &&
		   values_has(f, METRIC_CONTEXT_SWITCHES) && f->value[METRIC_PAGE_FAULTS] > 0,
	   "the others are known");
}

static void test_exact(const char *what, const char *v2_root, const char *v1_root)
{
	struct folder step2 = { 0 }, task2 = { 0 }, step1 = { 0 }, task1 = { 0 };
	struct values f;
	struct step s;
	pid_t pid, outside;
	size_t i;

	diag("cgroups: %s", what);
	if ((v2_root &&
	     (!folder_make_own(&step2, v2_root, "step") || !folder_make(&task2, step2.path, "task_0"))) ||
	    (v1_root &&
	     (!folder_make_own(&step1, v1_root, "step") || !folder_make(&task1, step1.path, "task_0")))) {
		ok(false, "cgroups can be made: %s", strerror(errno));
		goto out;
	}
	for (i = 0; i < ARRAY_SIZE(works); i++) {
		if (!step_open(&s, step2.id, step1.id))
			break;
		outside = child_start(work_plain, NULL, NULL);
		pid = child_start(works[i].run, v2_root ? &task2 : NULL, v1_root ? &task1 : NULL);
		ok(pid > 0 && outside > 0, "children work");
		step_read(&s, false, &f);
		check_values(&f, &works[i], "living");
		ok(child_end(pid) && child_end(outside), "children end");
		step_read(&s, false, &f);
		check_values(&f, &works[i], "ended");
		step_read(&s, true, &f);
		check_values(&f, &works[i], "ended, the living not asked");
		step_close(&s);
	}
out:
	folder_remove(&task2);
	folder_remove(&step2);
	folder_remove(&task1);
	folder_remove(&step1);
}

/* slurmstepd sits in the step's cgroup on v2, and must not be charged to the job. */
static void test_owner_is_left_out(const char *v2_root)
{
	struct folder back = { 0 }, step;
	struct values f;
	struct step s;
	pthread_t t;

	(void)snprintf(back.path, sizeof(back.path), "%s", v2_root);
	if (!ok(folder_make_own(&step, v2_root, "step"), "cgroup") || !step_open(&s, step.id, 0))
		return;
	if (folder_join(&step, getpid())) {
		do_io(100, 64, 0, 0);
		(void)pthread_create(&t, NULL, thread_main, NULL);
		(void)pthread_join(t, NULL);
		step_read(&s, false, &f);
		is_u64(f.value[METRIC_IO_WRITE_BYTES], 0, "own threads are left out");
		(void)folder_join(&back, getpid());
	} else {
		skip(2, "cannot move into a cgroup");
	}
	step_close(&s);
	folder_remove(&step);
}

/* Process 1 of a pid namespace, which is the step's owner and sits in its cgroup: 0: nothing was charged. */
static int work_as_first(const struct folder *step)
{
	struct values f;
	struct step s;
	pthread_t t;

	/* by which processes are known */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0 || !folder_join(step, getpid()))
		return 2;
	if (probes_register(probes, step->id, 0, 0, &s.slot) < 0 ||
	    taskcount_open(probes, s.slot, &s.taskcount) < 0)
		return 3;
	do_io(100, 64, 0, 0);
	(void)pthread_create(&t, NULL, thread_main, NULL);
	(void)pthread_join(t, NULL);
	values_init(&f);
	if (taskcount_read(s.taskcount, false, &f) < 0)
		return 4;
	return f.value[METRIC_IO_WRITE_BYTES] ? 1 : 0;
}

/* A slurmd in a container: programs know its steps' slurmstepd by another number than they themselves. */
static void test_owner_in_namespace(const char *v2_root)
{
	struct folder step;
	int status = 0;
	pid_t pid;

	if (!ok(folder_make_own(&step, v2_root, "step"), "cgroup"))
		return;
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
			_exit(2);
		pid = fork();
		if (pid == 0)
			_exit(work_as_first(&step));
		_exit(pid > 0 && waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 2);
	}
	(void)waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 2)
		skip(1, "no pid namespace here");
	else
		is_int(WEXITSTATUS(status), 0, "own threads are left out in a pid namespace, too");
	folder_remove(&step);
}

static void test_others_values_stay(void)
{
	struct values f;
	struct step s;

	if (!step_open(&s, UINT64_MAX, 0)) /* an id nobody has */
		return;
	step_read(&s, false, &f);
	is_u64(f.value[METRIC_PAGE_FAULTS], 0, "nothing counted");
	values_set(&f, METRIC_PAGE_FAULTS, 4711); /* perf came after the first poll */
	is_int(taskcount_read(s.taskcount, false, &f), 0, "read again");
	is_u64(f.value[METRIC_PAGE_FAULTS], 4711, "perf's page faults stay");
	ok(values_has(&f, METRIC_IO_READ_BYTES), "the rest is filled in");
	step_close(&s);

	values_init(&f);
	values_set(&f, METRIC_CPU_TIME, 1);
	taskcount_miss(&f, REASON_NO_BPF);
	ok(values_has(&f, METRIC_CPU_TIME) && f.reason[METRIC_IO_READ_BYTES] == REASON_NO_BPF,
	   "taskcount_miss keeps what is known");
}

/* A task's cgroup is found from any depth: containers nest theirs in the step's. */
static void test_nested(const char *v2_root)
{
	struct folder step, level[16];
	struct values f;
	struct step s;
	pid_t pid;
	int i, made = 0;

	if (!ok(folder_make_own(&step, v2_root, "step"), "cgroup") || !step_open(&s, step.id, 0))
		return;
	for (i = 0; i < 16; i++)
		made += folder_make(&level[i], i ? level[i - 1].path : step.path, "nested");
	is_int(made, 16, "16 cgroups, one in the other");
	pid = child_start(work_plain, &level[15], NULL);
	step_read(&s, false, &f);
	is_u64(f.value[METRIC_IO_WRITE_BYTES], 64000, "a living task in the last counts");
	ok(pid > 0 && child_end(pid), "it ends");
	step_read(&s, true, &f);
	is_u64(f.value[METRIC_IO_WRITE_BYTES], 64000, "and as one that ended");
	step_close(&s);
	while (i-- > 0)
		folder_remove(&level[i]);
	folder_remove(&step);
}

static void test_side_by_side(const char *v2_root)
{
	struct folder folder[2];
	struct step step[2];
	struct values f;
	pid_t pid[2];
	int i;

	for (i = 0; i < 2; i++)
		if (!ok(folder_make_own(&folder[i], v2_root, i ? "b" : "a"), "cgroup") ||
		    !step_open(&step[i], folder[i].id, 0))
			return;
	pid[0] = child_begin(work_threads, &folder[0], NULL);
	pid[1] = child_begin(work_plain, &folder[1], NULL);
	for (i = 0; i < 2; i++)
		ok(pid[i] > 0 && child_wait_stopped(pid[i]) && child_end(pid[i]), "work at once");
	step_read(&step[0], true, &f);
	is_u64(f.value[METRIC_IO_WRITE_BYTES], 20001, "the one's bytes");
	step_read(&step[1], true, &f);
	is_u64(f.value[METRIC_IO_WRITE_BYTES], 64000, "the other's");
	for (i = 0; i < 2; i++) {
		step_close(&step[i]);
		folder_remove(&folder[i]);
	}
}

/* --- where time goes ------------------------------------------------------------------------ */

static void work_sleep(void)
{
	const struct timespec ts = { .tv_nsec = 200000000 };

	(void)nanosleep(&ts, NULL);
}

/* Two for one CPU: each waits for the other about as long as it runs. */
static void spin(void)
{
	uint64_t until_ns = clock_thread_cpu_ns() + 100 * NSEC_PER_MSEC;

	while (clock_thread_cpu_ns() < until_ns)
		;
}

static void work_compete(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	if (fork() == 0) {
		spin();
		_exit(0);
	}
	spin();
	(void)wait(NULL);
}

static void test_time(const char *v2_root)
{
	struct folder folder;
	struct values f;
	struct step s;
	pid_t pid;

	if (!ok(folder_make_own(&folder, v2_root, "step"), "cgroup") || !step_open(&s, folder.id, 0))
		return;
	pid = child_start(work_sleep, &folder, NULL);
	ok(pid > 0 && child_end(pid), "a task sleeps 200 ms");
	step_read(&s, true, &f);
	ok(f.value[METRIC_OFF_CPU] >= 200 * NSEC_PER_MSEC, "off-CPU time has them: %" PRIu64 " ns",
	   f.value[METRIC_OFF_CPU]);
	step_close(&s);

	if (!step_open(&s, folder.id, 0))
		return;
	pid = child_start(work_compete, &folder, NULL);
	ok(pid > 0 && child_end(pid), "two tasks share a CPU for 200 ms");
	step_read(&s, true, &f);
	/* their ends are not: what a task used since its last tick, 10 ms at most */
	ok(f.value[METRIC_CPU_TIME] >= 170 * NSEC_PER_MSEC, "they ran: %" PRIu64 " ns",
	   f.value[METRIC_CPU_TIME]);
	if (f.reason[METRIC_RUN_DELAY] == REASON_NONE)
		ok(f.value[METRIC_RUN_DELAY] >= 50 * NSEC_PER_MSEC,
		   "and waited for each other: %" PRIu64 " ns", f.value[METRIC_RUN_DELAY]);
	else
		skip(1, "this kernel does not count run-queue waits");
	ok(f.value[METRIC_CONTEXT_SWITCHES] >= 2, "which takes switches");
	step_close(&s);
	folder_remove(&folder);
}

/* --- what it costs the others ---------------------------------------------------------------- */

static uint64_t runs_of(const char *program)
{
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr;
	int fd;

	if (probes_program(probes, program, &fd) < 0)
		return 0;
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uint64_t)(uintptr_t)&info;
	return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0 ? 0 : info.run_cnt;
}

/* Hooks on read() and write() run for every process of the node; the task counters has none. */
static void test_nobody_is_taxed(void)
{
	const unsigned int calls = 100000;
	union bpf_attr attr;
	uint64_t runs;
	int stats;

	memset(&attr, 0, sizeof(attr));
	attr.enable_stats.type = BPF_STATS_RUN_TIME;
	stats = (int)syscall(SYS_bpf, BPF_ENABLE_STATS, &attr, sizeof(attr));
	if (stats < 0) {
		skip(1, "this kernel does not tell how often a program ran");
		return;
	}
	runs = runs_of("task_exit") + runs_of("living");
	do_io(calls, 1, calls, 1);
	runs = runs_of("task_exit") + runs_of("living") - runs;
	/* whatever else on this machine ended meanwhile */
	ok(runs < calls / 10,
	   "%u reads and writes outside of steps, which hooks would all see: our programs ran %" PRIu64
	   " times",
	   calls, runs);
	(void)close(stats);
}

#define BUSY_CGROUPS 200

/*
 * A table of active cgroups that evicts the oldest loses the job's own when the node is busy. Here
 * tasks of 200 other cgroups end while the step's task is alive.
 */
static void test_busy_node_evicts_nothing(const char *v2_root)
{
	struct folder step, other[BUSY_CGROUPS];
	struct values f;
	struct step s;
	pid_t pid;
	int i, made = 0, did = 0;

	if (!ok(folder_make_own(&step, v2_root, "step"), "cgroup") || !step_open(&s, step.id, 0))
		return;
	pid = child_start(work_plain, &step, NULL);
	for (i = 0; i < BUSY_CGROUPS; i++) {
		char name[32];
		pid_t busy;

		(void)snprintf(name, sizeof(name), "busy-%d", i);
		made += folder_make_own(&other[i], v2_root, name);
		busy = child_start(work_plain, &other[i], NULL);
		did += busy > 0 && child_end(busy);
	}
	ok(made == BUSY_CGROUPS && did == BUSY_CGROUPS, "200 busy cgroups come");
	step_read(&s, false, &f);
	is_u64(f.value[METRIC_IO_WRITE_BYTES], 64000, "the step's are all there: no table evicts them");
	ok(pid > 0 && child_end(pid), "it ends");
	step_read(&s, true, &f);
	is_u64(f.value[METRIC_IO_WRITE_BYTES], 64000, "and stay, though it is gone");
	step_close(&s);
	while (i-- > 0)
		folder_remove(&other[i]);
	folder_remove(&step);
}

static void run_tests(void)
{
	const char *v2 = bpfrig_root(true);
	const char *v1 = bpfrig_root(false);
	struct errmsg err = { 0 };

	if (!ok(probes_open(bpfrig_dir, &probes, &err) == 0, "open %s", err.text))
		return;
	is_int(probes_hold(probes, PROBES_TASKS, &err), 0, "hold");
	test_others_values_stay();
	if (v2) {
		test_exact("v2", v2, NULL);
		test_owner_is_left_out(v2);
		test_owner_in_namespace(v2);
		test_nested(v2);
		test_side_by_side(v2);
		test_time(v2);
		test_busy_node_evicts_nothing(v2);
	}
	test_nobody_is_taxed();
	if (v1)
		test_exact("v1 freezer", NULL, v1);
	if (v1 && v2)
		test_exact("v2 and v1, counted once", v2, v1);
	if (!v1 && !v2)
		skip(1, "no cgroups that can be written");
	probes_close(probes);
}

int main(void)
{
	const char *why = bpfrig_up();

	if (why)
		return skip_all(why);
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	run_tests();
	is_int(bpfrig_unload(), 0, "unload");
	bpfrig_down();
	return done_testing();
}
