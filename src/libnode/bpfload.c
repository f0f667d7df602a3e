/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pipe2 */
#include "src/libnode/bpfload.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/util.h"

/* How long to wait for a killed helper, which may still be loading programs in the kernel. */
#define KILL_MAX_NS NSEC_PER_SEC

/* Reads what the child writes, up to SIZE - 1 bytes, until it closes the pipe or the time is up. */
static void listen_until(int fd, uint64_t deadline_ns, char *buf, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char rest[256];
	size_t used = 0;
	uint64_t now;
	ssize_t n;

	while ((now = clock_mono_ns()) < deadline_ns) {
		bool full = used == size - 1;

		if (poll(&p, 1, (int)((deadline_ns - now) / NSEC_PER_MSEC) + 1) <= 0)
			continue;
		n = full ? read(fd, rest, sizeof(rest)) : read(fd, buf + used, size - 1 - used);
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			break;
		if (n > 0 && !full)
			used += (size_t)n;
	}
	buf[used] = '\0';
}

/* Waits for the child PID until DEADLINE_NS, then kills it. If it does not end even then, it is left to init. */
static int reap(pid_t pid, uint64_t deadline_ns, int *ret_status)
{
	int rc = helper_wait(pid, deadline_ns, ret_status);

	if (rc != -EAGAIN)
		return rc;
	(void)kill(pid, SIGKILL);
	(void)helper_wait(pid, clock_mono_ns() + KILL_MAX_NS, NULL);
	return -ETIMEDOUT;
}

static int outcome_of_exit(const char *helper, int status, const char *words, struct errmsg *err)
{
	if (WIFSIGNALED(status))
		return errmsg_set(err, -EIO, "%s was killed by signal %d", helper,
				  WTERMSIG(status));
	switch (WEXITSTATUS(status)) {
	case 0:
		return 0;
	case BPFLOAD_EXIT_UNSUPPORTED:
		return errmsg_set(err, -EOPNOTSUPP, "%s", words);
	case 127: /* some libcs report a failed exec as this exit status */
		return errmsg_set(err, -EOPNOTSUPP, "cannot start %s", helper);
	case BPFLOAD_EXIT_IN_USE:
		return errmsg_set(err, -EBUSY, "%s", words);
	default:
		return errmsg_set(err, -EIO, "%s ended with %d: %s", helper,
				  WEXITSTATUS(status), words);
	}
}

static int bpfload_wait_for(const char *helper, char *const *argv, uint64_t timeout_ns, struct errmsg *err)
{
	uint64_t deadline_ns = clock_mono_ns() + timeout_ns;
	_cleanup_close_ int in = -1, out = -1;
	char words[400];
	int pipefd[2];
	int status;
	pid_t pid;
	int rc;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return errmsg_errno(err, -errno, "cannot make a pipe from %s", helper);
	in = pipefd[0];
	out = pipefd[1];
	rc = helper_spawn(argv, NULL, -1, out, &pid);
	if (rc < 0)
		return errmsg_errno(err, rc == -ENOENT ? -EOPNOTSUPP : -EIO, "cannot start %s",
				    helper);
	(void)close(TAKE_FD(out));
	listen_until(in, deadline_ns, words, sizeof(words));
	words[strcspn(words, "\n")] = '\0'; /* only the first line; ceems-bpf prints no more than one */
	rc = reap(pid, deadline_ns, &status);
	if (rc == -ETIMEDOUT)
		return errmsg_set(err, rc, "%s took too long and was killed", helper);
	if (rc < 0)
		/* ceems-bpf prints nothing if it succeeds */
		return words[0] ? errmsg_set(err, -EIO, "%s: %s", helper, words) : 0;
	return outcome_of_exit(helper, status, words, err);
}

static int run_verb(const char *helper, const char *verb, const char *dir, uint64_t timeout_ns,
		    struct errmsg *err)
{
	char pid[16];
	/* the casts are safe: posix_spawn() does not change the texts */
	char *const argv[] = { (char *)helper, (char *)verb, (char *)"--dir", (char *)dir,
			       (char *)"--for", pid, NULL };

	if (!*dir)
		return errmsg_set(err, -ENOENT, "BpfDir is empty");
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return bpfload_wait_for(helper, argv, timeout_ns, err);
}

int bpfload_run(const char *helper, const char *dir, uint64_t timeout_ns, struct errmsg *err)
{
	return run_verb(helper, "load", dir, timeout_ns, err);
}

int bpfload_stop(const char *helper, const char *dir, uint64_t timeout_ns, struct errmsg *err)
{
	return run_verb(helper, "unload", dir, timeout_ns, err);
}
