/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/oldhelpers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/libmeter/activity/cgprocs.h"
#include "src/libutil/helper.h"
#include "src/libutil/procstat.h"
#include "src/libutil/util.h"

/* The names of all our helpers begin with this. slurmd may have other children. */
#define NAME_PREFIX "ceems-"

struct search {
	struct oldhelpers *o;
	const char *helper_dir;
};

/* Compares names, since /proc does not tell the path of a zombie's program. */
static bool is_helper(pid_t pid, const char *helper_dir)
{
	struct procstat stat;
	char path[PATH_MAX];

	return procstat_read(pid, &stat) == 0 && !strncmp(stat.name, NAME_PREFIX, strlen(NAME_PREFIX)) &&
	       !strchr(stat.name, '/') &&
	       snprintf(path, sizeof(path), "%s/%s", helper_dir, stat.name) < (int)sizeof(path) &&
	       access(path, X_OK) == 0;
}

static int oldhelpers_add(void *ctx, pid_t pid)
{
	struct search *search = ctx;
	struct oldhelpers *o = search->o;
	pid_t *grown;

	if (!is_helper(pid, search->helper_dir))
		return 0;
	grown = realloc(o->pid, (o->n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	o->pid = grown;
	o->pid[o->n++] = pid;
	return 0;
}

/*
 * /proc lists children by the thread that started them. execve(2) ends all threads but one, which becomes the
 * first thread and has all children.
 */
void oldhelpers_find(struct oldhelpers *o, const char *helper_dir)
{
	struct search search = { o, helper_dir };
	struct cgprocs children = { 0 };
	_cleanup_close_ int fd = -1;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)getpid(), (int)getpid());
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)cgprocs_each_in(&children, fd, "children", oldhelpers_add, &search);
	cgprocs_fini(&children);
	oldhelpers_reap(o);
}

void oldhelpers_reap(struct oldhelpers *o)
{
	size_t i, left = 0;

	for (i = 0; i < o->n; i++)
		if (helper_wait(o->pid[i], 0, NULL) == -EAGAIN)
			o->pid[left++] = o->pid[i];
	o->n = left;
}

void oldhelpers_fini(struct oldhelpers *o)
{
	free(o->pid);
	*o = (struct oldhelpers){ 0 };
}
