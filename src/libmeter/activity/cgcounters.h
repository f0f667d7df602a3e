/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgcounters.h - hardware counters by cgroup and CPU: those of a step on each CPU that the step may
 * use, and those of all tasks. No counter is attached to a process, so short processes are counted, too.
 */
#ifndef CEEMS_CGCOUNTERS_H
#define CEEMS_CGCOUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/sensor/perf_event.h"
#include "src/libutil/errmsg.h"

/* What tells how much work was done; cycles lead, the others are counted beside them. */
enum event {
	EVENT_CYCLES, /* unhalted, so that frequency is in them */
	EVENT_INSTRUCTIONS,
	EVENT_LLC_MISSES,
	EVENT_N
};

/*
 * As the kernel writes it (PERF_FORMAT_GROUP and both times). enabled_ns is how long the group
 * should have counted, running_ns how long it had the PMU. One value per member follows, in the
 * order of opening.
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
	 * Opens the cgroup of a step by its path in v2, or in v1 where V2 is "". Returns a
	 * descriptor. -ENOENT: the step has no cgroup of its own for counters.
	 */
	int (*open_cgroup)(void *ctx, const char *v2, const char *v1);
	struct {
		uint32_t type; /* perf_event_attr's */
		uint64_t config;
	} event[EVENT_N];
};

/* The kernel's, with the generic hardware events. */
extern const struct pmu pmu_hardware;

/* Knows which counters this machine has, and how many more descriptors may be opened. */
struct cgcounters;

/*
 * Tries the counters of CPU. PMU has to outlive the result. MAX_FDS bounds the descriptors of all
 * sets together. -ENODEV: this machine has no cycle counter, with the reason. -EACCES: we may not
 * use it. Instructions and misses may be missing: cgcounters_has().
 */
int cgcounters_create(const struct pmu *pmu, uint32_t cpu, unsigned int max_fds,
		      struct cgcounters **ret, struct errmsg *err);
/* After all of its sets. NULL: no-op. */
void cgcounters_destroy(struct cgcounters *c);
bool cgcounters_has(const struct cgcounters *c, enum event e);

/*
 * How many descriptors a process may spend on counters. Half of its limit, since it needs the other
 * half for its own work. At most 16,384, since each takes a kilobyte of kernel memory or more.
 */
unsigned int cgcounters_max_fds(void);

/* The counters of one cgroup, or of everything. */
struct cgcounters_set;

struct cgcounters_cpu {
	uint32_t cpu;
	bool is_lost;		  /* it did not count: it is or was offline, or others had the counters */
	uint64_t events[EVENT_N]; /* since the reading before, scaled to all of that time */
	/* cgcounters' own: */
	int handle[EVENT_N];
	struct pmu_reading base;
};

/*
 * Opens the counters of the step at V2 or V1 (paths as /proc/PID/cgroup shows them; both NULL: of
 * everything) on CPU[n]. Those that are offline are left out until they are back. -ENOENT: the step
 * has no cgroup for it; -EMFILE: MAX_FDS or the process's limit is reached; -ENODEV: none of the
 * CPUs is online. A set is whole or not there: shares of half the CPUs would be wrong.
 */
int cgcounters_open(struct cgcounters *c, const char *v2, const char *v1, const uint32_t *cpu,
		    size_t n, struct cgcounters_set **ret);
void cgcounters_close(struct cgcounters_set *set);

/*
 * Reads the CPUs that were busy (BUSY by number; NULL: all), since reading the counter of an idle
 * CPU wakes it up. The counts of the other CPUs come with their next reading. The result is the
 * set's, of cgcounters_ncpus() entries, until the next call. Also after the cgroup is gone.
 */
const struct cgcounters_cpu *cgcounters_read(struct cgcounters_set *set, const bool *busy);
size_t cgcounters_ncpus(const struct cgcounters_set *set);

#endif
