/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks_filter.h - for stacks.c: the BPF program at its events, which drops samples of tasks outside a cgroup before a
 * stack is walked.
 *
 * A stack's copy has what the program keeps there. Of a program with rights that the user lacks (set-user-ID, or slurmstepd
 * before it becomes the user) that is not for the user, nor for a process that reads the user's files. So the program
 * notes CPU and time of samples of other users' processes, and of those that the user may not trace (dumpable, prctl(2)).
 * To ask /proc instead would be too late: a process may be another program by then, or gone.
 */
#ifndef CEEMS_STACKS_FILTER_H
#define CEEMS_STACKS_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"

struct stacks_filter {
	int cgroup, foreign, program; /* descriptors of two maps and the program; FOREIGN -1: nothing is noted */
};

/* FILTER is to be closed, after an error, too. CGROUP_FD -1: no cgroup, so all samples are dropped. */
int stacks_filter_open(int cgroup_fd, struct stacks_filter *filter, struct errmsg *err);
/* The same, which notes what is not UID's. -ENOENT, -EOPNOTSUPP: this kernel does not say. */
int stacks_filter_open_noting(int cgroup_fd, uid_t uid, uint32_t samples_max, struct stacks_filter *filter,
			      struct errmsg *err);
void stacks_filter_close(struct stacks_filter *filter);

/* False: there is nothing to ask for. */
bool stacks_filter_has_foreign(const struct stacks_filter *filter);
/* Whether the sample of CPU at MONO_NS is foreign; asked once for each. */
bool stacks_filter_is_foreign(const struct stacks_filter *filter, uint32_t cpu, uint64_t mono_ns);

#endif
