/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.h - perf_event counters of a step, for the events that hwevents.h names. There are three
 * ways to count; the first that works is used:
 *
 *	bperf	counters of CPUs, which BPF divides among steps (bperf.h); default events only
 *	cgroup	counters of the step's v2 cgroup on the CPUs it may use
 *	task	counters opened on each task before its exec, inherited by all it forks
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
	const struct perf_request *request; /* only the groups HW, SW and EVENTS matter here */
	struct probes *probes;		    /* NULL: no bperf */
	uint32_t slot;			    /* 0: no bperf */
	int cgroup_fd;			    /* of the step's v2 folder; -1: none */
	const pid_t *pid;		    /* the step's tasks, stopped before their exec */
	size_t n;
};

/*
 * Opens the counters. Returns 0 even if no event could be opened; perf_read() gives the reason of
 * each. Some of the process's file descriptors are left unused for its own work; events beyond that
 * have REASON_NO_COUNTER. -ENOMEM.
 */
int perf_open(const struct perf_target *target, struct perf **ret, struct errmsg *err) _must_check_;

/*
 * Writes into BUF the first event of the user's own that is not counted, and why. Returns false if
 * all are counted.
 */
bool perf_lacks_own(const struct perf *p, char *buf, size_t size) _must_check_;

/*
 * Closes the hardware counters for good if a user's own profiler needs them. That is assumed if
 * either
 *
 *	- a process of the step has any perf event open (its kind cannot be seen), or
 *	- since the last call, our events were on the PMU for less than 4/5 of their best share so
 *	  far. The best share already allows for our own groups taking turns and for slurmd's
 *	  counters.
 *
 * Only the first rule finds a profiler that ran from the start. Only the second finds one of root
 * that counts on all CPUs. Counts made before are extrapolated to the rest of the step; PMU_RUNNING
 * tells how much of the time was counted.
 */
void perf_poll(struct perf *p);

/*
 * Sets the metrics in VALUES and replaces what was there. If the events were not on the PMU during all of the
 * step's CPU time, for example because perf_poll() closed them, the counts are scaled to all of it.
 * PMU_ENABLED and PMU_RUNNING are those of the event group with the smallest share. The user's events go to
 * DETAIL, which may be NULL. A metric that needs several events is missing if one of them is. Call it after
 * VALUES got the task counters: their CPU time tells how much of the step came after perf_poll() gave up.
 */
void perf_read(struct perf *p, struct values *values, struct step_detail *detail);

void perf_close(struct perf *p);

/* Sets REASON_NOT_ASKED for each counter metric whose reason is still REASON_NOT_MEASURED. */
void perf_not_asked(struct values *values);

#endif
