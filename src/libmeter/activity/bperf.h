/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bperf.h - counts hardware events per step with one set of counters for the whole node. Each CPU
 * has its counters. When a CPU switches from one step to another, a BPF program reads them and adds
 * the counts to the step that ran. A switch within a step costs nothing, and no step keeps a
 * descriptor per counter. The counters are in the BPF map "hw_events" while a step that asked for
 * them lives; the last such step removes them. bpf/bperf.bpf.h is the kernel side.
 *
 * Counting begins at the first switch to a task of the step. A child that is put into the step's
 * cgroup before it runs is counted from its first instruction. A task that is moved into the cgroup
 * while it runs is counted from its next switch.
 */
#ifndef CEEMS_BPERF_H
#define CEEMS_BPERF_H

#include "src/libmeter/activity/hwevents.h"
#include "src/libmeter/activity/probes.h"
#include "src/libutil/must_check.h"

struct bperf;

/*
 * Starts to count EVENTS, at most PROBES_HW_EVENTS of them, on CPU[n], the CPUs that the step may
 * use. If the counters of another step are open, they are used. A CPU that is offline, or that
 * cannot count what the first CPU can, is left out, and enabled_ns then lacks the time on that CPU.
 * SLOT must be registered by the calling process. Waits at most PROBES_LOCK_WAIT_NS for the lock.
 *
 * -EBUSY: other events than EVENTS are being counted. -EWOULDBLOCK: another process has the lock.
 * -EOPNOTSUPP: the BPF group is not loaded (probes_why()). -ENOENT, -EACCES, -EMFILE and others: no
 * event could be opened; the error of perf_event_open(2) for the first one.
 */
int bperf_open(struct probes *p, uint32_t slot, const struct hwevents *events, const uint32_t *cpu, size_t n,
	       struct bperf **ret, struct errmsg *err) _must_check_;

/* Returns 0 if event number EVENT is counted, else the -errno of perf_event_open(2). */
int bperf_error(const struct bperf *b, uint32_t event);

struct bperf_value {
	uint64_t count;
	uint64_t enabled_ns; /* the step's CPU time on CPUs that had counters at that time */
	/* the part of enabled_ns in which the event was on the PMU; COUNT is of this part only */
	uint64_t running_ns;
};
/*
 * Reads the counts since bperf_open() into RET, by event number; 0 for events that are not counted.
 * Interrupts each CPU that runs the step, so that it adds its counts now. Kernels before 5.10
 * cannot do that, so there the counts since the last switch are missing.
 */
int bperf_read(struct bperf *b, struct bperf_value ret[PROBES_HW_EVENTS]) _must_check_;

/*
 * Closes the counters of this step's CPUs, so that a user's own profiler can have them. Other steps
 * on these CPUs lose them, too. Counts made so far are kept, and other CPUs go on. The next
 * bperf_open() on these CPUs tries again. -EWOULDBLOCK: another process has the lock, and nothing
 * was done.
 */
int bperf_yield(struct bperf *b);

/*
 * Ends counting for this step. Removes the counters if no other living step asked for them. NULL:
 * no-op.
 */
void bperf_close(struct bperf *b);

/*
 * Removes the counters if no living step asks for them, for steps that died without bperf_close().
 * Call it with probes_lock() held. Cheap if there are no counters.
 */
void bperf_reap(struct probes *p);

#endif
