/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgmount.h - finds the folder of a cgroup whose path is from /proc/PID/cgroup, with v1, v2 or both.
 */
#ifndef CEEMS_CGMOUNT_H
#define CEEMS_CGMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "src/libutil/must_check.h"

/*
 * The paths of a step's cgroup as /proc/PID/cgroup of a task names it, cut after the step's folder. "": the
 * step has no cgroup in that hierarchy.
 */
#define CGROUP_PATH_MAX 320
struct cgroup_paths {
	char v2[CGROUP_PATH_MAX];
	char cpuacct[CGROUP_PATH_MAX]; /* these two are of v1 */
	char freezer[CGROUP_PATH_MAX];
};

/* Returns the path in v1. It is the same in all v1 hierarchies, because Slurm makes them alike. */
static inline const char *cgroup_paths_v1(const struct cgroup_paths *p)
{
	return p->freezer[0] ? p->freezer : p->cpuacct;
}

/*
 * Returns true if this line of /proc/self/mountinfo mounts the hierarchy of CONTROLLER ("cpuacct";
 * NULL: v2) so that cgroup PATH is visible below it. RET then gets the folder of that cgroup. If
 * the mount shows only a part of the hierarchy (a bind mount, a container), the root of that part
 * is cut off PATH.
 */
bool cgmount_match(const char *line, const char *controller, const char *path, char *ret,
		   size_t size) _must_check_;

/*
 * Finds the folder of cgroup PATH in the first mount that has it. -ENOENT: no mount has it; or
 * another -errno.
 */
int cgmount_find(const char *controller, const char *path, char *ret, size_t size) _must_check_;

/*
 * Mount points of the hierarchies, as the calling process sees them. Only mounts of a whole
 * hierarchy. Empty: there is none, or its path is too long.
 */
struct cgmount_points {
	char v2[128], cpuacct[128], freezer[128], memory[128];
};
void cgmount_points(struct cgmount_points *ret);
/*
 * Sets mount points to try first, since the kernel takes long to make mountinfo. POINTS must be
 * from a process in the same namespaces; they are copied. A wrong or missing one is looked up in
 * mountinfo.
 */
void cgmount_expect(const struct cgmount_points *points);

/*
 * Opens FILE in the cgroup folder of the step with cgroup path PATH; "." is the folder itself.
 * Returns a descriptor or -errno. -ENOENT: the folder or FILE does not exist, or PATH is "" or "/".
 * The root is refused because its counters are those of the whole node. On a hybrid node where Slurm
 * uses v1, /proc/PID/cgroup has "/" as the v2 path of each process.
 */
int cgmount_open_step(const char *controller, const char *path, const char *file);

/*
 * Parses F, an open /proc/PID/cgroup. Each path is cut after its last component that begins with
 * "step_"; it is "" if the hierarchy has none. -ENAMETOOLONG: a path does not fit, and nothing is
 * written.
 */
int cgmount_step_paths(FILE *f, struct cgroup_paths *ret) _must_check_;

#endif
