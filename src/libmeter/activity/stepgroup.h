/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepgroup.h - makes a v2 cgroup for a step where Slurm uses v1. The kernel assigns sockets and
 * perf events to v2 cgroups only, and with v1 all jobs are in slurmd's v2 cgroup. The new cgroup is
 * made below slurmd's, as the delegation of a service manager requires. It has no controllers and
 * limits nothing.
 *
 * It contains the tasks that were moved into it and their forks, but not tasks that join a step
 * later, through Slurm's v1 cgroups. So it is not used for the extern step, which adopts processes.
 */
#ifndef CEEMS_STEPGROUP_H
#define CEEMS_STEPGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"

struct stepgroup;

/*
 * Makes the cgroup "step_ceems_<our pid>" below the v2 cgroup of PID[0], and moves the N processes of
 * PID there, with all their threads. RET_PATH gets its path as in /proc/PID/cgroup. If no mount shows
 * the parent cgroup writable, v2 is mounted without a mount point, which only this process can use.
 * -EOPNOTSUPP: the kernel has no v2 hierarchy, the parent is outside our cgroup namespace, or it is
 * threaded, so that no cgroup below it can have processes. -EEXIST: PID[0] already is in a step's v2
 * cgroup. -ESRCH: PID[0] or all of PID have ended. -ENOSPC: RET_PATH is too small.
 */
int stepgroup_create(const pid_t *pid, size_t n, struct stepgroup **ret, char *ret_path, size_t size,
		     struct errmsg *err) _must_check_;

/* Returns a descriptor of the folder, borrowed. */
int stepgroup_fd(const struct stepgroup *g);

/*
 * Moves the remaining processes to the parent cgroup and removes the folder. Waits up to 100 ms for
 * dying processes. A folder that cannot be removed is left to stepgroup_reap(). NULL: no-op.
 */
void stepgroup_destroy(struct stepgroup *g);

/*
 * Removes empty "step_ceems_*" folders whose slurmstepd is gone, and returns how many. They are
 * looked for below the v2 cgroup of the calling process. With EVERYWHERE they are looked for in the
 * whole hierarchy, as a former slurmd may have run elsewhere; that takes some ms, so do it at a
 * daemon's start.
 */
unsigned int stepgroup_reap(bool everywhere);

#endif
