/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bperf.h - hardware counters of CPUs, read by BPF where the CPU goes from one step to another and booked
 * to the step that ran. One set of counters for all steps of the node; a switch within a step costs
 * nothing. No descriptor is kept per counter: they live in the map "hw_events" while a step that asked is
 * alive, and the last one takes them out. bpf/bperf.bpf.h has the kernel's side.
 *
 * Counted from the first switch to a task of the step on. Children that were in its cgroup before they
 * ran are counted from their first instruction on; a task that is moved there while it runs, from its next
 * switch on.
 */
#ifndef CEEMS_BPERF_H
#define CEEMS_BPERF_H

#include "src/libmeter/activity/hwevents.h"
#include "src/libmeter/activity/probes.h"

struct bperf;

/*
 * EVENTS on CPU[n], those that the step may use; the first PROBES_HW_EVENTS of them. Counters that
 * another step's bperf_open() put there are used as they are; a CPU that is offline or cannot count what
 * the first one can is left out, and what runs there is missing from enabled_ns. SLOT as registered, by the
 * calling process. Waits PROBES_LOCK_WAIT_NS for the lock at most.
 *
 * -EBUSY: there are others than EVENTS in use; -EWOULDBLOCK: the lock is taken; -EOPNOTSUPP: the group is
 * not there (probes_why()); -ENOENT, -EACCES, -EMFILE ...: perf_event_open(2)'s, of the first event, if
 * none could be opened.
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
 * Since bperf_open(). Makes CPUs that run the step now book what they have (one interrupt each), unless
 * the kernel cannot do that (before 5.10): then what ran since the last switch is missing. RET by event, 0
 * for those that are not counted.
 */
int bperf_read(struct bperf *b, struct bperf_value ret[PROBES_HW_EVENTS]);

/*
 * Gives the counters of this step's CPUs back, for a user's own profiler: for all steps, because whoever
 * else runs on these CPUs shares them with it as well. What was counted stays; other CPUs go on. The next
 * bperf_open() on these CPUs tries again. -EWOULDBLOCK: the lock is taken, nothing was done.
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
