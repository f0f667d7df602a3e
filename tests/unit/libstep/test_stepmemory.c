/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a step, from trees of files as kernels with cgroup v1, v2 and both have them. The linker
 * sends the opening of a step's files into the test's own tree (-Wl,--wrap).
 */
#include "src/libstep/stepmemory.h"

#include <errno.h>
#include <stdlib.h>

#include "paths_of.h"
#include "scratch.h"
#include "src/libmeter/activity/memuse.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define MB (UINT64_C(1) << 20)
#define UNKNOWN UINT64_MAX

static char dir[] = SCRATCH_TEMPLATE;

static void path_of(const char *controller, const char *path, const char *file, char *ret, size_t size)
{
	(void)snprintf(ret, size, "%s/%s%s/%s", dir, controller ? controller : "v2", path, file);
}

int __wrap_cgmount_open_step(const char *controller, const char *path, const char *file);
int __wrap_cgmount_open_step(const char *controller, const char *path, const char *file)
{
	char full[PATH_MAX];
	int fd;

	if (!path || path[0] != '/' || !path[1])
		return -ENOENT;
	path_of(controller, path, file, full, sizeof(full));
	fd = open(full, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* --- trees ------------------------------------------------------------------------------------ */

struct file {
	const char *controller; /* NULL: v2 */
	const char *path, *name, *text;
};

#define STEP "/job_7/step_0"
#define V1 "/slurm/uid_1000/job_7/step_0"
#define STAT_V2 "anon 1000000\nfile 600000\nkernel 5\nshmem 200000\nfile_mapped 4\n"
#define STAT_V1                                                                                \
	"cache 1\nrss 2\nshmem 3\nswap 4\ntotal_cache 600000\ntotal_rss 1000000\ntotal_shmem " \
	"200000\ntotal_swap 70000\n"
#define EVENTS "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 1\n"
#define CONTROL "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"

static const struct file v2_new[] = {
	/* of all, with slurmstepd; the tasks' own are in "user" */
	{ NULL, STEP, "memory.stat", "anon 9000000\nfile 9\nshmem 9\n" },
	{ NULL, STEP, "memory.peak", "99000000\n" },
	{ NULL, STEP "/user", "memory.stat", STAT_V2 },
	{ NULL, STEP "/user", "memory.current", "1700000\n" },
	{ NULL, STEP "/user", "memory.swap.current", "70000\n" },
	{ NULL, STEP "/user", "memory.peak", "5000000\n" },
	{ NULL, STEP "/user", "memory.swap.peak", "80000\n" },
	{ NULL, STEP "/user", "memory.events", EVENTS },
	{ 0 },
};
static const struct file v2_old[] = {
	/* 5.10: no peaks; no "user" */
	{ NULL, STEP, "memory.stat", STAT_V2 },
	{ NULL, STEP, "memory.current", "1700000\n" },
	{ NULL, STEP, "memory.swap.current", "70000\n" },
	{ NULL, STEP, "memory.events", EVENTS },
	{ 0 },
};
static const struct file v2_no_swap[] = {
	/* swapaccount=0 */
	{ NULL, STEP, "memory.stat", STAT_V2 },
	{ NULL, STEP, "memory.current", "1700000\n" },
	{ NULL, STEP, "memory.peak", "5000000\n" },
	{ NULL, STEP, "memory.events", EVENTS },
	{ 0 },
};
static const struct file v1[] = {
	{ "memory", V1, "memory.stat", STAT_V1 },
	{ "memory", V1, "memory.usage_in_bytes", "1700000\n" },
	{ "memory", V1, "memory.max_usage_in_bytes", "5000000\n" },
	{ "memory", V1, "memory.oom_control", CONTROL },
	{ "memory", V1 "/task_0", "memory.oom_control", CONTROL },
	{ "memory", V1 "/task_1", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n" },
	{ 0 },
};
static const struct file v1_old[] = {
	/* before 4.13 */
	{ "memory", V1, "memory.stat", "cache 1\nrss 2\ntotal_cache 600000\ntotal_rss 1000000\n" },
	{ "memory", V1, "memory.max_usage_in_bytes", "5000000\n" },
	{ "memory", V1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n" },
	{ 0 },
};
/* hybrid: v2 has the step's folder, and no controller in it */
static const struct file hybrid[] = {
	{ NULL, STEP, "cgroup.procs", "1\n" },
	{ "memory", V1, "memory.stat", STAT_V1 },
	{ "memory", V1, "memory.usage_in_bytes", "1700000\n" },
	{ "memory", V1, "memory.max_usage_in_bytes", "5000000\n" },
	{ "memory", V1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n" },
	{ 0 },
};
static const struct file nothing[] = { { NULL, STEP, "cpu.stat", "usage_usec 5\n" }, { 0 } };

static void grow(const struct file *f)
{
	char folder[PATH_MAX];

	for (; f->path; f++) {
		path_of(f->controller, f->path, "", folder, sizeof(folder));
		if (fileio_mkdir_p(folder, 0700, NULL) < 0 ||
		    !scratch_write(scratch_path(folder, f->name), f->text, strlen(f->text)))
			exit(99);
	}
}

static const struct {
	const char *name;
	const struct file *file;
	int rc; /* of what the kernel kept */
	uint64_t held, cache, swap, used;
	uint64_t peak, swap_peak, oom_kills;
} trees[] = {
	{ "v2 of Slurm, Linux 6.8", v2_new, 0, 1200000, 400000, 70000, 1700000, 5000000, 80000, 2 },
	{ "v2, Linux 5.10", v2_old, 0, 1200000, 400000, 70000, 1700000, UNKNOWN, UNKNOWN, 2 },
	{ "v2 without swap", v2_no_swap, 0, 1200000, 400000, UNKNOWN, 1700000, 5000000, UNKNOWN, 2 },
	{ "v1, with groups of tasks", v1, 0, 1200000, 400000, 70000, 1700000, 5000000, UNKNOWN, 2 },
	{ "v1, Linux 4.4", v1_old, 0, 1000000, 600000, UNKNOWN, UNKNOWN, 5000000, UNKNOWN, UNKNOWN },
	{ "hybrid", hybrid, 0, 1200000, 400000, 70000, 1700000, 5000000, UNKNOWN, 2 },
	{ "no memory controller", nothing, -ENOENT, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 0, 0, 0 },
};

static void test_kinds(size_t i)
{
	struct memuse_kinds p = { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN };
	struct memuse *m = NULL;

	if (memuse_open(paths_of(STEP, V1, ""), &m, NULL) == 0)
		is_int(memuse_read_kinds(m, &p), 0, "it is read");
	is_u64(p.held, trees[i].held, "working set");
	is_u64(p.page_cache, trees[i].cache, "page cache, without shared memory");
	is_u64(p.swap, trees[i].swap, "swap");
	is_u64(p.used, trees[i].used, "all that is charged");
	memuse_close(m);
}

static void test_record(size_t i)
{
	struct memuse_record r = { 0 };

	is_int(memuse_read_record(paths_of(STEP, V1, ""), &r), trees[i].rc, "what the kernel kept");
	is_u64(r.peak, trees[i].peak, "its peak");
	is_u64(r.swap_peak, trees[i].swap_peak, "of swap");
	is_u64(r.oom_kills, trees[i].oom_kills, "OOM kills");
}

/* --- the metrics ------------------------------------------------------------------------------ */

static struct ledger_slot slot_of(uint32_t step_id)
{
	struct ledger_slot s = { .id = { .job_id = 7, .step_id = step_id, .limit_mem_mb = 50 } };

	snprintf(s.cgroup.v2, sizeof(s.cgroup.v2), "%s", STEP);
	snprintf(s.cgroup.freezer, sizeof(s.cgroup.freezer), "%s", V1);
	return s;
}

static const struct ledger_memory seen = {
	.read_mono_ns = 100 * NSEC_PER_SEC,
	.held_bytes = 2 * MB,
	.cache_bytes = MB,
	.peak_bytes = 3 * MB,
	.swap_peak_bytes = 60000,
	.held_kib_s = 5000,
	.cache_kib_s = 700,
};

/* The value, or the negative reason why there is none. */
static int64_t value(const struct values *f, enum metric m)
{
	return values_has(f, m) ? (int64_t)f->value[m] : -(int64_t)f->reason[m];
}

static void test_fill(size_t i)
{
	const bool none = trees[i].rc < 0;
	struct ledger_slot s = slot_of(0);
	struct values f;

	values_init(&f);
	stepmemory_fill(&s, &seen, 103 * NSEC_PER_SEC, &f);
	is_int(value(&f, METRIC_MEMORY_PEAK), 3 * MB, "peak as sampled");
	is_int(value(&f, METRIC_MEMORY_TIME), 5000 + 3 * 2 * 1024, "by time, up to the end");
	is_int(value(&f, METRIC_CACHE_TIME), 700 + 3 * 1024, "page cache by time");
	is_int(value(&f, METRIC_SWAP_PEAK),
	       none || trees[i].swap_peak == UNKNOWN ? 60000 : (int64_t)trees[i].swap_peak,
	       "swap: the kernel's peak, else as sampled");
	is_int(value(&f, METRIC_MEMORY_KERNEL_PEAK),
	       none			? -REASON_NO_MEMORY :
	       trees[i].peak == UNKNOWN ? -REASON_OLD_KERNEL :
					  (int64_t)trees[i].peak,
	       "kernel's peak, or why not");
	is_int(value(&f, METRIC_OOM_KILLS),
	       none			     ? -REASON_NO_MEMORY :
	       trees[i].oom_kills == UNKNOWN ? -REASON_OLD_KERNEL :
					       (int64_t)trees[i].oom_kills,
	       "OOM kills, or why not");
	is_int(value(&f, METRIC_MEMORY_ALLOCATED), 50 * MB, "allocated");
}

static void test_unseen(void)
{
	struct ledger_slot s = slot_of(0);
	struct ledger_memory empty = seen;
	struct values f;

	grow(v2_new);
	s.id.limit_mem_mb = 0;
	values_init(&f);
	stepmemory_fill(&s, NULL, 1, &f);
	is_int(value(&f, METRIC_MEMORY_PEAK), -REASON_NOT_MEASURED,
	       "too short to be sampled: unknown, not 0");
	is_int(value(&f, METRIC_MEMORY_TIME), -REASON_NOT_MEASURED, "so is its mean");
	/* one reading, before the tasks began or after they ended */
	empty.peak_bytes = empty.held_kib_s = empty.held_bytes = empty.cache_kib_s = empty.cache_bytes = 0;
	stepmemory_fill(&s, &empty, 103 * NSEC_PER_SEC, &f);
	is_int(value(&f, METRIC_MEMORY_PEAK), -REASON_NOT_MEASURED,
	       "read when it had no tasks: unknown, too");
	is_int(value(&f, METRIC_MEMORY_TIME), -REASON_NOT_MEASURED, "so is its mean");
	is_int(value(&f, METRIC_CACHE_TIME), -REASON_NOT_MEASURED, "and that of its page cache");
	is_int(value(&f, METRIC_MEMORY_KERNEL_PEAK), 5000000, "the kernel knows its peak");
	is_int(value(&f, METRIC_MEMORY_ALLOCATED), -REASON_NOT_MEASURED,
	       "where Slurm allocates none: unknown");
	scratch_clear(dir);
}

/* The extern step has the kernel's peaks of the job's folder, and so of all its steps together. */
static void test_extern(void)
{
	static const struct file v2[] = {
		{ NULL, "/job_7", "memory.events", "oom_kill 9\n" },
		{ NULL, "/job_7", "memory.peak", "7000000\n" },
		{ NULL, "/job_7", "memory.swap.peak", "90000\n" },
		{ 0 },
	};
	static const struct file of_v1[] = {
		{ "memory", "/slurm/uid_1000/job_7", "memory.max_usage_in_bytes", "7000000\n" },
		{ "memory", "/slurm/uid_1000/job_7", "memory.oom_control", CONTROL },
		{ 0 },
	};
	struct ledger_slot s = slot_of(LEDGER_STEP_EXTERN);
	struct values f;

	grow(v2_new);
	grow(v2);
	values_init(&f);
	stepmemory_fill(&s, &seen, 0, &f);
	is_int(value(&f, METRIC_MEMORY_KERNEL_PEAK), 7000000, "v2: the job's peak");
	is_int(value(&f, METRIC_SWAP_PEAK), 90000, "and of swap");
	is_int(value(&f, METRIC_OOM_KILLS), 2, "but its own kills: the steps' are added to them");
	scratch_clear(dir);
	grow(v1);
	grow(of_v1);
	values_init(&f);
	stepmemory_fill(&s, &seen, 0, &f);
	is_int(value(&f, METRIC_MEMORY_KERNEL_PEAK), 7000000, "v1: the same");
	is_int(value(&f, METRIC_OOM_KILLS), 2, "of itself and its tasks");
	scratch_clear(dir);
}

int main(void)
{
	size_t i;

	alarm(60);
	if (!mkdtemp(dir))
		return 99;
	for (i = 0; i < ARRAY_SIZE(trees); i++) {
		diag("%s", trees[i].name);
		grow(trees[i].file);
		test_kinds(i);
		test_record(i);
		test_fill(i);
		scratch_clear(dir);
	}
	test_unseen();
	test_extern();
	(void)rmdir(dir);
	return done_testing();
}
