/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/proctree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "src/libutil/util.h"

/* Above the default pid_max: more is not a step but a mistake. */
#define MAX_PROCS 65536

void proctree_fini(struct proctree *t)
{
	cgprocs_fini(&t->text);
	free(t->pid);
	*t = (struct proctree){ 0 };
}

static int proctree_add(void *ctx, pid_t pid)
{
	struct proctree *t = ctx;

	if (t->n == MAX_PROCS)
		return 0;
	if (t->n == t->size) {
		size_t size = t->size ? 2 * t->size : 64;
		pid_t *grown = reallocarray(t->pid, size, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		t->pid = grown;
		t->size = size;
	}
	t->pid[t->n++] = pid;
	return 0;
}

/* Children belong to the thread that made them. -ESRCH: PID is gone. */
static int add_children(struct proctree *t, pid_t pid)
{
	char name[sizeof("/proc//task") + 3 * sizeof(pid)];
	const struct dirent *e;
	int rc = -ESRCH;
	DIR *tasks;

	(void)snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	tasks = opendir(name);
	while (tasks && (e = readdir(tasks))) {
		char children[sizeof(e->d_name) + sizeof("/children")];

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(children, sizeof(children), "%s/children", e->d_name);
		rc = cgprocs_each_in(&t->text, dirfd(tasks), children, proctree_add, t);
		if (rc == -ENOMEM)
			break;
	}
	if (tasks)
		(void)closedir(tasks);
	return rc;
}

int proctree_each(struct proctree *t, pid_t root, cgprocs_fn *fn, void *ctx)
{
	size_t i;
	int rc;

	t->n = 0;
	rc = proctree_add(t, root);
	for (i = 0; rc == 0 && i < t->n; i++) {
		rc = add_children(t, t->pid[i]);
		if (rc < 0 && rc != -ENOMEM && i > 0)
			rc = 0; /* ended meanwhile */
	}
	if (rc < 0)
		return rc == -ENOENT ? -EOPNOTSUPP : rc;
	for (i = 1; rc == 0 && i < t->n; i++)
		rc = fn(ctx, t->pid[i]);
	return rc;
}
