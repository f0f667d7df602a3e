/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/pmu.h"

#include <errno.h>

#include "src/libmeter/activity/cgmount.h"

/*
 * On v2 every cgroup has counters. On v1 only those that somebody made in the perf_event hierarchy,
 * which Slurm does not: there it takes a site that mounts it together with one of Slurm's. Where it is
 * mounted it is not on v2, and so comes first: a step on v1 has a v2 cgroup, too (stepgroup.h).
 */
static int pmu_kernel_open_cgroup(void *ctx, const char *v2, const char *v1)
{
	int fd = cgmount_open_step("perf_event", v1, ".");

	(void)ctx;
	return fd == -ENOENT ? cgmount_open_step(NULL, v2, ".") : fd;
}

const struct pmu pmu_hardware = {
	.ops = &perf_event_kernel,
	.open_cgroup = pmu_kernel_open_cgroup,
	.event = {
		[EVENT_CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
		[EVENT_INSTRUCTIONS] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
		/* the last level's, where the kernel knows the machine */
		[EVENT_LLC_MISSES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	},
};

int pmu_open(const struct pmu *pmu, int cgroup, uint32_t cpu, enum event event, int leader)
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

/* Of an event whose CPU went away the read is empty, or its group falls apart and NR is 1. */
int pmu_read(const struct pmu *pmu, int leader, struct pmu_reading *ret)
{
	ssize_t n = pmu->ops->read(pmu->ctx, leader, ret, sizeof(*ret));

	if (n < 0)
		return (int)n;
	return n < (ssize_t)(3 * sizeof(uint64_t)) ? -EIO : 0;
}
