/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/pmu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/libmeter/activity/cgmount.h"

struct pmu_kernel_event pmu_kernel_hardware[EVENT_N] = {
	[EVENT_CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[EVENT_INSTRUCTIONS] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	/* the last level's, where the kernel knows the machine */
	[EVENT_LLC_MISSES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
};

const char *event_name(enum event e)
{
	static const char *const names[EVENT_N] = {
		[EVENT_CYCLES] = "cycles",
		[EVENT_INSTRUCTIONS] = "instructions",
		[EVENT_LLC_MISSES] = "LLC misses",
	};

	return names[e];
}

/*
 * On v2 every cgroup has counters. On v1 only those that somebody made in the perf_event hierarchy,
 * which Slurm does not: there it takes a site that mounts it together with one of Slurm's. Where it is
 * mounted it is not on v2, and so comes first: a step on v1 has a v2 cgroup, too (stepgroup.h).
 */
static int open_cgroup(void *ctx, const char *v2, const char *v1)
{
	int fd = cgmount_open_step("perf_event", v1, ".");

	(void)ctx;
	return fd == -ENOENT ? cgmount_open_step(NULL, v2, ".") : fd;
}

static int open_event(void *ctx, int cgroup, uint32_t cpu, enum event event, int leader)
{
	const struct pmu_kernel_event *what = ctx;
	struct perf_event_attr attr = {
		.type = what[event].type,
		.config = what[event].config,
		.size = sizeof(attr),
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	unsigned long flags = PERF_FLAG_FD_CLOEXEC | (cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0);
	long fd = syscall(SYS_perf_event_open, &attr, cgroup, cpu, leader, flags);

	return fd < 0 ? -errno : (int)fd;
}

/* Of an event whose CPU went away it is empty, or its group falls apart and NR is 1. */
static int read_group(void *ctx, int leader, struct pmu_reading *ret)
{
	ssize_t n = read(leader, ret, sizeof(*ret));

	(void)ctx;
	if (n < 0)
		return -errno;
	return n < (ssize_t)(3 * sizeof(uint64_t)) ? -EIO : 0;
}

static void close_handle(void *ctx, int handle)
{
	(void)ctx;
	(void)close(handle);
}

const struct pmu_ops pmu_kernel = {
	.cgroup = open_cgroup,
	.open = open_event,
	.read = read_group,
	.close = close_handle,
};
