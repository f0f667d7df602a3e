/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cputime_procs.h - CPU time of a cgroup as the sum over its processes. For v1 without cpuacct,
 * where a step has only its freezer folder. Or of all processes below one, where there is no
 * cgroup.
 */
#ifndef CEEMS_CPUTIME_PROCS_H
#define CEEMS_CPUTIME_PROCS_H

#include <stdint.h>
#include <sys/types.h>

struct cputime_procs;

/*
 * FOLDER_FD stays the caller's and has to outlive the object. With a ROOT it is not looked at: the
 * processes are those below ROOT, without ROOT itself.
 */
int cputime_procs_create(int folder_fd, pid_t root, struct cputime_procs **ret);

/*
 * User and system time of all processes in the folder and below it, and of those seen there before
 * that have ended. The resolution is that of /proc/PID/stat, 10 ms per process. A process that
 * lives and dies between two readings counts only if another process of the group waits for it. May
 * go back by a child's time while that is ended and not yet waited for. Memory grows with the
 * number of processes and is kept. -errno when the folder is gone, -ENOMEM.
 */
int cputime_procs_read(struct cputime_procs *p, uint64_t *ret_busy_ns);

void cputime_procs_destroy(struct cputime_procs *p);

#endif
