/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_pmu.h - a fake machine with hardware counters: four CPUs, cgroups named "/step_N", counts
 * that the test sets, and the ways in which a real one fails.
 */
#ifndef CEEMS_FAKE_PMU_H
#define CEEMS_FAKE_PMU_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "src/libmeter/activity/cgcounters.h"

#define FAKE_CPUS 4
#define FAKE_CGROUPS 8 /* the last stands for everything */
#define FAKE_ALL (FAKE_CGROUPS - 1)
#define FAKE_HANDLES 512

struct fake_pmu {
	struct pmu pmu;
	uint64_t count[FAKE_CGROUPS][FAKE_CPUS][EVENT_N];
	uint64_t enabled_ns[FAKE_CGROUPS][FAKE_CPUS];
	uint64_t running_ns[FAKE_CGROUPS][FAKE_CPUS];
	bool is_offline[FAKE_CPUS];
	bool is_torn[FAKE_CPUS]; /* it was offline: groups are */
	bool is_gone[FAKE_CGROUPS];
	int open_fails[EVENT_N];
	int fails_after; /* -EMFILE when so many handles are open; 0: never */
	struct {
		bool is_open, is_cgroup;
		int cgroup;
		uint32_t cpu;
		enum event event;
		int leader;
	} handle[FAKE_HANDLES];
	int nopen;
	unsigned int reads[FAKE_CPUS];
};

static int fake_new_handle(struct fake_pmu *f)
{
	int h;

	if (f->fails_after && f->nopen >= f->fails_after)
		return -EMFILE;
	for (h = 0; h < FAKE_HANDLES && f->handle[h].is_open; h++)
		;
	if (h == FAKE_HANDLES)
		return -EMFILE;
	f->nopen++;
	f->handle[h].is_open = true;
	return h;
}

static int fake_cgroup(void *ctx, const struct cgroup_paths *paths)
{
	struct fake_pmu *f = ctx;
	unsigned int cgroup;
	int h;

	if (sscanf(paths->v2[0] ? paths->v2 : paths->cpuacct, "/step_%u", &cgroup) != 1 ||
	    cgroup >= FAKE_ALL || f->is_gone[cgroup])
		return -ENOENT;
	h = fake_new_handle(f);
	if (h >= 0) {
		f->handle[h].is_cgroup = true;
		f->handle[h].cgroup = (int)cgroup;
	}
	return h;
}

static int fake_open(void *ctx, const struct perf_event_attr *attr, pid_t cgroup, int on_cpu, int leader,
		     unsigned long flags)
{
	enum event event = (enum event)attr->config;
	uint32_t cpu = (uint32_t)on_cpu;
	struct fake_pmu *f = ctx;
	int h;

	(void)flags;

	if (f->open_fails[event])
		return f->open_fails[event];
	if (cpu >= FAKE_CPUS || f->is_offline[cpu])
		return -ENODEV;
	if (cgroup >= 0 && !(f->handle[cgroup].is_open && f->handle[cgroup].is_cgroup))
		return -EBADF;
	h = fake_new_handle(f);
	if (h < 0)
		return h;
	f->is_torn[cpu] = false;
	f->handle[h].is_cgroup = false;
	f->handle[h].cgroup = cgroup < 0 ? FAKE_ALL : f->handle[cgroup].cgroup;
	f->handle[h].cpu = cpu;
	f->handle[h].event = event;
	f->handle[h].leader = leader;
	return h;
}

static ssize_t fake_read(void *ctx, int leader, void *buf, size_t size)
{
	struct pmu_reading now = { 0 }, *ret = &now;
	struct fake_pmu *f = ctx;
	int cgroup = f->handle[leader].cgroup;
	uint32_t cpu = f->handle[leader].cpu;
	int h;

	if (!f->handle[leader].is_open || f->is_offline[cpu])
		return -EIO;
	f->reads[cpu]++;
	ret->nr = 1;
	ret->enabled_ns = f->enabled_ns[cgroup][cpu];
	ret->running_ns = f->running_ns[cgroup][cpu];
	ret->value[0] = f->count[cgroup][cpu][f->handle[leader].event];
	for (h = 0; h < FAKE_HANDLES && !f->is_torn[cpu]; h++)
		if (f->handle[h].is_open && !f->handle[h].is_cgroup && f->handle[h].leader == leader)
			ret->value[ret->nr++] = f->count[cgroup][cpu][f->handle[h].event];
	memcpy(buf, &now, size);
	return (ssize_t)size;
}

static void fake_close(void *ctx, int handle)
{
	struct fake_pmu *f = ctx;

	f->nopen -= f->handle[handle].is_open;
	memset(&f->handle[handle], 0, sizeof(f->handle[handle]));
}

static const struct perf_event_ops fake_pmu_ops = {
	.open = fake_open,
	.read = fake_read,
	.close = fake_close,
};

/* F is a machine, and what counts on it; a counter's config is its number. */
static inline const struct pmu *fake_pmu(struct fake_pmu *f)
{
	f->pmu = (struct pmu){
		.ops = &fake_pmu_ops,
		.ctx = f,
		.open_cgroup = fake_cgroup,
		.event = { { 0, EVENT_CYCLES }, { 0, EVENT_INSTRUCTIONS }, { 0, EVENT_LLC_MISSES } },
	};
	return &f->pmu;
}

/* CGROUP ran for NS on CPU; the counters had RUNNING_NS of it. Everything sees it too. */
static inline void fake_pmu_run(struct fake_pmu *f, int cgroup, uint32_t cpu, uint64_t ns,
				uint64_t running_ns, const uint64_t events[EVENT_N])
{
	int to[2] = { cgroup, FAKE_ALL };
	int i, e;

	for (i = 0; i < (cgroup == FAKE_ALL ? 1 : 2); i++) {
		f->enabled_ns[to[i]][cpu] += ns;
		f->running_ns[to[i]][cpu] += running_ns;
		for (e = 0; e < EVENT_N; e++)
			f->count[to[i]][cpu][e] += events[e];
	}
}

#endif
