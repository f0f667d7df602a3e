/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proctree.h - the descendants of a process: a step's, where no cgroup holds them together. One whose
 * parent ends before it leaves the tree, unless an ancestor takes it over (PR_SET_CHILD_SUBREAPER).
 */
#ifndef CEEMS_PROCTREE_H
#define CEEMS_PROCTREE_H

#include "src/libmeter/activity/cgprocs.h"

/* Start with `= { 0 }`; the memory grows with the largest tree met and is kept. */
struct proctree {
	struct cgprocs text;
	pid_t *pid;
	size_t n, size;
};

/*
 * Calls FN for each process below ROOT, but not for ROOT. -ESRCH: ROOT is gone; -EOPNOTSUPP: a kernel
 * without CONFIG_PROC_CHILDREN; -ENOMEM, or what FN ended the walk with.
 */
int proctree_each(struct proctree *t, pid_t root, cgprocs_fn *fn, void *ctx);

void proctree_fini(struct proctree *t);

#endif
