/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgprocs.h - the processes of a cgroup's folder and of all folders below it.
 */
#ifndef CEEMS_CGPROCS_H
#define CEEMS_CGPROCS_H

#include <stddef.h>
#include <sys/types.h>

/* Start with `= { 0 }`; the memory grows with the longest list met and is kept. */
struct cgprocs {
	char *text; /* of cgroup.procs or another such list */
	size_t size;
};

/* Below 0 ends the walk. */
typedef int cgprocs_fn(void *ctx, pid_t pid);

/*
 * Calls FN for each process that is there now. Returns 0; -errno: the folder is gone; -ENOMEM; or
 * what FN returned to end the walk. FOLDER_FD's offset moves. Folders that come and go meanwhile
 * are left out.
 */
int cgprocs_each(struct cgprocs *p, int folder_fd, cgprocs_fn *fn, void *ctx);

/* The same of the pids in one file NAME of the folder. */
int cgprocs_each_in(struct cgprocs *p, int folder_fd, const char *name, cgprocs_fn *fn, void *ctx);

void cgprocs_fini(struct cgprocs *p);

/*
 * v2: whether there is a process in FOLDER_FD or below it, at any depth: 1 or 0. A dying task
 * counts until it has passed the tracepoint of its exit. -ENOENT: on v1, or the folder is gone.
 */
int cgprocs_are_there(int folder_fd);

#endif
