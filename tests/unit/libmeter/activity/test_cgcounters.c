/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters by cgroup and CPU: on a fake PMU, the failures that a real one has; then the
 * kernel's own interface with software events, on a cgroup of the machine that runs the test.
 */
#include "src/libmeter/activity/cgcounters.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cgfolders.h"
#include "fake_pmu.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "paths_of.h"
#include "tap.h"

static const uint32_t all_cpus[FAKE_CPUS] = { 0, 1, 2, 3 };
static const uint64_t some[EVENT_N] = { 1000, 500, 7 };

static struct cgcounters *create(struct fake_pmu *f, unsigned int max_fds)
{
	struct cgcounters *c = NULL;
	struct errmsg err = { 0 };

	if (cgcounters_create(fake_pmu(f), 0, max_fds, &c, &err) < 0)
		diag("%s", err.text);
	return c;
}

static bool is_events(const struct cgcounters_cpu *cpu, uint64_t cycles, uint64_t instructions,
		      uint64_t misses)
{
	const uint64_t *e = cpu->events;

	if (e[0] == cycles && e[1] == instructions && e[2] == misses)
		return true;
	diag("got %" PRIu64 " %" PRIu64 " %" PRIu64, e[0], e[1], e[2]);
	return false;
}

static void test_create(void)
{
	static const struct {
		const char *name;
		int fails[EVENT_N];
		int rc;
		const char *text;
		bool has[EVENT_N];
	} t[] = {
		{ "no PMU", { -ENOENT }, -ENODEV, "this machine shows no hardware counters", { 0 } },
		{ "a VM without", { -EOPNOTSUPP }, -ENODEV, "this machine shows no", { 0 } },
		{ "forbidden", { -EACCES }, -EACCES, "hardware counters: Perm", { 0 } },
		{ "no descriptors", { -EMFILE }, -EMFILE, "hardware counters: Too many", { 0 } },
		{ "only cycles", { 0, -ENOENT, -ENOENT }, 0, "", { true, false, false } },
		{ "no misses", { 0, 0, -EINVAL }, 0, "", { true, true, false } },
		{ "all", { 0 }, 0, "", { true, true, true } },
	};
	size_t i;
	int e;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct fake_pmu f = { 0 };
		struct cgcounters *c = NULL;
		struct errmsg err = { 0 };
		bool same = true;

		memcpy(f.open_fails, t[i].fails, sizeof(f.open_fails));
		is_int(cgcounters_create(fake_pmu(&f), 0, 100, &c, &err), t[i].rc, t[i].name);
		ok(!strncmp(err.text, t[i].text, strlen(t[i].text)), "its reason");
		for (e = 0; c && e < EVENT_N; e++)
			same &= cgcounters_has(c, (enum event)e) == t[i].has[e];
		ok(same && !f.nopen, "it has the events that opened; nothing stays open");
		cgcounters_destroy(c);
	}
	cgcounters_close(NULL);
}

static void test_open_fails(void)
{
	static const struct {
		const char *name, *v2, *v1;
		uint32_t offline;
		unsigned int max_fds;
		int fails_after;
		int rc;
	} t[] = {
		{ "no cgroup", "", "", 0, 100, 0, -ENOENT },
		{ "the cgroup is gone", "/step_6", "", 0, 100, 0, -ENOENT },
		{ "all its CPUs are offline", "/step_1", "", 15, 100, 0, -ENODEV },
		{ "no room at all", "/step_1", "", 0, 0, 0, -EMFILE },
		{ "one short", "/step_1", "", 0, 12, 0, -EMFILE },
		{ "the process's limit", "/step_1", "", 0, 100, 8, -EMFILE },
		{ "just enough", "/step_1", "", 0, 13, 0, 0 },
		{ "by v1", "", "/step_1", 0, 13, 0, 0 },
		{ "one CPU is offline", "/step_1", "", 4, 13, 0, 0 },
		{ "all processes, no cgroup: one descriptor for each event and CPU", NULL, NULL, 0, 12, 0,
		  0 },
	};
	size_t i;
	uint32_t cpu;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct fake_pmu f = { .is_gone[6] = true };
		struct cgcounters *c = create(&f, t[i].max_fds);
		struct cgcounters_set *set = NULL;
		const struct cgroup_paths *paths;

		f.fails_after = t[i].fails_after;
		for (cpu = 0; cpu < FAKE_CPUS; cpu++)
			f.is_offline[cpu] = t[i].offline & 1u << cpu;
		paths = t[i].v2 ? paths_of(t[i].v2, t[i].v1, "") : NULL;
		is_int(cgcounters_open(c, paths, all_cpus, FAKE_CPUS, &set), t[i].rc, t[i].name);
		ok(!!set == (t[i].rc == 0) && (set || !f.nopen), "a complete set or none");
		cgcounters_close(set);
		is_int(f.nopen, 0, "nothing stays open");
		/* what was given back can be had again */
		f.fails_after = 0;
		memset(f.is_offline, 0, sizeof(f.is_offline));
		ok(t[i].max_fds < 12 || cgcounters_open(c, NULL, all_cpus, FAKE_CPUS, &set) == 0,
		   "the descriptors of this set can be used again");
		if (t[i].max_fds >= 12)
			cgcounters_close(set);
		cgcounters_destroy(c);
	}
}

