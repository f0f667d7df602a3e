/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgcounters.h - hardware counters by cgroup and CPU. They count a step on each CPU that the step
 * may use, or all tasks. No counter is attached to a process, so short processes are counted, too.
 */
#ifndef CEEMS_CGCOUNTERS_H
#define CEEMS_CGCOUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/sensor/perf_event.h"
#include "src/libutil/errmsg.h"

/* The events that show how much work was done. Cycles lead the group; the others are optional. */
enum event {
	EVENT_CYCLES, /* unhalted cycles, so they depend on the frequency */
	EVENT_INSTRUCTIONS,
	EVENT_LLC_MISSES,
	EVENT_N
};

/*
 * What read(2) returns for a group (PERF_FORMAT_GROUP with both times). enabled_ns is how long the
 * group should have counted, running_ns how long it was on the PMU. One value per event follows, in
 * the order in which the events were opened.
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
	 * Opens the cgroup of a step for perf_event_open(2). Returns a descriptor. -ENOENT: the step has no
	 * cgroup that can have counters.
	 */
	int (*open_cgroup)(void *ctx, const struct cgroup_paths *paths);
	struct {
		uint32_t type; /* as in struct perf_event_attr */
		uint64_t config;
	} event[EVENT_N];
};

/* The PMU of the kernel, with its generic hardware events. */
extern const struct pmu pmu_hardware;

/* Knows which counters this machine has, and how many more descriptors may be opened. */
struct cgcounters;

/*
 * Tries which events can be counted, on one CPU. PMU must outlive the result. MAX_FDS limits the
 * descriptors of all sets together. -ENODEV: this machine has no cycle counter; ERR says why.
 * -EACCES: we may not use it. For instructions and misses, ask cgcounters_has().
 */
int cgcounters_create(const struct pmu *pmu, uint32_t cpu, unsigned int max_fds, struct cgcounters **ret,
		      struct errmsg *err) _must_check_;
/* Call it after all sets are closed. NULL: no-op. */
void cgcounters_destroy(struct cgcounters *c);
bool cgcounters_has(const struct cgcounters *c, enum event e);

/*
 * Returns how many descriptors the process may use for counters: half of its limit, since its own
 * work needs the rest. At most 16,384, since each takes a kilobyte or more of kernel memory.
 */
unsigned int cgcounters_max_fds(void);

/* The counters of one cgroup, or of everything. */
struct cgcounters_set;

struct cgcounters_cpu {
	uint32_t cpu;
	bool is_lost; /* events[] is not valid: the CPU is or was offline, or another program had
				     the counters */
	/* since the previous reading; scaled up if the events had the PMU for a part of the time */
	uint64_t events[EVENT_N];
	/* only for cgcounters.c */
	int handle[EVENT_N];
	struct pmu_reading base;
};

/*
 * Opens the counters of one step on the CPUs CPU[n]. If PATHS is NULL, all tasks are counted. CPUs that are
 * offline are left out until they are online again. -ENOENT: the step has no cgroup that can have counters.
 * -EMFILE: MAX_FDS or the process's limit is reached. -ENODEV: none of the CPUs is online. If one online
 * CPU fails, all of the call fails, since shares made from half the CPUs would be wrong.
 */
int cgcounters_open(struct cgcounters *c, const struct cgroup_paths *paths, const uint32_t *cpu, size_t n,
		    struct cgcounters_set **ret) _must_check_;
void cgcounters_close(struct cgcounters_set *set);

/*
 * Reads the counters of busy CPUs. BUSY[] is indexed by CPU number; NULL reads all. Idle CPUs are
 * skipped because reading their counters wakes them up; their counts come with a later reading.
 * Returns an array of cgcounters_ncpus() entries, which belongs to the set and is valid until the
 * next call. Works also after the cgroup was removed.
 */
const struct cgcounters_cpu *cgcounters_read(struct cgcounters_set *set, const bool *busy);
size_t cgcounters_ncpus(const struct cgcounters_set *set);

#endif
