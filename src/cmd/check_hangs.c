/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check_hangs.c - looks at files whose file server may not answer. A child process looks, since whoever does may
 * hang.
 */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cmd/check.h"
#include "src/libutil/clock.h"
#include "src/libutil/localfs.h"

/* How long a path may take to answer. */
#define ANSWER_NS (5 * NSEC_PER_SEC)

/* A child process that looks at a path. */
struct looker {
	pid_t pid;
	int fd; /* where it writes its answer */
};

struct answer {
	int rc; /* of stat(2) */
	struct stat st;
};

/* Runs in the child process. */
static void look(const char *path, int fd)
{
	struct answer a = { .rc = 0 };

	if (stat(path, &a.st) < 0)
		a.rc = -errno;
	_exit(write(fd, &a, sizeof(a)) != sizeof(a));
}

static int looker_start(const char *path, struct looker *ret)
{
	int fd[2], rc = 0;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	ret->pid = fork();
	if (ret->pid == 0)
		look(path, fd[1]);
	if (ret->pid < 0)
		rc = -errno;
	(void)close(fd[1]);
	if (rc < 0)
		(void)close(fd[0]);
	else
		ret->fd = fd[0];
	return rc;
}

/* Waits for the answer until DEADLINE_NS (CLOCK_MONOTONIC), and ends the child. -ETIMEDOUT: none came. */
static int looker_end(struct looker *l, uint64_t deadline_ns, struct stat *ret)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };
	uint64_t now_ns = clock_mono_ns();
	int ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / NSEC_PER_MSEC) + 1 : 0;
	int rc = poll(&p, 1, ms) == 1 ? 0 : -ETIMEDOUT;
	struct answer a = { .rc = -EIO };

	if (rc == 0 && read(l->fd, &a, sizeof(a)) == sizeof(a))
		*ret = a.st;
	(void)close(l->fd);
	/* a killed child may hang on, so it is not waited for */
	if (rc < 0)
		(void)kill(l->pid, SIGKILL);
	(void)waitpid(l->pid, NULL, rc < 0 ? WNOHANG : 0);
	return rc < 0 ? rc : a.rc;
}

int check_stat(const char *path, struct stat *ret)
{
	struct looker l = { .fd = -1 };
	int rc = looker_start(path, &l);

	return rc < 0 ? rc : looker_end(&l, clock_mono_ns() + ANSWER_NS, ret);
}

const char *check_hang_hint(const char *path, char hint[CHECK_HINT_MAX])
{
	static const char rest[] = "does not answer, or use a path on another file system";
	struct localfs_mount mount;

	if (localfs_find_mount(path, &mount))
		(void)snprintf(hint, CHECK_HINT_MAX, "see why the file server of %s (%s, %s) %s", mount.dir, mount.kind,
			       mount.source, rest);
	else
		(void)snprintf(hint, CHECK_HINT_MAX, "see why %s %s", path, rest);
	return hint;
}
