/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/activity/perf_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/libmeter/activity/cgprocs.h"
#include "src/libutil/util.h"

/*
 * Limits of a search, which costs 1 us per descriptor. A profiler is an ancestor of the processes
 * that it profiles, so it is among the first of a cgroup, or in every rank.
 */
#define MAX_PROCESSES 64
#define MAX_FDS 128

/*
 * Returns true if PID has a perf event open. slurmstepd is left out: it may be in the step's cgroup,
 * and its perf events are ours.
 */
static bool has_event(pid_t pid)
{
	static const char event[] = "anon_inode:[perf_event]";
	unsigned int left = MAX_FDS;
	char path[64], to[64];
	struct dirent *d;
	bool has = false;
	DIR *dir;

	if (pid == getpid())
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false; /* the process has just ended */
	while (!has && left-- && (d = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, to, sizeof(to));

		has = n == (ssize_t)strlen(event) && !memcmp(to, event, (size_t)n);
	}
	(void)closedir(dir);
	return has;
}

struct look {
	unsigned int left;
	bool has;
};

static int perf_profiler_look(void *ctx, pid_t pid)
{
	struct look *l = ctx;

	l->has = has_event(pid);
	return l->has || !--l->left ? -1 : 0;
}

bool perf_profiler_in_cgroup(int cgroup_fd)
{
	/* a new descriptor, since the walk moves its offset */
	_cleanup_close_ int fd = openat(cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct look l = { .left = MAX_PROCESSES };
	struct cgprocs procs = { 0 };

	if (fd < 0)
		return false;
	(void)cgprocs_each(&procs, fd, perf_profiler_look, &l);
	cgprocs_fini(&procs);
	return l.has;
}

bool perf_profiler_among(const pid_t *pid, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < MAX_PROCESSES; i++)
		if (has_event(pid[i]))
			return true;
	return false;
}
