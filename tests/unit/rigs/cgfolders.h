/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgfolders.h - cgroups of the test's own, laid out as Slurm does, on whatever hierarchies the
 * machine that runs the test has.
 */
#ifndef CEEMS_CGFOLDERS_H
#define CEEMS_CGFOLDERS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/libmeter/activity/cgmount.h"
#include "tap.h"

enum { HIER_V2, HIER_CPUACCT, HIER_FREEZER, HIER_MEMORY, HIER_N };
static const char *const controllers[HIER_N] = { NULL, "cpuacct", "freezer", "memory" };
static const char *const hier_names[HIER_N] = { "v2", "v1 cpuacct", "v1 freezer", "v1 memory" };

/* One folder per hierarchy: OWN/ceems-test-PID/step_0/task_0, where OWN is where we are. */
struct folders {
	char top[HIER_N][PATH_MAX]; /* empty: cannot be made here */
	char step[HIER_N][PATH_MAX + 16];
	char task[HIER_N][PATH_MAX + 32];
};

static inline void own_path(int hier, char *path, size_t size)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];

	path[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		char *list = strchr(line, ':');
		char *p = list ? strchr(list + 1, ':') : NULL;

		line[strcspn(line, "\n")] = '\0';
		if (!p)
			continue;
		*p++ = '\0';
		list++;
		if (hier == HIER_V2 ? !*list : strstr(list, controllers[hier]) != NULL)
			snprintf(path, size, "%s", p);
	}
	if (f)
		fclose(f);
}

static inline void folders_make(struct folders *f)
{
	int i;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < HIER_N; i++) {
		char own[PATH_MAX / 2];
		char root[PATH_MAX / 2];

		own_path(i, own, sizeof(own));
		if (!own[0] || cgmount_find(controllers[i], own, root, sizeof(root)) < 0)
			continue;
		snprintf(f->top[i], sizeof(f->top[i]), "%s/ceems-test-%d", root, (int)getpid());
		snprintf(f->step[i], sizeof(f->step[i]), "%s/ceems-test-%d/step_0", root, (int)getpid());
		snprintf(f->task[i], sizeof(f->task[i]), "%s/ceems-test-%d/step_0/task_0", root,
			 (int)getpid());
		if (mkdir(f->top[i], 0755) < 0 || mkdir(f->step[i], 0755) < 0 ||
		    mkdir(f->task[i], 0755) < 0) {
			diag("%s: cannot make %s: %s", hier_names[i], f->task[i], strerror(errno));
			rmdir(f->step[i]);
			rmdir(f->top[i]);
			f->top[i][0] = '\0';
		}
	}
}

static inline void folders_remove(struct folders *f)
{
	char user[PATH_MAX + 32];
	int i;

	snprintf(user, sizeof(user), "%s/user", f->step[HIER_V2]);
	if (f->top[HIER_V2][0])
		(void)rmdir(user);
	for (i = 0; i < HIER_N; i++) {
		if (f->top[i][0] && (rmdir(f->task[i]) < 0 || rmdir(f->step[i]) < 0 || rmdir(f->top[i]) < 0))
			diag("%s stays: %s", f->top[i], strerror(errno));
	}
}

/* As /proc/PID/cgroup of a process in it names the step's folder. */
static inline void folders_step_path(int hier, char *path, size_t size)
{
	char own[PATH_MAX / 2];

	own_path(hier, own, sizeof(own));
	snprintf(path, size, "%s/ceems-test-%d/step_0", strcmp(own, "/") ? own : "", (int)getpid());
}

/*
 * Freezes or thaws the step as Slurm does, in v1 or v2, and fills PATHS. In v2 it makes the folder "user" of
 * the step, which folders_remove() removes. False: not possible here.
 */
static inline bool folders_freeze(const struct folders *f, int hier, bool is_frozen,
				  struct cgroup_paths *paths)
{
	char path[PATH_MAX + 64];
	const char *text = hier == HIER_V2 ? (is_frozen ? "1" : "0") : (is_frozen ? "FROZEN" : "THAWED");
	int fd;
	bool done;

	memset(paths, 0, sizeof(*paths));
	if (!f->top[hier][0])
		return false;
	folders_step_path(hier, hier == HIER_V2 ? paths->v2 : paths->freezer, CGROUP_PATH_MAX);
	snprintf(path, sizeof(path), "%s%s", f->step[hier], hier == HIER_V2 ? "/user" : "");
	if (hier == HIER_V2)
		(void)mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s%s", f->step[hier],
		 hier == HIER_V2 ? "/user/cgroup.freeze" : "/freezer.state");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return done;
}

/* The calling process goes into all task folders. */
static inline int folders_enter(const struct folders *f)
{
	int i;

	for (i = 0; i < HIER_N; i++) {
		char path[PATH_MAX + 64];
		int fd, rc;

		if (!f->top[i][0])
			continue;
		snprintf(path, sizeof(path), "%s/cgroup.procs", f->task[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		rc = fd < 0 || write(fd, "0", 1) != 1 ? -errno : 0;
		if (fd >= 0)
			close(fd);
		if (rc < 0)
			return rc;
	}
	return 0;
}

#endif