static void test_scaling(void)
{
	static const struct {
		const char *name;
		uint64_t ns, running_ns;
		uint64_t events[EVENT_N];
		uint64_t want[EVENT_N];
	} t[] = {
		{ "nothing happened", 0, 0, { 0 }, { 0 } },
		{ "counted all the time", 100, 100, { 1000, 500, 7 }, { 1000, 500, 7 } },
		{ "half the time", 100, 50, { 1000, 500, 7 }, { 2000, 1000, 14 } },
		{ "others had the counters all the time", 100, 0, { 0 }, { 0 } },
		{ "half the time: the lost interval is not added",
		  100,
		  50,
		  { 600, 300, 3 },
		  { 1200, 600, 6 } },
		{ "counters went back", 100, 100, { (uint64_t)-900, 0, 0 }, { 0 } },
		{ "too large", 1ull << 40, 1, { 1ull << 40, 0, 0 }, { UINT64_MAX, 0, 0 } },
		{ "the next interval counts from there", 10, 10, { 5, 5, 5 }, { 5, 5, 5 } },
	};
	struct fake_pmu f = { 0 };
	struct cgcounters *c = create(&f, 100);
	struct cgcounters_set *set = NULL;
	const struct cgcounters_cpu *ret;
	const uint32_t cpu = 2;
	size_t i;

	fake_pmu_run(&f, 1, 2, 1000, 1000, some);
	is_int(cgcounters_open(c, paths_of("/step_1", "", ""), &cpu, 1, &set), 0, "open");
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		fake_pmu_run(&f, 1, 2, t[i].ns, t[i].running_ns, t[i].events);
		ret = cgcounters_read(set, NULL);
		ok(is_events(ret, t[i].want[0], t[i].want[1], t[i].want[2]) &&
			   ret->is_lost == (t[i].ns && !t[i].running_ns),
		   "%s", t[i].name);
	}
	cgcounters_close(set);
	cgcounters_destroy(c);
}

/* Each step's own, everything the sum; a node without misses has 0 of them. */
static void test_sets(void)
{
	struct fake_pmu f = { .open_fails[EVENT_INSTRUCTIONS] = -ENOENT };
	struct cgcounters *c = create(&f, 100);
	struct cgcounters_set *all = NULL;
	struct cgcounters_set *one = NULL;
	const bool busy[FAKE_CPUS] = { true, false, true, true };
	const struct cgcounters_cpu *cpu;

	is_int(cgcounters_open(c, NULL, all_cpus, FAKE_CPUS, &all), 0, "all processes");
	is_int(cgcounters_open(c, paths_of("/step_1", "", ""), all_cpus, 2, &one), 0, "a step of two CPUs");
	is_u64(cgcounters_ncpus(one), 2, "its CPUs");
	fake_pmu_run(&f, 1, 0, 10, 10, some);
	fake_pmu_run(&f, 2, 0, 10, 10, some);
	fake_pmu_run(&f, 1, 1, 10, 10, some);
	memset(f.reads, 0, sizeof(f.reads));
	cpu = cgcounters_read(all, busy);
	ok(is_events(&cpu[0], 2000, 0, 14), "both steps'; an event that is missing stays 0");
	ok(is_events(&cpu[1], 0, 0, 0) && f.reads[1] == 0, "an idle CPU is left alone");
	cpu = cgcounters_read(one, NULL);
	ok(is_events(&cpu[0], 1000, 0, 7) && is_events(&cpu[1], 1000, 0, 7), "the step's own");
	cpu = cgcounters_read(all, NULL);
	ok(is_events(&cpu[0], 0, 0, 0) && is_events(&cpu[1], 1000, 0, 7),
	   "what an idle CPU had counted comes with the next reading");
	f.is_gone[1] = true;
	fake_pmu_run(&f, 1, 1, 10, 10, some);
	cpu = cgcounters_read(one, NULL);
	ok(is_events(&cpu[1], 1000, 0, 7), "the last counts of a cgroup that is gone");
	cgcounters_close(one);
	cgcounters_close(all);
	is_int(f.nopen, 0, "nothing stays open");
	cgcounters_destroy(c);
}

