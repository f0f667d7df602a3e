/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_probes [PAIRS] - the cost of the probes that every step has, and of bperf: a context switch with
 * bperf's programs on and off in turn; ends of processes and threads with the task counters on and off; the
 * start of a step with all probes; a reading. It measures CPU time, so that other load does not count, and
 * prints a table of medians and quartiles over the pairs. It is not a test.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "bpfrig.h"
#include "src/libmeter/activity/bperf.h"
#include "src/libmeter/activity/taskcount.h"
#include "src/libstep/stepprobes.h"

#define PAIRS_MAX 200
#define ROUNDS 20000
#define FORKS 200
#define THREADS 1000
#define STARTS 20

static unsigned int npairs = 31;
static const char *root;
static bool is_v2;

/* --- statistics --------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double at(double *v, size_t n, unsigned int percent)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[(n - 1) * percent / 100];
}

/* RUN(ARG): nanoseconds per piece; TURN before each. */
static void pairs(const char *what, double (*run)(void *arg), void *arg, bool (*turn)(bool on))
{
	static double off[PAIRS_MAX], ratio[PAIRS_MAX], more[PAIRS_MAX];
	unsigned int i, k, n = 0;

	for (i = 0; i < npairs; i++) {
		double ns[2] = { 0, 0 };

		for (k = 0; k < 2; k++) {
			bool on = (i + k) % 2;

			if (!turn(on))
				break;
			ns[on] = run(arg);
		}
		if (ns[0] <= 0 || ns[1] <= 0)
			continue;
		off[n] = ns[0];
		more[n] = ns[1] - ns[0];
		ratio[n++] = ns[1] / ns[0];
	}
	(void)turn(false);
	if (!n) {
		printf("%-44s n/a\n", what);
		return;
	}
	printf("%-44s %8.0f ns, %+6.0f ns, x%.3f (%.3f to %.3f), %u pairs\n", what, at(off, n, 50),
	       at(more, n, 50), at(ratio, n, 50), at(ratio, n, 25), at(ratio, n, 75), n);
}

/* --- steps -------------------------------------------------------------------------------- */

struct step {
	struct probes *probes;
	struct folder folder;
	uint32_t slot;
	struct bperf *bperf;
};
static struct step steps[2];
static struct folder others[2]; /* of no step */

static bool step_make(struct step *s, const char *name)
{
	return folder_make(&s->folder, root, name) && probes_open(bpfrig_dir, &s->probes, NULL) == 0 &&
	       probes_register(s->probes, is_v2 ? s->folder.id : 0, is_v2 ? 0 : s->folder.id, 1u << PROBES_HW,
			       &s->slot) == 0;
}

static void step_remove(struct step *s)
{
	if (s->slot)
		probes_release(s->probes, s->slot);
	probes_close(s->probes);
	folder_remove(&s->folder);
}

/* Four software events cost what four PMU events do, except for reading the PMU's registers. */
static void software(struct hwevents *e)
{
	static const uint64_t config[] = { PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
					   PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS };
	size_t i;

	memset(e, 0, sizeof(*e));
	e->n = ARRAY_SIZE(config);
	for (i = 0; i < e->n; i++) {
		e->event[i].attr.type = PERF_TYPE_SOFTWARE;
		e->event[i].attr.config = config[i];
	}
}

static bool turn_hw(bool on)
{
	const uint32_t cpu = 0;
	struct hwevents e;
	size_t i;

	software(&e);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		struct step *s = &steps[i];

		bperf_close(s->bperf);
		s->bperf = NULL;
		/* the program stays attached until its last holder's handle is closed */
		probes_close(s->probes);
		s->probes = NULL;
	}
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		struct step *s = &steps[i];

		if (probes_open(bpfrig_dir, &s->probes, NULL) < 0 ||
		    (on && bperf_open(s->probes, s->slot, &e, &cpu, 1, &s->bperf, NULL) < 0))
			return false;
	}
	return true;
}

