/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgmount.h - finds the folder of a path of /proc/PID/cgroup, on cgroup v1, v2 and both at once.
 */
#ifndef CEEMS_CGMOUNT_H
#define CEEMS_CGMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Does this line of /proc/self/mountinfo mount the hierarchy of CONTROLLER ("cpuacct"; NULL: v2) in
 * such a way that cgroup PATH is below it? Then its folder is in RET. A mount may show only a part
 * of the hierarchy (a bind mount, a container). Its root is then cut off PATH.
 */
bool cgmount_match(const char *line, const char *controller, const char *path, char *ret,
		   size_t size);

/* The first such folder that is there and of a cgroup file system. -ENOENT, -errno. */
int cgmount_find(const char *controller, const char *path, char *ret, size_t size);

/* Where a hierarchy is mounted whole, as seen by who asked; empty: nowhere, or too long a name. */
struct cgmount_points {
	char v2[128], cpuacct[128], freezer[128], memory[128];
};
void cgmount_points(struct cgmount_points *ret);
/*
 * POINTS come from a process in the same namespaces. They are tried first, since the kernel takes
 * long to make mountinfo. Copied; what is not there (any more) is looked up.
 */
void cgmount_expect(const struct cgmount_points *points);

/*
 * Opens FILE ("." for the folder itself) of the step whose cgroup PATH is. Returns a descriptor or
 * -errno. -ENOENT also for "" and for the root, which is never a step. On a hybrid node whose Slurm
 * uses v1, v2 shows every process in its root, and the counters there are the whole node's.
 */
int cgmount_open_step(const char *controller, const char *path, const char *file);

/*
 * Reads /proc/PID/cgroup from F. The paths of the three hierarchies are cut after their
 * last component that begins with "step_"; "" where there is none. -ENAMETOOLONG: one
 * does not fit, nothing is written.
 */
int cgmount_step_paths(FILE *f, char *v2, char *cpuacct, char *freezer, size_t size);

#endif
