/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cputime_procs.h - CPU time as a sum over processes. It is used on v1 without cpuacct, where only
 * the freezer cgroup lists a step's processes, and where there are no cgroups, for the descendants
 * of one process.
 */
#ifndef CEEMS_CPUTIME_PROCS_H
#define CEEMS_CPUTIME_PROCS_H

#include <stdint.h>
#include <sys/types.h>

#include "src/libutil/must_check.h"

struct cputime_procs;

/*
 * If ROOT is not 0, sums over the descendants of ROOT, without ROOT itself, and FOLDER_FD is not
 * used. Else FOLDER_FD is the cgroup's folder; the caller keeps it open until
 * cputime_procs_destroy().
 */
int cputime_procs_create(int folder_fd, pid_t root, struct cputime_procs **ret) _must_check_;

/*
 * Returns user plus system time of all processes in the group, and of those that were seen in an
 * earlier reading and have ended. The resolution is 10 ms per process (/proc/PID/stat). A process
 * that starts and ends between two readings counts only if another process of the group waits for
 * it. The result may decrease for a while: the time of an ended child is missing until its parent
 * waits for it. -errno: the folder is gone; -ENOMEM.
 */
int cputime_procs_read(struct cputime_procs *p, uint64_t *ret_busy_ns) _must_check_;

void cputime_procs_destroy(struct cputime_procs *p);

#endif
