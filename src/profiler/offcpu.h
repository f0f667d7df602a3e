/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offcpu.h - where the threads of a step wait: the time between the scheduler's switch from a thread and its
 * switch back to it, by the stack at the switch. For ceems-profile, which is root.
 *
 * A BPF program at the raw tracepoint sched_switch keeps the begin of each wait, and adds up waits by thread
 * and stack, so there is no record per switch. Stacks are walked by frame pointers. The time also contains
 * waiting for a CPU. A wait is counted when it ends. Maps have bounds: what did not fit is counted.
 * Everything exists only as descriptors of the caller.
 */
#ifndef CEEMS_OFFCPU_H
#define CEEMS_OFFCPU_H

#include "src/libutil/must_check.h"
#include "src/profiler/stacks.h"

struct offcpu;

struct offcpu_setup {
	/* v2 cgroup; threads in it and below are counted. Borrowed during the call; -1: none is */
	int cgroup_fd;
	bool has_user, has_kernel; /* which parts of a stack to keep */
};

/* Begins to count. Returns 0; or -errno: the kernel does not support it, or we may not. */
int offcpu_open(const struct offcpu_setup *setup, struct offcpu **ret, struct errmsg *err) _must_check_;
/* NULL: does nothing. */
void offcpu_close(struct offcpu *o);

/* Calls FN with a record of kind STACKS_WAIT for each thread and stack that waited since the last call. */
void offcpu_drain(struct offcpu *o, stacks_fn *fn, void *ctx);

#endif
