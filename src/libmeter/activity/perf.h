/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.h - perf_event counters of a step, for the events that hwevents.h names. There are three ways, and
 * the first that works is used:
 *	bperf	  counters of CPUs, added to steps by BPF (bperf.h); the default events only
 *	cgroup	  counters of the step's v2 cgroup on the CPUs it may use
 *	task	  counters opened on each stopped child, inherited by all it forks, started by its exec
 */
#ifndef CEEMS_PERF_H
#define CEEMS_PERF_H

#include <stddef.h>
#include <sys/types.h>

#include "src/libcore/detail.h"
#include "src/libcore/metric.h"
#include "src/libcore/perf_request.h"
#include "src/libmeter/activity/probes.h"
#include "src/libutil/errmsg.h"

struct perf;

struct perf_target {
	const struct perf_request *request; /* PERF_GROUP_HW, PERF_GROUP_SW, PERF_GROUP_EVENTS count here */
	struct probes *probes;	     /* NULL: no bperf */
	uint32_t slot;		     /* 0: no bperf */
	int cgroup_fd;		     /* of the step's v2 folder; -1: none */
	const pid_t *pid;	     /* the tasks, stopped before their exec */
	size_t n;
};

/*
 * Events that cannot be had are remembered with their reason and left out; 0 even if none could be
 * opened. Part of the process's file descriptors are left to it (REASON_NO_COUNTER). -ENOMEM.
 */
int perf_open(const struct perf_target *target, struct perf **ret, struct errmsg *err);

/* The first of a user's own events that cannot be had, and why, into BUF; false: there is none. */
bool perf_lacks_own(const struct perf *p, char *buf, size_t size);

/*
 * Gives hardware counters back for good when a user's own profiler needs them: it comes first. That
 * is so when
 *	a process of the step has a perf event open (of any kind: which one, nobody can see), or
 *	of the time since the last call, ours were on the PMU for less than 4/5 of their best share.
 *	  Our own groups taking turns, and slurmd's counters, are in the best share already.
 * Only the first rule sees a profiler that was there from the start. Only the second rule sees a
 * profiler of root that watches all CPUs. What was counted until then stands for the rest, and
 * PMU_RUNNING says how much of the time it is.
 */
void perf_poll(struct perf *p);

/*
 * The metrics, scaled to the step's whole CPU time where others had the counters for a part of it,
 * before perf_poll() gave up or after, with PMU_ENABLED and PMU_RUNNING (of the group that had the
 * smallest share); a user's events into DETAIL, which may be NULL. A metric that lacks one of its
 * events is missing, with the reason: half a sum would look like a value. Values replace what
 * VALUES has. Call it after VALUES got the task counters: their CPU time tells how much of the
 * step came after perf_poll() gave up.
 */
void perf_read(struct perf *p, struct values *values, struct step_detail *detail);

void perf_close(struct perf *p);

/* Marks all counters that no --ceems-perf asked for and that nobody else has a value for. */
void perf_not_asked(struct values *values);

#endif
