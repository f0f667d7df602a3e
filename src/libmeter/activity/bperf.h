/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bperf.h - hardware counters of CPUs. BPF reads the counters when a CPU goes from one step to
 * another, and adds the counts to the step that ran. All steps of the node share one set of counters,
 * and a switch within a step costs nothing. No descriptor is kept per counter. The counters are in the
 * map "hw_events" while a step that asked for them lives; the last such step takes them out.
 * bpf/bperf.bpf.h has the kernel's side.
 *
 * Counting begins with the first switch to a task of the step. A child that was in the step's cgroup
 * before it ran is counted from its first instruction on. A task that is moved to the cgroup while it
 * runs is counted from its next switch on.
 */
#ifndef CEEMS_BPERF_H
#define CEEMS_BPERF_H

#include "src/libmeter/activity/hwevents.h"
#include "src/libmeter/activity/probes.h"

struct bperf;

/*
 * EVENTS on CPU[n], those that the step may use; the first PROBES_HW_EVENTS of them. Counters of
 * another step's bperf_open() are used as they are. A CPU that is offline, or cannot count what the
 * first one can, is left out; enabled_ns lacks the time on that CPU. SLOT as registered, by the
 * calling process. Waits PROBES_LOCK_WAIT_NS for the lock at most.
 *
 * -EBUSY: other events than EVENTS are in use. -EWOULDBLOCK: the lock is taken. -EOPNOTSUPP: the
 * group is not there (probes_why()). -ENOENT, -EACCES, -EMFILE and others: from perf_event_open(2)
 * for the first event, if none could be opened.
 */
int bperf_open(struct probes *p, uint32_t slot, const struct hwevents *events, const uint32_t *cpu,
	       size_t n, struct bperf **ret, struct errmsg *err);

/* 0, or why EVENT, by its number in EVENTS, is not counted: perf_event_open(2)'s -errno. */
int bperf_error(const struct bperf *b, uint32_t event);

struct bperf_value {
	uint64_t count;
	uint64_t enabled_ns; /* CPU time of the step on CPUs with counters: less than all of it if there
				were none for some time or on some CPU */
	uint64_t running_ns; /* less than enabled_ns: the PMU was shared, COUNT is of this part */
};
/*
 * Since bperf_open(). Makes CPUs that run the step now book their counts, by one interrupt each.
 * Kernels before 5.10 cannot do that: the counts since the last switch are then missing. RET by
 * event, 0 for those that are not counted.
 */
int bperf_read(struct bperf *b, struct bperf_value ret[PROBES_HW_EVENTS]);

/*
 * Gives the counters of this step's CPUs back, for a user's own profiler. All steps on these CPUs
 * lose them, since they share the CPUs with the profiler. What was counted stays; other CPUs go on.
 * The next bperf_open() on these CPUs tries again. -EWOULDBLOCK: the lock is taken, nothing was
 * done.
 */
int bperf_yield(struct bperf *b);

/* Takes the counters out of the map when nobody is left who asked. NULL: no-op. */
void bperf_close(struct bperf *b);

/*
 * The same for counters of the dead, with probes_lock() held: takes them out unless somebody who asked is
 * alive. Costs next to nothing where no counters are.
 */
void bperf_reap(struct probes *p);

#endif
