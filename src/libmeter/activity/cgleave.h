/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgleave.h - moves helpers of slurmstepd out of the cgroups of its step. On v2, where slurmstepd and its
 * helpers are in a cgroup of the step, Slurm kills the helpers after the tasks and waits for their end. If
 * one stays longer than UnkillableStepTimeout, because its file system does not answer, Slurm drains the node
 * ("Kill task failed").
 */
#ifndef CEEMS_CGLEAVE_H
#define CEEMS_CGLEAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/libutil/must_check.h"

/*
 * Moves process PID and the processes of its group out of the step's cgroups, in each hierarchy. They must be
 * in the cgroups of the calling process. Does nothing if the processes have ended, or in a hierarchy where
 * the caller is in no step. Returns 0 or the first -errno. Does not wait for the processes, which may be in
 * uninterruptible sleep.
 */
int cgleave(pid_t pid);

/*
 * Writes to RET the cgroup for processes that leave cgroup PATH of a step: on v2 "system" in
 * slurmstepd.scope, where Slurm puts what belongs to no job; on v1 the cgroup above those of users. -ENOENT:
 * PATH is not in a step or job; -ENAMETOOLONG: RET is too small.
 */
int cgleave_path(const char *path, bool is_v2, char *ret, size_t size) _must_check_;

#endif
