/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paths_of.h - makes the paths of a step's cgroup from strings.
 */
#ifndef CEEMS_TEST_PATHS_OF_H
#define CEEMS_TEST_PATHS_OF_H

#include <stdio.h>

#include "src/libmeter/activity/cgmount.h"

/* "" for a hierarchy without the step. Valid until the next call. */
static inline const struct cgroup_paths *paths_of(const char *v2, const char *cpuacct, const char *freezer)
{
	static struct cgroup_paths p;

	(void)snprintf(p.v2, sizeof(p.v2), "%s", v2);
	(void)snprintf(p.cpuacct, sizeof(p.cpuacct), "%s", cpuacct);
	(void)snprintf(p.freezer, sizeof(p.freezer), "%s", freezer);
	return &p;
}

#endif
