/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/cgleave.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/libmeter/activity/cgmount.h"
#include "src/libmeter/activity/cgprocs.h"
#include "src/libutil/util.h"

/* How often the processes of a cgroup are listed. Our programs fork once or twice. */
#define PASSES_MAX 10

struct leaving {
	pid_t pid;	 /* the process, and the id of its group */
	int to;		 /* folder of the cgroup they go to */
	bool is_changed; /* in this pass, a process was moved or had ended; it may have left a child */
	int rc;		 /* the first error */
};

/* Returns where TEXT begins last in PATH; NULL: nowhere. */
static const char *find_last(const char *path, const char *text)
{
	const char *last = NULL;

	while ((path = strstr(path, text)))
		last = path++;
	return last;
}

int cgleave_path(const char *path, bool is_v2, char *ret, size_t size)
{
	/*
	 * v1: BASE/uid_0/job_1, also without step_0; v2: BASE/job_1/step_0/slurm. 26.05
	 * has other names than job_1
	 */
	const char *end = find_last(path, is_v2 ? "/step_" : "/uid_");
	int len, n;

	if (!end || (!is_v2 && !strstr(end, "/job_")))
		return -ENOENT;
	if (is_v2)
		while (end > path && *--end != '/')
			;
	len = (int)(end - path);
	n = snprintf(ret, size, "%.*s%s", len, path, is_v2 ? "/system" : len ? "" : "/");
	return (size_t)n < size ? 0 : -ENAMETOOLONG;
}

static int open_folder(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int move_if_leaving(void *ctx, pid_t pid)
{
	struct leaving *l = ctx;
	const pid_t group = getpgid(pid);
	int rc = -ESRCH;

	if (pid == l->pid || group == l->pid)
		rc = cgprocs_move(l->to, pid);
	else if (group >= 0)
		return 0;
	if (rc == 0 || rc == -ESRCH)
		l->is_changed = true;
	else if (!l->rc)
		l->rc = rc;
	return 0;
}

/* Moves until no process is left: one may have forked after the list was read and before it was moved. */
static int move_all(struct leaving *l, int from_fd)
{
	struct cgprocs procs = { 0 };
	unsigned int i;
	int rc = 0;

	l->is_changed = true;
	for (i = 0; i < PASSES_MAX && rc == 0 && l->is_changed; i++) {
		l->is_changed = false;
		rc = cgprocs_each_in(&procs, from_fd, "cgroup.procs", move_if_leaving, l);
	}
	cgprocs_fini(&procs);
	return rc < 0 ? rc : l->rc;
}

/* Does the same as cgleave() in one hierarchy. */
static int leave_hierarchy(const char *controller, const char *path, pid_t pid)
{
	char to[PATH_MAX], from_folder[PATH_MAX], to_folder[PATH_MAX];
	struct leaving l = { .pid = pid };
	_cleanup_close_ int from_fd = -1;
	_cleanup_close_ int to_fd = -1;
	int rc = cgleave_path(path, !controller, to, sizeof(to));

	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	if (cgmount_find(controller, path, from_folder, sizeof(from_folder)) < 0)
		return 0; /* not mounted, so Slurm does not use it */
	rc = cgmount_find(controller, to, to_folder, sizeof(to_folder));
	if (rc < 0)
		return rc;
	from_fd = open_folder(from_folder);
	if (from_fd < 0)
		return from_fd;
	l.to = to_fd = open_folder(to_folder);
	if (to_fd < 0)
		return to_fd;
	return move_all(&l, from_fd);
}

int cgleave(pid_t pid)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	_cleanup_free_ char *line = NULL;
	size_t line_size = 0;
	int rc = 0;

	if (!f)
		return -errno;
	while (getline(&line, &line_size, f) > 0) {
		char *list = strchr(line, ':');
		char *path = list ? strchr(list + 1, ':') : NULL;
		int this_rc;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		list[1 + strcspn(list + 1, ",")] = '\0'; /* any controller of the hierarchy finds its mount */
		this_rc = leave_hierarchy(list[1] ? list + 1 : NULL, path, pid);
		if (!rc)
			rc = this_rc;
	}
	return rc;
}
