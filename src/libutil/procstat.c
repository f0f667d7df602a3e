/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/procstat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/fileio.h"

int procstat_parse(const char *text, struct procstat *ret)
{
	uint64_t utime, stime, cutime, cstime;
	struct procstat s;
	/* the name may contain blanks and parentheses */
	const char *name = strchr(text, '('), *p = strrchr(text, ')');

	if (!name || !p || p < name ||
	    sscanf(p + 1,
		   " %c %" SCNd32 " %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %*d %*d %*d %*d %" SCNu64,
		   &s.state, &s.ppid, &utime, &stime, &cutime, &cstime, &s.start_ticks) != 7)
		return -EINVAL;
	(void)snprintf(s.name, sizeof(s.name), "%.*s", (int)(p - name - 1), name + 1);
	s.cpu_ticks = utime + stime + cutime + cstime;
	*ret = s;
	return 0;
}

static int procstat_read_file(const char *path, struct procstat *ret)
{
	_cleanup_close_ int fd = fileio_open_at_root("", path);
	char buf[1024];
	ssize_t n;

	if (fd < 0)
		return fd;
	n = fileio_pread_all(fd, buf, sizeof(buf));
	if (n < 0)
		return (int)n; /* -ESRCH: the process ended between open and read */
	return procstat_parse(buf, ret);
}

int procstat_read(pid_t pid, struct procstat *ret)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return procstat_read_file(path, ret);
}

int procstat_read_thread(pid_t pid, pid_t tid, struct procstat *ret)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	return procstat_read_file(path, ret);
}

int procstat_own_start(uint64_t *ret)
{
	static _Atomic uint64_t ticks;
	/* the pid for which TICKS was read; a forked child has another start time */
	static _Atomic pid_t owner;
	struct procstat s;
	int rc;

	if (atomic_load(&owner) != getpid()) {
		rc = procstat_read(getpid(), &s);
		if (rc < 0)
			return rc;
		atomic_store(&ticks, s.start_ticks);
		atomic_store(&owner, getpid());
	}
	*ret = atomic_load(&ticks);
	return 0;
}

bool procstat_is_alive(pid_t pid, uint64_t start_ticks)
{
	struct procstat s;
	int rc;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return false;
	rc = procstat_read(pid, &s);
	if (rc < 0)
		return rc != -ENOENT && rc != -ESRCH;
	return s.state != 'Z' && s.state != 'X' && (!start_ticks || s.start_ticks == start_ticks);
}
