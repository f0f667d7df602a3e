/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel counts for tasks, against known amounts of work. bpfrig.h says what it takes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>

#include "bpfrig.h"
#include "src/libmeter/harvest.h"

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

/* --- a step, as slurmstepd has it ----------------------------------------------------------- */

struct step {
	uint32_t slot;
	struct harvest *harvest;
};

static bool step_open(struct step *s, uint64_t v2_id, uint64_t v1_id)
{
	int rc = probes_register(probes, v2_id, v1_id, 0, &s->slot);

	if (rc == 0)
		rc = harvest_open(probes, s->slot, &s->harvest);
	return ok(rc == 0, "a step registers");
}

static void step_close(struct step *s)
{
	harvest_close(s->harvest);
	probes_release(probes, s->slot);
}

static void step_read(struct step *s, bool is_empty, struct figures *f)
{
	figures_init(f);
	is_int(harvest_read(s->harvest, is_empty, f), 0, "read");
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
	ok(figures_has(f, METRIC_STORAGE_WRITE_BYTES) && figures_has(f, METRIC_CPU_TIME) &&
		   figures_has(f, METRIC_CONTEXT_SWITCHES) && f->value[METRIC_PAGE_FAULTS] > 0,
	   "the others are known");
}

static void test_exact(const char *what, const char *v2_root, const char *v1_root)
{
	struct folder step2 = { 0 }, task2 = { 0 }, step1 = { 0 }, task1 = { 0 };
	struct figures f;
	struct step s;
	pid_t pid, outside;
	size_t i;

	diag("cgroups: %s", what);
	if ((v2_root && (!folder_make(&step2, v2_root, NULL) ||
			 !folder_make(&task2, step2.path, "task_0"))) ||
	    (v1_root && (!folder_make(&step1, v1_root, NULL) ||
			 !folder_make(&task1, step1.path, "task_0")))) {
		ok(false, "cgroups can be made: %s", strerror(errno));
		goto out;
	}
	for (i = 0; i < ARRAY_SIZE(works); i++) {
		if (!step_open(&s, step2.id, step1.id))
			break;
		outside = child_start(work_plain, NULL, NULL);
		pid = child_start(works[i].run, v2_root ? &task2 : NULL,
				  v1_root ? &task1 : NULL);
		ok(pid > 0 && outside > 0, "children work");
		step_read(&s, false, &f);
		check_figures(&f, &works[i], "living");
		ok(child_end(pid) && child_end(outside), "children end");
		step_read(&s, false, &f);
		check_figures(&f, &works[i], "ended");
		step_read(&s, true, &f);
		check_figures(&f, &works[i], "ended, the living not asked");
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
	struct figures f;
	struct step s;
	pthread_t t;

	(void)snprintf(back.path, sizeof(back.path), "%s", v2_root);
	if (!ok(folder_make(&step, v2_root, NULL), "cgroup") || !step_open(&s, step.id, 0))
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

static void test_others_values_stay(void)
{
	struct figures f;
	struct step s;

	if (!step_open(&s, UINT64_MAX, 0)) /* an id nobody has */
		return;
	step_read(&s, false, &f);
	is_u64(f.value[METRIC_PAGE_FAULTS], 0, "nothing counted");
	figures_set(&f, METRIC_PAGE_FAULTS, 4711); /* perf came after the first poll */
	is_int(harvest_read(s.harvest, false, &f), 0, "read again");
	is_u64(f.value[METRIC_PAGE_FAULTS], 4711, "perf's page faults stay");
	ok(figures_has(&f, METRIC_IO_READ_BYTES), "the rest is filled in");
	step_close(&s);

	figures_init(&f);
	figures_set(&f, METRIC_CPU_TIME, 1);
	harvest_miss(&f, REASON_NO_BPF);
	ok(figures_has(&f, METRIC_CPU_TIME) &&
		   f.reason[METRIC_IO_READ_BYTES] == REASON_NO_BPF,
	   "harvest_miss keeps what is known");
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
	}
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
