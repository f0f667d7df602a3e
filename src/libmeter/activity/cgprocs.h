/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgprocs.h - lists the processes of a cgroup and of all cgroups below it, and moves one into a cgroup.
 */
#ifndef CEEMS_CGPROCS_H
#define CEEMS_CGPROCS_H

#include <stddef.h>
#include <sys/types.h>

/* A buffer that is kept between walks; it grows to the longest list. Start with `= { 0 }`. */
struct cgprocs {
	char *text; /* the content of cgroup.procs or of another such file */
	size_t size;
};

/* Called for each process. A negative result ends the walk. */
typedef int cgprocs_fn(void *ctx, pid_t pid);

/*
 * Calls FN for each process in the cgroup FOLDER_FD and below it. Returns 0; -errno if the folder
 * is gone; -ENOMEM; or the negative result of FN, which ends the walk. Moves FOLDER_FD's file
 * offset. Folders made or removed meanwhile may be missed.
 */
int cgprocs_each(struct cgprocs *p, int folder_fd, cgprocs_fn *fn, void *ctx);

/* Calls FN for each pid in the one file NAME of the folder. */
int cgprocs_each_in(struct cgprocs *p, int folder_fd, const char *name, cgprocs_fn *fn, void *ctx);

void cgprocs_fini(struct cgprocs *p);

/* Moves process PID, with all its threads, into the cgroup FOLDER_FD. -ESRCH: it has ended. */
int cgprocs_move(int folder_fd, pid_t pid);

/*
 * Returns 1 if any process is in the v2 cgroup FOLDER_FD or below it, at any depth, else 0. A dying
 * task counts until it has passed the tracepoint of its exit. -ENOENT: the cgroup is v1, or its
 * folder is gone.
 */
int cgprocs_are_there(int folder_fd);

#endif