/* --- switches ----------------------------------------------------------------------------- */

static uint64_t process_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

struct player {
	const struct folder *folder;
	int in, out;
	uint64_t *ns; /* shared */
};

static pid_t play(const struct player *p, bool begins)
{
	cpu_set_t set;
	uint64_t start;
	unsigned int i;
	char c = 'x';
	pid_t pid = fork();

	if (pid)
		return pid;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	if (!folder_join(p->folder, getpid()) || (begins && write(p->out, &c, 1) != 1))
		_exit(1);
	start = process_cpu_ns();
	for (i = 0; i < ROUNDS; i++)
		if (read(p->in, &c, 1) != 1 || write(p->out, &c, 1) != 1)
			_exit(1);
	*p->ns = process_cpu_ns() - start;
	_exit(0);
}

/* Two processes pass a byte to and fro: nanoseconds per switch, including the pipe. */
static double run_switches(void *arg)
{
	const struct folder *const *folder = arg;
	uint64_t *ns = mmap(NULL, 2 * sizeof(*ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int there[2], back[2], status;
	bool is_good = ns != MAP_FAILED && pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0;
	double per_switch;
	pid_t pid[2];
	int i;

	if (!is_good)
		return 0;
	pid[0] = play(&(struct player){ folder[0], back[0], there[1], &ns[0] }, true);
	pid[1] = play(&(struct player){ folder[1], there[0], back[1], &ns[1] }, false);
	for (i = 0; i < 2; i++)
		is_good = waitpid(pid[i], &status, 0) == pid[i] && status == 0 && is_good;
	for (i = 0; i < 2; i++) {
		(void)close(there[i]);
		(void)close(back[i]);
	}
	per_switch = (double)(ns[0] + ns[1]) / (2.0 * ROUNDS);
	(void)munmap(ns, 2 * sizeof(*ns));
	return is_good ? per_switch : 0;
}

static void measure_switches(void)
{
	const struct folder *same[] = { &steps[0].folder, &steps[0].folder };
	const struct folder *across[] = { &steps[0].folder, &steps[1].folder };
	const struct folder *none[] = { &others[0], &others[0] };
	const struct folder *two[] = { &others[0], &others[1] };
	struct folder task[2];
	const struct folder *tasks[] = { &task[0], &task[1] };

	if (!folder_make(&task[0], steps[0].folder.path, "task_0") ||
	    !folder_make(&task[1], steps[0].folder.path, "task_1"))
		return;
	printf("A switch, with bperf off; more with it on (4 software events)\n");
	pairs("within a task's cgroup of a step", run_switches, same, turn_hw);
	pairs("between task_0 and task_1 of a step", run_switches, tasks, turn_hw);
	pairs("between two steps that asked", run_switches, across, turn_hw);
	pairs("within a cgroup of no step", run_switches, none, turn_hw);
	pairs("between two cgroups of no step", run_switches, two, turn_hw);
	folder_remove(&task[0]);
	folder_remove(&task[1]);
}

/* --- ends --------------------------------------------------------------------------------- */

static struct probes *holder;

static bool turn_tasks(bool on)
{
	probes_close(holder);
	holder = NULL;
	return probes_open(bpfrig_dir, &holder, NULL) == 0 &&
	       (!on || probes_hold(holder, PROBES_TASKS, NULL) == 0);
}

static double children_cpu_ns(int who)
{
	struct rusage u;

	(void)getrusage(who, &u);
	return ((double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec) * 1e9 +
	       ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) * 1e3;
}

/* Runs WORK in a process of its own in the step's cgroup; returns its CPU time divided by N. */
static double in_step(void (*work)(void), unsigned int n)
{
	double start = children_cpu_ns(RUSAGE_CHILDREN);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!folder_join(&steps[0].folder, getpid()))
			_exit(1);
		work();
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		return 0;
	return (children_cpu_ns(RUSAGE_CHILDREN) - start) / n;
}

static void work_forks(void)
{
	unsigned int i;

	for (i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		(void)waitpid(pid, NULL, 0);
	}
}

static void *thread_main(void *arg)
{
	return arg;
}

static void work_threads(void)
{
	unsigned int i;
	pthread_t t;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t, NULL, thread_main, NULL) == 0)
			(void)pthread_join(t, NULL);
}

