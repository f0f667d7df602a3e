/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepgroup.h - makes a v2 cgroup for a step where Slurm uses v1. The kernel tells sockets and perf
 * events apart by v2 cgroup only, and where Slurm uses v1, all jobs are in the v2 cgroup of slurmd.
 * The new cgroup is made below slurmd's, so the delegation of a service manager stays as it is. The
 * cgroup has no controllers and limits nothing.
 *
 * It contains the tasks that were moved into it and their forks, but not tasks that join a step only
 * through Slurm's v1 cgroups. So the extern step, which adopts processes, cannot use it.
 */
#ifndef CEEMS_STEPGROUP_H
#define CEEMS_STEPGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"

struct stepgroup;

/*
 * Makes "step_ceems_<our pid>" below the v2 cgroup of PID[0], and moves PID[n] there with all their
 * threads. Later forks are there too. The v2 tree may be mounted nowhere: then it is opened for us
 * alone, and no mount is left behind. RET_PATH gets the path as /proc/PID/cgroup shows it.
 * -EOPNOTSUPP: no v2 hierarchy in this kernel, it is out of our reach (above the root of a
 * container), or there is no place for processes below that of PID[0] (threaded); -EEXIST: they are
 * in a step's v2 cgroup already; -ESRCH: none of them is alive; -ENOSPC: RET_PATH is too small.
 */
int stepgroup_create(const pid_t *pid, size_t n, struct stepgroup **ret, char *ret_path, size_t size,
		     struct errmsg *err);

/* A fd of the folder, borrowed. */
int stepgroup_fd(const struct stepgroup *g);

/*
 * Moves processes that are left one up and removes the folder; waits for dying ones, 100 ms at most.
 * What cannot be removed is left to stepgroup_reap(). NULL: no-op.
 */
void stepgroup_destroy(struct stepgroup *g);

/*
 * Removes empty folders of that name whose slurmstepd is gone, below the v2 cgroup of the calling
 * process; EVERYWHERE: below any, for those of a slurmd that ran elsewhere (some ms: for the start of
 * a daemon). How many.
 */
unsigned int stepgroup_reap(bool everywhere);

#endif
