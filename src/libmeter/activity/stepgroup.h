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
 * Makes the cgroup "step_ceems_<our pid>" below the v2 cgroup of PID[0], and moves PID[n] there
 * with all their threads. RET_PATH gets its path as in /proc/PID/cgroup. If v2 is mounted nowhere,
 * it is mounted for this process alone, out of sight. -EOPNOTSUPP: the kernel has no v2 hierarchy,
 * the cgroup is outside our container, or it cannot have processes in a cgroup below it (threaded).
 * -EEXIST: the tasks already are in a step's v2 cgroup. -ESRCH: none of them is alive. -ENOSPC:
 * RET_PATH is too small.
 */
int stepgroup_create(const pid_t *pid, size_t n, struct stepgroup **ret, char *ret_path, size_t size,
		     struct errmsg *err);

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