static void test_offline(void)
{
	struct fake_pmu f = { 0 };
	struct cgcounters *c = create(&f, 13);
	struct cgcounters_set *set = NULL;
	const struct cgcounters_cpu *cpu;

	is_int(cgcounters_open(c, paths_of("/step_1", "", ""), all_cpus, FAKE_CPUS, &set), 0, "open");
	f.is_offline[1] = true;
	fake_pmu_run(&f, 1, 0, 10, 10, some);
	cpu = cgcounters_read(set, NULL);
	ok(is_events(&cpu[0], 1000, 500, 7) && is_events(&cpu[1], 0, 0, 0) && cpu[1].is_lost,
	   "a CPU goes offline, the others count");
	cpu = cgcounters_read(set, NULL);
	ok(cpu[1].is_lost && !cpu[0].is_lost, "it stays lost while it is offline");
	f.is_offline[1] = false;
	fake_pmu_run(&f, 1, 1, 10, 10, some);
	cpu = cgcounters_read(set, NULL);
	ok(is_events(&cpu[1], 0, 0, 0) && cpu[1].is_lost, "back online: still lost in this reading");
	fake_pmu_run(&f, 1, 1, 10, 10, some);
	cpu = cgcounters_read(set, NULL);
	ok(is_events(&cpu[1], 1000, 500, 7) && !cpu[1].is_lost, "then it counts");
	f.is_torn[2] = true;
	cpu = cgcounters_read(set, NULL);
	ok(cpu[2].is_lost, "off and on between two readings: the group is torn");
	(void)cgcounters_read(set, NULL);
	cpu = cgcounters_read(set, NULL);
	ok(!cpu[2].is_lost, "opened again");
	cgcounters_close(set);
	is_int(f.nopen, 0, "nothing stays open");
	cgcounters_destroy(c);
}

/* --- the kernel's ----------------------------------------------------------------------- */

#define PAGES 500

/* Burns CPU time and touches pages inside of the step. */
static void work(const struct folders *f)
{
	pid_t pid = fork();
	int i;

	if (pid < 0)
		exit(99);
	if (!pid) {
		char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (p == MAP_FAILED || folders_enter(f) < 0)
			_exit(98);
		(void)madvise(p, PAGES * 4096, MADV_NOHUGEPAGE);
		for (i = 0; i < PAGES; i++)
			p[i * 4096] = 1;
		while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < 50 * NSEC_PER_MSEC)
			;
		_exit(0);
	}
	if (waitpid(pid, &i, 0) != pid || i)
		diag("the worker failed: %d", i);
}

static uint64_t sum_of(const struct cgcounters_cpu *cpu, size_t n, enum event e)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += cpu[i].events[e];
	return sum;
}

static bool is_any_lost(const struct cgcounters_cpu *cpu, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (cpu[i].is_lost)
			return true;
	return false;
}

static void check_kernel(const struct folders *f, struct cgcounters *c)
{
	uint32_t cpus[64];
	char path[PATH_MAX];
	struct cgcounters_set *set = NULL;
	const struct cgcounters_cpu *cpu;
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	long i;
	int rc;

	if (n > (long)ARRAY_SIZE(cpus))
		n = ARRAY_SIZE(cpus);
	for (i = 0; i < n; i++)
		cpus[i] = (uint32_t)i;
	folders_step_path(HIER_V2, path, sizeof(path));
	rc = cgcounters_open(c, paths_of(path, "", ""), cpus, (size_t)n, &set);
	if (!is_int(rc, 0, "the kernel's counters of a cgroup")) {
		skip(5, "not open");
		return;
	}
	work(f);
	cpu = cgcounters_read(set, NULL);
	ok(sum_of(cpu, (size_t)n, EVENT_CYCLES) >= 25 * NSEC_PER_MSEC,
	   "it counts what a process in the step does");
	ok(sum_of(cpu, (size_t)n, EVENT_INSTRUCTIONS) >= PAGES, "its page faults too");
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < 30 * NSEC_PER_MSEC)
		;
	cpu = cgcounters_read(set, NULL);
	is_u64(sum_of(cpu, (size_t)n, EVENT_CYCLES), 0, "and not what others do");
	ok(!is_any_lost(cpu, (size_t)n), "and no CPU is marked as lost");
	work(f);
	rmdir(f->task[HIER_V2]);
	rmdir(f->step[HIER_V2]);
	cpu = cgcounters_read(set, NULL);
	ok(sum_of(cpu, (size_t)n, EVENT_INSTRUCTIONS) >= PAGES,
	   "it counts to the end of a cgroup that was removed");
	mkdir(f->step[HIER_V2], 0755);
	mkdir(f->task[HIER_V2], 0755);
	cgcounters_close(set);
}

static void test_kernel(void)
{
	const struct pmu software = {
		.ops = &perf_event_kernel,
		.open_cgroup = pmu_hardware.open_cgroup,
		.event = {
			{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
			{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
			{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
		},
	};
	struct cgcounters *c = NULL;
	struct errmsg err = { 0 };
	struct folders f;
	int rc;

	rc = cgcounters_create(&pmu_hardware, 0, 100, &c, &err);
	ok(rc == 0 || err.text[0], "hardware: %s", rc ? err.text : "yes");
	cgcounters_destroy(c);
	c = NULL;
	if (cgcounters_create(&software, 0, 1000, &c, &err) < 0) {
		diag("%s", err.text);
		skip(6, "this user may not count events");
		return;
	}
	folders_make(&f);
	if (f.top[HIER_V2][0])
		check_kernel(&f, c);
	else
		skip(6, "no cgroup v2 folder can be made here");
	folders_remove(&f);
	cgcounters_destroy(c);
}

int main(void)
{
	alarm(120);
	test_create();
	test_open_fails();
	test_scaling();
	test_sets();
	test_offline();
	test_kernel();
	return done_testing();
}
