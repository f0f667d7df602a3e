/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks_filter.h - which samples are foreign, by the notes of the BPF program at the events of stacks.c
 * (profile_mon.h). The program drops samples of tasks outside a cgroup before the kernel walks their stack.
 *
 * A copy of a stack contains the program's data. The user must not see the data of a program with
 * more rights than the user has: a set-user-ID program, or slurmstepd before it becomes the user.
 * So the BPF program also notes CPU and time of each "foreign" sample, and stacks.c removes the
 * copy from it. A sample is foreign if its process is another user's, or if the user may not trace
 * the process (PR_SET_DUMPABLE, prctl(2)). /proc would answer too late: by then the process may
 * have called exec or ended.
 */
#ifndef CEEMS_STACKS_FILTER_H
#define CEEMS_STACKS_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/profile/profile_mon.h"

/* Returns whether there are any notes. */
bool stacks_filter_has_foreign(const struct profile_samples *filter);
/* Times of a sample, and of the records before and behind it in the ring of its CPU. */
struct stacks_neighbours {
	uint64_t before_ns, mono_ns, after_ns; /* BEFORE_NS 0: there is none before it */
};

/*
 * Returns whether the sample of CPU at MONO_NS is foreign. Its note was made between BEFORE_NS and
 * AFTER_NS: before MONO_NS, or, since Linux 6.3, behind it. *LAST belongs to CPU and is 0 at first; it has
 * the note that the next call may delete. Ask in the order of the samples' times.
 */
bool stacks_filter_is_foreign(const struct profile_samples *filter, uint32_t cpu,
			      const struct stacks_neighbours *at, uint64_t *last);

#endif
