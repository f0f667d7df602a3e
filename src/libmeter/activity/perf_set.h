/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_set.h - for perf.c: the counters of a list of events on many targets (tasks or CPUs), and the sum of
 * each event.
 */
#ifndef CEEMS_PERF_SET_H
#define CEEMS_PERF_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libmeter/activity/hwevents.h"
#include "src/libmeter/sensor/perf_event.h"

struct perf_set;

/* EVENTS is copied; those with a reason stay closed. -ENOMEM. */
int perf_set_create(const struct perf_event_ops *ops, void *ctx, const struct hwevents *events,
		    struct perf_set **ret);
/* Closes what is open, if it is ours still. NULL: no-op. */
void perf_set_destroy(struct perf_set *s);

struct perf_set_target {
	pid_t pid; /* or a cgroup's descriptor */
	int cpu;   /* -1: wherever the task is */
	unsigned long flags;
	bool is_inherited; /* by what the task forks; counting begins with its exec */
};

/*
 * Opens the events, group by group. An event that does not fit into its group counts apart from it.
 * An event that cannot be opened is not tried on other targets, since its sum would be partial;
 * perf_set_read() says why. -ENOMEM; -ENODEV: the target's CPU is offline.
 */
int perf_set_add(struct perf_set *s, const struct perf_set_target *target);

/*
 * May events be opened on that target? -ENOENT: its cgroup has none. In kernels 5.10 and 6.1, v2
 * cgroups get the perf_event controller only after some controller was turned on in the hierarchy.
 * systemd does that where all controllers are in v2. For a hardware event the same error means that
 * there is no PMU. So a software event is used here.
 */
int perf_set_try(const struct perf_set *s, const struct perf_set_target *target);

struct perf_sum {
	uint64_t value;	     /* scaled to all of enabled_ns */
	uint64_t enabled_ns; /* CPU time in which it should have counted */
	uint64_t running_ns; /* in which it had the PMU */
	uint8_t reason;	     /* enum metric_reason */
};

/* Since they were opened, by the event's index. */
void perf_set_read(const struct perf_set *s, struct perf_sum ret[HWEVENTS_MAX]);

/* Is one of the events counted somewhere? */
bool perf_set_counts(const struct perf_set *s);
/* Did some event find no descriptor left? */
bool perf_set_is_full(const struct perf_set *s);

/* perf_event_open(2)'s, positive. */
enum metric_reason perf_reason(int error);

/* --- the targets of a step: perf_targets.c ------------------------------------------------- */

/*
 * Opens the events on the tasks PID[N] and on all that these fork. Counting begins when a task of PID[N] calls
 * exec. -ENOMEM.
 */
int perf_task_open(struct perf_set *s, const pid_t *pid, size_t n);

/*
 * The v2 cgroup and all below it, on the CPUs that PID of the step may use. -ENOMEM; -ENODEV: no CPU
 * of the step is known or online; -errno: the cgroup takes no events.
 */
int perf_cgroup_open(struct perf_set *s, int cgroup_fd, pid_t pid);

/* The CPUs that PID's step may use, into malloc'ed *RET. -ENOMEM, -errno. */
int perf_cgroup_cpus(pid_t pid, uint32_t **ret, size_t *ret_n);

/* --- does somebody in a step count events himself? perf_profiler.c --------------------------- */

/* Has one of the processes in the cgroup's folder or below a perf event open? Looks at a few. */
bool perf_profiler_in_cgroup(int cgroup_fd);
bool perf_profiler_among(const pid_t *pid, size_t n);

#endif
