/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks_filter.h - the BPF program at the events of stacks.c. It drops samples of tasks outside a
 * cgroup before the kernel walks their stack.
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
#include <sys/types.h>

#include "src/libutil/errmsg.h"

struct stacks_filter {
	int cgroup, foreign, program; /* descriptors: map of the cgroup, map of notes or -1, program */
};

/*
 * Loads the program that only drops samples. CGROUP_FD -1: it drops all samples. Close FILTER also
 * after an error. Returns 0 or -errno.
 */
int stacks_filter_open(int cgroup_fd, struct stacks_filter *filter, struct errmsg *err);
/*
 * Loads the program that also notes samples foreign to UID, up to SAMPLES_MAX notes. Close FILTER
 * also after an error. Returns 0; -ENOENT: the kernel's BTF is missing or lacks the members; or
 * -errno.
 */
int stacks_filter_open_noting(int cgroup_fd, uid_t uid, uint32_t samples_max, struct stacks_filter *filter,
			      struct errmsg *err);
void stacks_filter_close(struct stacks_filter *filter);

/* Returns whether there are any notes. */
bool stacks_filter_has_foreign(const struct stacks_filter *filter);
/* Times of a sample, and of the records before and behind it in the ring of its CPU. */
struct stacks_neighbours {
	uint64_t before_ns, mono_ns, after_ns; /* BEFORE_NS 0: there is none before it */
};

/*
 * Returns whether the sample of CPU at MONO_NS is foreign. Its note was made between BEFORE_NS and
 * AFTER_NS: before MONO_NS, or, since Linux 6.3, behind it. *LAST belongs to CPU and is 0 at first; it has
 * the note that the next call may delete. Ask in the order of the samples' times.
 */
bool stacks_filter_is_foreign(const struct stacks_filter *filter, uint32_t cpu, const struct stacks_neighbours *at,
			      uint64_t *last);

#endif
