/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/cgcounters.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libutil/muldiv.h"

#define MAX_FDS 16384

struct cgcounters {
	const struct pmu *pmu;
	enum event event[EVENT_N]; /* the events that this machine has, in the order of a group */
	unsigned int nevents;
	unsigned int fds, max_fds;
};

struct cgcounters_set {
	struct cgcounters *c;
	int cgroup; /* kept to open counters on CPUs that are online again; -1: count all tasks */
	size_t ncpus;
	struct cgcounters_cpu cpu[];
};

/* --- one counter ------------------------------------------------------------------------------ */

/*
 * Opens the cgroup for counters. On v2, every cgroup can have them. On v1, the step needs a folder
 * in the perf_event hierarchy. Slurm makes one only if the site mounts perf_event together with a
 * hierarchy that Slurm uses. If perf_event is on v1, v2 does not have it. So v1 is tried first,
 * since a step on v1 has a v2 cgroup, too (stepgroup.h).
 */
static int pmu_kernel_open_cgroup(void *ctx, const struct cgroup_paths *paths)
{
	int fd = cgmount_open_step("perf_event", cgroup_paths_v1(paths), ".");

	(void)ctx;
	return fd == -ENOENT ? cgmount_open_step(NULL, paths->v2, ".") : fd;
}

const struct pmu pmu_hardware = {
	.ops = &perf_event_kernel,
	.open_cgroup = pmu_kernel_open_cgroup,
	.event = {
		[EVENT_CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
		[EVENT_INSTRUCTIONS] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
		/* misses of the last level, if the kernel knows this CPU */
		[EVENT_LLC_MISSES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	},
};

/*
 * Opens a descriptor that counts EVENT on CPU for CGROUP (-1: for all tasks), as a member of
 * LEADER's group (-1: as a leader). -ENODEV: the CPU is offline. -ENOENT, -EOPNOTSUPP: there is no
 * such counter.
 */
static int pmu_open(const struct pmu *pmu, int cgroup, uint32_t cpu, enum event event, int leader)
{
	struct perf_event_attr attr = {
		.type = pmu->event[event].type,
		.config = pmu->event[event].config,
		.size = sizeof(attr),
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return pmu->ops->open(pmu->ctx, &attr, cgroup, (int)cpu, leader,
			      cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0);
}

/* --- the machine ------------------------------------------------------------------------ */

unsigned int cgcounters_max_fds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 2 > MAX_FDS)
		return MAX_FDS;
	return (unsigned int)(limit.rlim_cur / 2);
}

static int create_failed(int rc, struct errmsg *err)
{
	if (rc == -EACCES || rc == -EPERM)
		return errmsg_errno(err, -EACCES, "hardware counters");
	if (rc == -ENOENT || rc == -EOPNOTSUPP || rc == -ENOSYS || rc == -ENODEV)
		return errmsg_set(err, -ENODEV, "this machine shows no hardware counters");
	return errmsg_errno(err, rc, "hardware counters");
}

int cgcounters_create(const struct pmu *pmu, uint32_t cpu, unsigned int max_fds, struct cgcounters **ret,
		      struct errmsg *err)
{
	int leader = pmu_open(pmu, -1, cpu, EVENT_CYCLES, -1);
	struct cgcounters *c;
	unsigned int e;

	if (leader < 0)
		return create_failed(leader, err);
	c = calloc(1, sizeof(*c));
	if (!c) {
		pmu->ops->close(pmu->ctx, leader);
		return errmsg_errno(err, -ENOMEM, "hardware counters");
	}
	*c = (struct cgcounters){ .pmu = pmu, .max_fds = max_fds };
	c->event[c->nevents++] = EVENT_CYCLES;
	for (e = EVENT_CYCLES + 1; e < EVENT_N; e++) {
		int handle = pmu_open(pmu, -1, cpu, (enum event)e, leader);

		if (handle < 0)
			continue;
		c->event[c->nevents++] = (enum event)e;
		pmu->ops->close(pmu->ctx, handle);
	}
	pmu->ops->close(pmu->ctx, leader);
	*ret = c;
	return 0;
}

void cgcounters_destroy(struct cgcounters *c)
{
	free(c);
}

bool cgcounters_has(const struct cgcounters *c, enum event e)
{
	unsigned int i;

	for (i = 0; i < c->nevents; i++)
		if (c->event[i] == e)
			return true;
	return false;
}

/* --- one CPU ---------------------------------------------------------------------------- */

static void close_cpu(struct cgcounters_set *set, struct cgcounters_cpu *cpu)
{
	struct cgcounters *c = set->c;
	unsigned int i = c->nevents;

	while (i--) { /* close the leader last: without it, the group would fall apart */
		if (cpu->handle[i] < 0)
			continue;
		c->pmu->ops->close(c->pmu->ctx, cpu->handle[i]);
		cpu->handle[i] = -1;
		c->fds--;
	}
}

static int open_handles(struct cgcounters_set *set, struct cgcounters_cpu *cpu)
{
	struct cgcounters *c = set->c;
	unsigned int i;

	if (c->fds + c->nevents > c->max_fds)
		return -EMFILE;
	for (i = 0; i < c->nevents; i++) {
		int leader = i ? cpu->handle[0] : -1;
		int handle = pmu_open(c->pmu, set->cgroup, cpu->cpu, c->event[i], leader);

		if (handle < 0)
			return handle;
		cpu->handle[i] = handle;
		c->fds++;
	}
	return 0;
}

/*
 * Reads the counters of one CPU. -EIO: the CPU went offline; the read is then empty, or the group
 * fell apart and NR is 1.
 */
static int read_cpu(const struct cgcounters_set *set, const struct cgcounters_cpu *cpu,
		    struct pmu_reading *ret)
{
	const struct cgcounters *c = set->c;
	ssize_t n = c->pmu->ops->read(c->pmu->ctx, cpu->handle[0], ret, sizeof(*ret));

	if (n < 0)
		return (int)n;
	return n < (ssize_t)(3 * sizeof(uint64_t)) || ret->nr != c->nevents ? -EIO : 0;
}

static int open_cpu(struct cgcounters_set *set, struct cgcounters_cpu *cpu)
{
	int rc = open_handles(set, cpu);

	if (rc == 0)
		rc = read_cpu(set, cpu, &cpu->base);
	if (rc < 0)
		close_cpu(set, cpu);
	return rc;
}

/*
 * Computes the counts since the last reading. If the events had the PMU for only a part of that time, the
 * counts are scaled up. False: other programs had the counters all the time, so the counts are unknown, not
 * 0.
 */
static bool cgcounters_count(const struct cgcounters *c, struct cgcounters_cpu *cpu,
			     const struct pmu_reading *now)
{
	uint64_t enabled_ns = now->enabled_ns - cpu->base.enabled_ns;
	uint64_t running_ns = now->running_ns - cpu->base.running_ns;
	bool went_back = now->enabled_ns < cpu->base.enabled_ns || now->running_ns < cpu->base.running_ns;
	unsigned int i;

	for (i = 0; i < c->nevents && running_ns && !went_back; i++)
		if (now->value[i] > cpu->base.value[i])
			cpu->events[c->event[i]] = muldiv(now->value[i] - cpu->base.value[i], enabled_ns,
							  running_ns);
	cpu->base = *now;
	return !went_back && (running_ns || !enabled_ns);
}

/* --- sets ------------------------------------------------------------------------------- */

static int open_cpus(struct cgcounters_set *set)
{
	bool any = false;
	size_t i;

	for (i = 0; i < set->ncpus; i++) {
		int rc = open_cpu(set, &set->cpu[i]);

		set->cpu[i].is_lost = rc < 0;
		if (rc < 0 && rc != -ENODEV && rc != -ENXIO)
			return rc;
		any |= rc == 0;
	}
	return any ? 0 : -ENODEV;
}

int cgcounters_open(struct cgcounters *c, const struct cgroup_paths *paths, const uint32_t *cpu, size_t n,
		    struct cgcounters_set **ret)
{
	struct cgcounters_set *set = calloc(1, sizeof(*set) + n * sizeof(set->cpu[0]));
	unsigned int e;
	size_t i;
	int rc = 0;

	if (!set)
		return -ENOMEM;
	set->c = c;
	set->cgroup = -1;
	set->ncpus = n;
	for (i = 0; i < n; i++) {
		set->cpu[i].cpu = cpu[i];
		for (e = 0; e < EVENT_N; e++)
			set->cpu[i].handle[e] = -1;
	}
	if (paths) {
		rc = c->pmu->open_cgroup(c->pmu->ctx, paths);
		set->cgroup = rc;
		c->fds += rc >= 0;
	}
	if (rc >= 0)
		rc = open_cpus(set);
	if (rc < 0) {
		cgcounters_close(set);
		return rc;
	}
	*ret = set;
	return 0;
}

void cgcounters_close(struct cgcounters_set *set)
{
	size_t i;

	if (!set)
		return;
	for (i = 0; i < set->ncpus; i++)
		close_cpu(set, &set->cpu[i]);
	if (set->cgroup >= 0) {
		set->c->pmu->ops->close(set->c->pmu->ctx, set->cgroup);
		set->c->fds--;
	}
	free(set);
}

const struct cgcounters_cpu *cgcounters_read(struct cgcounters_set *set, const bool *busy)
{
	size_t i;

	for (i = 0; i < set->ncpus; i++) {
		struct cgcounters_cpu *cpu = &set->cpu[i];
		struct pmu_reading now = { 0 };

		memset(cpu->events, 0, sizeof(cpu->events));
		if (busy && !busy[cpu->cpu])
			continue;
		cpu->is_lost = true;
		if (cpu->handle[0] < 0) {
			(void)open_cpu(set, cpu); /* the CPU is online again: count from here on */
		} else if (read_cpu(set, cpu, &now) < 0) {
			close_cpu(set, cpu);
		} else {
			cpu->is_lost = !cgcounters_count(set->c, cpu, &now);
		}
	}
	return set->cpu;
}

size_t cgcounters_ncpus(const struct cgcounters_set *set)
{
	return set->ncpus;
}
