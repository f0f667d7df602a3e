/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "played.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/libmeter/activity/cpuset.h"
#include "src/libmeter/activity/cputime.h"
#include "src/libmeter/activity/memuse.h"
#include "src/libnode/weights.h"
#include "src/libutil/clock.h"

/* The machine's uptime when the simulation begins. */
#define UPTIME_NS (1000 * NSEC_PER_SEC)

static const struct physics *physics;
static const struct scenario *scenario;
static bool has_counters;

void played_set(const struct physics *p, const struct scenario *s)
{
	physics = p;
	scenario = s;
}

void played_set_counters(bool has)
{
	has_counters = has;
}

/* -ENOENT: no cgroup of a step. */
static int find_step(const char *path, unsigned int *ret)
{
	if (!path || sscanf(path, "/step_%u", ret) != 1 || *ret >= scenario->nsteps)
		return -ENOENT;
	return 0;
}

/* --- the clock -------------------------------------------------------------------------- */

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	if (!physics || (id != CLOCK_MONOTONIC && id != CLOCK_REALTIME))
		return __real_clock_gettime(id, ret);
	*ret = clock_ns_to_timespec(UPTIME_NS + physics->now_ns);
	return 0;
}

/* --- a step's cgroup -------------------------------------------------------------------- */

struct cputime {
	unsigned int step;
};

int __wrap_cputime_open(const struct cgroup_paths *paths, struct cputime **ret, struct errmsg *err);
int __wrap_cputime_read(struct cputime *c, uint64_t *ret_busy_ns);
void __wrap_cputime_close(struct cputime *c);

int __wrap_cputime_open(const struct cgroup_paths *paths, struct cputime **ret, struct errmsg *err)
{
	unsigned int step;
	struct cputime *c;

	if (find_step(paths->v2, &step) < 0)
		return errmsg_set(err, -ENOENT, "no such step");
	c = calloc(1, sizeof(*c));
	if (!c)
		return errmsg_errno(err, -ENOMEM, "CPU time");
	c->step = step;
	*ret = c;
	return 0;
}

int __wrap_cputime_read(struct cputime *c, uint64_t *ret_busy_ns)
{
	*ret_busy_ns = physics->step_ns[c->step];
	return 0;
}

void __wrap_cputime_close(struct cputime *c)
{
	free(c);
}

struct memuse {
	uint64_t bytes;
};

int __wrap_memuse_open(const struct cgroup_paths *paths, struct memuse **ret, struct errmsg *err);
int __wrap_memuse_read(struct memuse *m, uint64_t *ret_bytes);
int __wrap_memuse_read_kinds(struct memuse *m, struct memuse_kinds *ret);
bool __wrap_memuse_opens_files(const struct memuse *m);
void __wrap_memuse_close(struct memuse *m);

int __wrap_memuse_open(const struct cgroup_paths *paths, struct memuse **ret, struct errmsg *err)
{
	unsigned int step;
	struct memuse *m;

	if (find_step(paths->v2, &step) < 0)
		return errmsg_set(err, -ENOENT, "no such step");
	m = calloc(1, sizeof(*m));
	if (!m)
		return errmsg_errno(err, -ENOMEM, "memory");
	m->bytes = scenario->step[step].used_mb << 20;
	*ret = m;
	return 0;
}

int __wrap_memuse_read(struct memuse *m, uint64_t *ret_bytes)
{
	*ret_bytes = m->bytes;
	return 0;
}

int __wrap_memuse_read_kinds(struct memuse *m, struct memuse_kinds *ret)
{
	memset(ret, 0xff, sizeof(*ret)); /* not known */
	ret->held = m->bytes;
	return 0;
}

bool __wrap_memuse_opens_files(const struct memuse *m)
{
	(void)m;
	return false;
}

void __wrap_memuse_close(struct memuse *m)
{
	free(m);
}

int __wrap_cpuset_of_step(const struct cgroup_paths *paths, uint32_t ncpus, uint32_t *ret, size_t *ret_n);

int __wrap_cpuset_of_step(const struct cgroup_paths *paths, uint32_t ncpus, uint32_t *ret, size_t *ret_n)
{
	const struct step_plan *plan;
	unsigned int step;
	size_t i;

	(void)ncpus;
	if (find_step(paths->v2, &step) < 0)
		return -ENOENT;
	plan = &scenario->step[step];
	for (i = 0; i < plan->ncpus; i++)
		ret[i] = plan->cpu[i];
	*ret_n = plan->ncpus;
	return 0;
}

/* --- hardware counters ------------------------------------------------------------------ */

/*
 * A handle encodes what it counts, so no table is kept. A cgroup's handle is its step, -1 for the whole node;
 * a counter's is ((cgroup + 1) x CPUS + cpu) x EVENT_N + event.
 */
static int played_open_cgroup(void *ctx, const struct cgroup_paths *paths)
{
	unsigned int step;

	(void)ctx;
	return find_step(paths->v2, &step) < 0 ? -ENOENT : (int)step;
}

static int played_open(void *ctx, const struct perf_event_attr *attr, pid_t cgroup, int cpu, int group,
		       unsigned long flags)
{
	(void)ctx;
	(void)group;
	(void)flags;
	return cpu < CPUS ? ((cgroup + 1) * CPUS + cpu) * EVENT_N + (int)attr->config : -ENODEV;
}

static void add_step_counts(unsigned int step, unsigned int cpu, struct pmu_reading *to)
{
	unsigned int e;

	to->enabled_ns += physics->ran_ns[step][cpu];
	for (e = 0; e < EVENT_N; e++)
		to->value[e] += physics->count[step][cpu][e];
}

/* All three events are always there, in their order. */
static ssize_t played_read(void *ctx, int leader, void *buf, size_t size)
{
	struct pmu_reading now = { .nr = EVENT_N };
	unsigned int group = (unsigned int)leader / EVENT_N;
	unsigned int cpu = group % CPUS;
	unsigned int cgroup = group / CPUS;
	unsigned int i;

	(void)ctx;
	if (cgroup)
		add_step_counts(cgroup - 1, cpu, &now);
	for (i = 0; !cgroup && i < scenario->nsteps; i++)
		add_step_counts(i, cpu, &now);
	if (!cgroup)
		add_step_counts(SYSTEM, cpu, &now);
	now.running_ns = now.enabled_ns;
	memcpy(buf, &now, size);
	return (ssize_t)size;
}

static void played_close(void *ctx, int handle)
{
	(void)ctx;
	(void)handle;
}

static const struct perf_event_ops played_ops = {
	.open = played_open,
	.read = played_read,
	.close = played_close,
};

/* A counter's config is its number. */
static const struct pmu played_pmu = {
	.ops = &played_ops,
	.open_cgroup = played_open_cgroup,
	.event = { { 0, EVENT_CYCLES }, { 0, EVENT_INSTRUCTIONS }, { 0, EVENT_LLC_MISSES } },
};

unsigned int __wrap_cgcounters_max_fds(void);

/* Handles are not descriptors: the test's own limit of open files must not matter. */
unsigned int __wrap_cgcounters_max_fds(void)
{
	return CPUS * EVENT_N * (MAX_STEPS + 1);
}

int __real_weights_create(const struct weights_setup *setup, struct weights **ret);
int __wrap_weights_create(const struct weights_setup *setup, struct weights **ret);

int __wrap_weights_create(const struct weights_setup *setup, struct weights **ret)
{
	struct weights_setup played = *setup;

	played.pmu = has_counters ? &played_pmu : NULL;
	return __real_weights_create(&played, ret);
}
