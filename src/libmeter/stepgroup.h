/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepgroup.h - a v2 cgroup for a step of a Slurm that uses v1. Sockets and perf events know v2 cgroups
 * only, and there all v1 jobs sit in their slurmd's. The folder is made below that, so what a service
 * manager delegated stays where it is; it has no controllers on and limits nothing.
 */
#ifndef CEEMS_STEPGROUP_H
#define CEEMS_STEPGROUP_H

#include <stddef.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"

struct stepgroup;

/*
 * Makes "step_ceems_<our pid>" below the v2 cgroup of PID[0] and moves PID[n] there; threads and
 * children of theirs follow. The v2 tree may be mounted nowhere: then it is opened for us alone.
 * RET_PATH gets the path as /proc/PID/cgroup shows it. -EOPNOTSUPP: no v2 hierarchy in this kernel;
 * -EEXIST: they are in a step's v2 cgroup already.
 */
int stepgroup_create(const pid_t *pid, size_t n, struct stepgroup **ret, char *ret_path, size_t size,
		     struct errmsg *err);

/* A fd of the folder, borrowed. */
int stepgroup_fd(const struct stepgroup *g);

/* Moves processes that are left one up and removes the folder. NULL: no-op. */
void stepgroup_destroy(struct stepgroup *g);

/*
 * Removes empty folders of that name whose slurmstepd is gone, below the v2 cgroup of the calling
 * process. How many.
 */
unsigned int stepgroup_reap(void);

#endif
