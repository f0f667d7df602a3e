/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_set.h - opens a list of events on many targets (tasks or CPUs), and sums each event over
 * them. Private to perf.c.
 */
#ifndef CEEMS_PERF_SET_H
#define CEEMS_PERF_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libmeter/activity/hwevents.h"
#include "src/libmeter/sensor/perf_event.h"
#include "src/libutil/must_check.h"

struct perf_set;

/* EVENTS is copied. Events that already have a reason are not opened. -ENOMEM. */
int perf_set_create(const struct perf_event_ops *ops, void *ctx, const struct hwevents *events,
		    struct perf_set **ret) _must_check_;
/* Closes the counters, unless the descriptors were closed by others and reused. NULL: no-op. */
void perf_set_destroy(struct perf_set *s);

struct perf_set_target {
	pid_t pid; /* a task, or the descriptor of a cgroup (FLAGS) */
	int cpu;   /* -1: wherever the task is */
	unsigned long flags;
	bool is_inherited; /* forks of the task inherit the counter; counting begins at its exec */
};

/*
 * Opens the events on one more target, group by group. An event that does not fit into its group is
 * opened alone. An event that fails on one target is not counted at all, since its sum would be
 * partial; perf_set_read() gives the reason. -ENOMEM. -ENODEV: the target's CPU is offline.
 */
int perf_set_add(struct perf_set *s, const struct perf_set_target *target);

/*
 * Tests with a software event whether TARGET's cgroup can have events. -ENOENT: it cannot. A
 * hardware event would not do: it fails with ENOENT also if there is no PMU. In Linux 5.10 and 6.1,
 * v2 cgroups have the perf_event controller only after some controller was enabled in the
 * hierarchy. systemd does that where all controllers are in v2.
 */
int perf_set_try(const struct perf_set *s, const struct perf_set_target *target);

struct perf_sum {
	uint64_t value;	     /* scaled to all of enabled_ns */
	uint64_t enabled_ns; /* CPU time in which the event should have counted */
	uint64_t running_ns; /* the part of it in which the event was on the PMU */
	uint8_t reason;	     /* enum metric_reason */
};

/* Reads the sum of each event since it was opened; RET is by index in EVENTS. */
void perf_set_read(const struct perf_set *s, struct perf_sum ret[HWEVENTS_MAX]);

/* Returns true if at least one event is counted on at least one target. */
bool perf_set_counts(const struct perf_set *s);
/* Returns true if an event could not be opened because no descriptor was left. */
bool perf_set_is_full(const struct perf_set *s);

/* Returns the reason to show for ERROR, a positive errno of perf_event_open(2). */
enum metric_reason perf_reason(int error);

/* --- the targets of a step: perf_targets.c ------------------------------------------------- */

/*
 * Opens the events on the tasks PID[N] and on all they fork. Counting begins at each task's exec.
 * -ENOMEM.
 */
int perf_task_open(struct perf_set *s, const pid_t *pid, size_t n);

/*
 * Opens the events on the v2 cgroup CGROUP_FD, with all cgroups below it, on each CPU that process
 * PID of the step may use. -ENOMEM. -ENODEV: no CPU of the step is known or online. -errno: the
 * cgroup cannot have events.
 */
int perf_cgroup_open(struct perf_set *s, int cgroup_fd, pid_t pid);

/* Returns the CPUs that PID's step may use in *RET, which the caller frees. -ENOMEM, -errno. */
int perf_cgroup_cpus(pid_t pid, uint32_t **ret, size_t *ret_n) _must_check_;

/*
 * --- does a user's own profiler run in a step? perf_profiler.c ---------------------------------
 */

/*
 * Returns true if a process in the cgroup or below it has a perf event open. Looks at a few
 * processes only.
 */
bool perf_profiler_in_cgroup(int cgroup_fd);
bool perf_profiler_among(const pid_t *pid, size_t n);

#endif
