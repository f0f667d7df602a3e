/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pmu.h - the hardware counters of CPUs, as perf_event_open(2) gives them for a cgroup. Behind an
 * ops table, so that tests and simulations can play a machine that has them.
 */
#ifndef CEEMS_PMU_H
#define CEEMS_PMU_H

#include <stdint.h>

/* What tells how much work was done; cycles lead, the others are counted beside them. */
enum event {
	EVENT_CYCLES, /* unhalted, so that frequency is in them */
	EVENT_INSTRUCTIONS,
	EVENT_LLC_MISSES,
	EVENT_N
};
const char *event_name(enum event e); /* "cycles", "instructions", "LLC misses" */

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

struct pmu_ops {
	/*
	 * A handle on the cgroup of a step, by its path in v2 or, "" for none, in v1. -ENOENT:
	 * it has none in which counters can be told apart.
	 */
	int (*cgroup)(void *ctx, const char *v2, const char *v1);
	/*
	 * A handle that counts EVENT on CPU for CGROUP (-1: for everything there), as a member of
	 * LEADER's group or (-1) as a leader. -ENODEV: the CPU is offline; -ENOENT, -EOPNOTSUPP:
	 * there is no such counter.
	 */
	int (*open)(void *ctx, int cgroup, uint32_t cpu, enum event event, int leader);
	/* 0 or -errno; less than NR values where the group was torn. */
	int (*read)(void *ctx, int leader, struct pmu_reading *ret);
	void (*close)(void *ctx, int handle);
};

/* The kernel's; CTX is a table of what to count. Handles are file descriptors. */
extern const struct pmu_ops pmu_kernel;

struct pmu_kernel_event {
	uint32_t type; /* perf_event_attr's */
	uint64_t config;
};
/* The generic events, which the kernel knows how to count on the machine. */
extern struct pmu_kernel_event pmu_kernel_hardware[EVENT_N];

#endif