static double run_forks(void *arg)
{
	(void)arg;
	return in_step(work_forks, FORKS);
}

static double run_threads(void *arg)
{
	(void)arg;
	return in_step(work_threads, THREADS);
}

/* --- a step's start, a reading ------------------------------------------------------------ */

static void measure_register(void)
{
	static double ns[PAIRS_MAX];
	struct folder f;
	struct probes *p;
	uint32_t slot;
	unsigned int i;

	if (probes_open(bpfrig_dir, &p, NULL) < 0 || !folder_make(&f, root, "bench-register"))
		return;
	for (i = 0; i < PAIRS_MAX; i++) {
		uint64_t start = clock_thread_cpu_ns();

		if (probes_register(p, is_v2 ? f.id : 0, is_v2 ? 0 : f.id, 0, &slot) < 0)
			break;
		ns[i] = (double)(clock_thread_cpu_ns() - start);
		probes_release(p, slot);
	}
	if (i)
		printf("%-44s %8.1f us (%.1f to %.1f)\n", "to register a step", at(ns, i, 50) / 1e3,
		       at(ns, i, 25) / 1e3, at(ns, i, 75) / 1e3);
	folder_remove(&f);
	probes_close(p);
}

/*
 * The first step opens the counters, later ones share them; then a reading that needs no interrupt of a CPU.
 */
static void measure_bperf(void)
{
	static double ns[3][STARTS];
	struct bperf_value v[PROBES_HW_EVENTS];
	const uint32_t cpu = 0;
	struct hwevents e;
	unsigned int i, k;

	software(&e);
	for (i = 0; i < STARTS && turn_hw(false); i++) {
		uint64_t t[4];

		t[0] = clock_mono_ns();
		for (k = 0; k < 2; k++) {
			if (bperf_open(steps[k].probes, steps[k].slot, &e, &cpu, 1, &steps[k].bperf, NULL) <
			    0)
				return;
			t[k + 1] = clock_mono_ns();
		}
		if (bperf_read(steps[0].bperf, v) < 0)
			return;
		t[3] = clock_mono_ns();
		for (k = 0; k < 3; k++)
			ns[k][i] = (double)(t[k + 1] - t[k]);
	}
	(void)turn_hw(false);
	if (i)
		printf("%-44s %8.1f us; the next step %.1f us; a reading %.1f us\n",
		       "bperf, 4 events on one CPU", at(ns[0], i, 50) / 1e3, at(ns[1], i, 50) / 1e3,
		       at(ns[2], i, 50) / 1e3);
}

static void sleep_on(void)
{
	for (;;)
		(void)pause();
}

/* Wall time, since waiting counts here. */
static void measure_start(uint32_t groups, const char *what)
{
	static struct settings settings;
	static double ns[STARTS];
	struct perf_request request = { .groups = groups };
	struct folder f;
	unsigned int i;

	if (settings_load("/nonexistent", &settings, NULL) != -ENOENT) /* then it has the defaults */
		return;
	(void)snprintf(settings.bpf_dir, sizeof(settings.bpf_dir), "%s", bpfrig_dir);
	if (!folder_make(&f, root, "bench-start"))
		return;
	for (i = 0; i < STARTS; i++) {
		struct stepprobes_setup setup = { .settings = &settings, .request = &request };
		struct errmsg lacking = { 0 };
		struct stepprobes *sp;
		struct cgroup_paths paths = { 0 };
		uint32_t slot;
		uint64_t start;
		pid_t pid = child_begin(sleep_on, &f, NULL);

		(void)snprintf(paths.v2, sizeof(paths.v2), "%s", is_v2 ? "/bench-start" : "");
		(void)snprintf(paths.freezer, sizeof(paths.freezer), "%s", is_v2 ? "" : "/bench-start");
		if (pid < 0 || stepprobes_create(&setup, &sp) < 0)
			break;
		start = clock_mono_ns();
		stepprobes_start(sp, &pid, 1, &paths, &slot, &lacking);
		ns[i] = (double)(clock_mono_ns() - start);
		if (!i && (!slot || lacking.text[0]))
			printf("%-44s slot %u; %s\n", what, slot, lacking.text);
		child_kill(pid);
		stepprobes_close(sp, /* slurmd_lives= */ false);
	}
	folder_remove(&f);
	if (i)
		printf("%-44s %8.2f ms (%.2f to %.2f)\n", what, at(ns, i, 50) / 1e6, at(ns, i, 25) / 1e6,
		       at(ns, i, 75) / 1e6);
}

