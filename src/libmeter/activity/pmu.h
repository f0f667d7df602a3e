/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pmu.h - the hardware counters of CPUs that tell how much work a cgroup did.
 */
#ifndef CEEMS_PMU_H
#define CEEMS_PMU_H

#include <stdint.h>

#include "src/libmeter/sensor/perf_event.h"

/* What tells how much work was done; cycles lead, the others are counted beside them. */
enum event {
	EVENT_CYCLES, /* unhalted, so that frequency is in them */
	EVENT_INSTRUCTIONS,
	EVENT_LLC_MISSES,
	EVENT_N
};

/*
 * As the kernel writes it (PERF_FORMAT_GROUP and both times): how long the group should have
 * counted and how long it had the PMU, and one value per member in the order they were opened.
 */
struct pmu_reading {
	uint64_t nr;
	uint64_t enabled_ns;
	uint64_t running_ns;
	uint64_t value[EVENT_N];
};

struct pmu {
	const struct perf_event_ops *ops;
	void *ctx;
	/*
	 * A descriptor of the cgroup of a step, by its path in v2 or, "" for none, in v1. -ENOENT: the step
	 * has no cgroup in which counters can be told apart.
	 */
	int (*open_cgroup)(void *ctx, const char *v2, const char *v1);
	struct {
		uint32_t type; /* perf_event_attr's */
		uint64_t config;
	} event[EVENT_N];
};

/* The kernel's, with the generic hardware events. */
extern const struct pmu pmu_hardware;

/*
 * A descriptor that counts EVENT on CPU for CGROUP (-1: for everything there), as a member of LEADER's
 * group or (-1) as a leader. -ENODEV: the CPU is offline; -ENOENT, -EOPNOTSUPP: there is no such counter.
 */
int pmu_open(const struct pmu *pmu, int cgroup, uint32_t cpu, enum event event, int leader);

/*
 * Reads a group. 0 or -errno; -EIO: the CPU went offline. RET has less than EVENT_N values where the
 * group was torn.
 */
int pmu_read(const struct pmu *pmu, int leader, struct pmu_reading *ret);

#endif
