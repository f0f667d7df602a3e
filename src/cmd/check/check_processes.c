/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_processes.c - daemons of this machine by /proc: what they have loaded and which files they hold.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/cmd/check/check.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

/*
 * Returns true if a process with the name COMM is DAEMON. Debian's slurmctld is a link to slurmctld-wlm, and
 * has that name after scontrol reconfigure, for which Slurm 23.11 and later executes itself anew.
 */
static bool is_named(const char *comm, const char *daemon)
{
	const size_t len = strlen(daemon);

	return !strncmp(comm, daemon, len) && (comm[len] == '\0' || !strcmp(comm + len, "-wlm"));
}

/* Returns the next process of DAEMON in D, /proc; 0: there is none. */
static pid_t next_process(DIR *d, const char *daemon)
{
	struct dirent *e;
	uint64_t pid;
	char path[64];
	char comm[32];
	ssize_t n;
	int fd;

	while (d && (e = readdir(d))) {
		(void)snprintf(path, sizeof(path), "/proc/%.20s/comm", e->d_name);
		if (parse_u64(e->d_name, &pid) < 0 || (fd = fileio_open_at_root("/", path)) < 0)
			continue;
		n = fileio_pread_all(fd, comm, sizeof(comm));
		(void)close(fd);
		if (n < 0)
			continue; /* the process has just ended */
		comm[strcspn(comm, "\n")] = '\0';
		if (is_named(comm, daemon))
			return (pid_t)pid;
	}
	return 0;
}

static enum check_loaded maps_have(pid_t pid, const char *file)
{
	enum check_loaded is = CHECK_NOT_LOADED;
	char path[64];
	char line[PATH_MAX + 128];
	const char *at;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return CHECK_NO_DAEMON; /* we may not look into a process of another user */
	while (is == CHECK_NOT_LOADED && fgets(line, sizeof(line), f)) {
		at = strstr(line, file);
		if (at)
			is = strstr(at, " (deleted)") ? CHECK_OLD_FILE : CHECK_IS_LOADED;
	}
	(void)fclose(f);
	return is;
}

enum check_loaded check_process_loaded(const char *daemon, const char *file)
{
	enum check_loaded is = CHECK_NO_DAEMON;
	DIR *d = opendir("/proc");
	pid_t pid;

	while (is == CHECK_NO_DAEMON && (pid = next_process(d, daemon)))
		is = maps_have(pid, file);
	if (d)
		(void)closedir(d);
	return is;
}

pid_t check_process_mapping(const char *daemon, const char *file)
{
	DIR *d = opendir("/proc");
	pid_t pid;

	while ((pid = next_process(d, daemon)) && maps_have(pid, file) != CHECK_IS_LOADED)
		;
	if (d)
		(void)closedir(d);
	return pid;
}

int check_process_holds(pid_t pid, const char *begin)
{
	char path[PATH_MAX], to[PATH_MAX];
	struct dirent *e;
	bool holds = false;
	ssize_t n;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d)
		return -1;
	while (!holds && (e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, to, sizeof(to));
		holds = n >= (ssize_t)strlen(begin) && !memcmp(to, begin, strlen(begin));
	}
	(void)closedir(d);
	return holds;
}

pid_t check_process_holding(const char *daemon, const char *begin)
{
	DIR *d = opendir("/proc");
	pid_t pid;

	while ((pid = next_process(d, daemon)) && check_process_holds(pid, begin) <= 0)
		;
	if (d)
		(void)closedir(d);
	return pid;
}