static void work_many(void)
{
	unsigned int i;
	pthread_attr_t attr;
	pthread_t t;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, 64 * 1024);
	for (i = 0; i < THREADS; i++)
		(void)pthread_create(&t, &attr, (void *(*)(void *))sleep_on, NULL);
}

static double time_taskcount(struct taskcount *h)
{
	static double ns[PAIRS_MAX];
	unsigned int i;

	for (i = 0; i < npairs; i++) {
		struct values f;
		uint64_t start = clock_thread_cpu_ns();

		values_init(&f);
		if (taskcount_read(h, /* is_empty= */ false, &f) < 0)
			return 0;
		ns[i] = (double)(clock_thread_cpu_ns() - start);
	}
	return at(ns, npairs, 50);
}

static void measure_reading(void)
{
	struct taskcount *h = NULL;
	double without, with;
	pid_t pid;

	if (!turn_tasks(true) || taskcount_open(steps[0].probes, steps[0].slot, &h) < 0)
		return;
	without = time_taskcount(h);
	pid = child_start(work_many, &steps[0].folder, NULL);
	with = time_taskcount(h);
	if (pid > 0)
		child_kill(pid);
	printf("%-44s %8.1f us, and %.1f us for 1,000 threads of the step\n",
	       "to read a step's task counters", without / 1e3, (with - without) / 1e3);
	taskcount_close(h);
	(void)turn_tasks(false);
}

int main(int argc, char **argv)
{
	const char *why = bpfrig_up();
	bool is_up;

	if (why) {
		printf("%-44s skipped: %s\n", "probes", why);
		return 0;
	}
	if (argc > 1 && atol(argv[1]) > 0 && atol(argv[1]) <= PAIRS_MAX)
		npairs = (unsigned int)atol(argv[1]);
	root = bpfrig_root(/* is_v2= */ true);
	is_v2 = root != NULL;
	if (!is_v2)
		root = bpfrig_root(/* is_v2= */ false);
	is_up = root && step_make(&steps[0], "bench-step-0") && step_make(&steps[1], "bench-step-1") &&
		folder_make(&others[0], root, "bench-other-0") &&
		folder_make(&others[1], root, "bench-other-1");
	if (is_up) {
		measure_switches();
		printf("An end, without the task counters; more with them\n");
		pairs("fork, exit, wait", run_forks, NULL, turn_tasks);
		pairs("thread create, exit, join", run_threads, NULL, turn_tasks);
		printf("A step\n");
		measure_register();
		measure_bperf();
		measure_start(0, "its start, nothing asked for");
		measure_start(PERF_GROUP_HW | PERF_GROUP_SW | PERF_GROUP_IO | PERF_GROUP_NET |
				      PERF_GROUP_SCHED,
			      "its start, everything asked for");
		measure_reading();
	}
	probes_close(holder);
	step_remove(&steps[0]);
	step_remove(&steps[1]);
	folder_remove(&others[0]);
	folder_remove(&others[1]);
	(void)bpfrig_unload();
	bpfrig_down();
	return 0;
}
