/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frozen.h - whether a step is suspended. With proctrack/cgroup, Slurm suspends a step with the cgroup
 * freezer: in v1 in the step's folder (freezer.state), in v2 in the folder "user" below it (cgroup.events).
 * Other proctrack plugins send SIGSTOP, which no cgroup shows.
 */
#ifndef CEEMS_FROZEN_H
#define CEEMS_FROZEN_H

#include <stdbool.h>

#include "src/libmeter/activity/cgmount.h"

/* Returns true if all processes of the step are frozen. False: they are not, or no freezer can be read. */
bool frozen_read(const struct cgroup_paths *paths);

#endif
