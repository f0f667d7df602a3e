/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pipe2 */
#include "src/libnode/bpfload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/util.h"

/* How long to wait for a killed helper, which may still be loading programs in the kernel. */
#define KILL_MAX_NS NSEC_PER_SEC

struct bpfload {
	char helper[PATH_MAX];
	pid_t pid;
	int out; /* a pipe from the helper; -1: the helper has closed it */
	uint64_t deadline_ns;
	char words[400];
	size_t used;
};

/*
 * Reads what the helper writes, and keeps as much as there is room for. Returns false
 * once it has closed the pipe.
 */
static bool bpfload_hear(struct bpfload *l)
{
	const size_t room = sizeof(l->words) - 1 - l->used;
	char rest[256];
	ssize_t n = room ? read(l->out, l->words + l->used, room) : read(l->out, rest, sizeof(rest));

	if (n > 0 && room)
		l->used += (size_t)n;
	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Listens until the helper closes the pipe or the time is up, at least once. */
static void listen_until(struct bpfload *l, uint64_t until_ns)
{
	struct pollfd p = { .fd = l->out, .events = POLLIN };
	uint64_t now_ns;
	int ms;

	while (l->out >= 0) {
		now_ns = clock_mono_ns();
		ms = now_ns < until_ns ? (int)((until_ns - now_ns) / NSEC_PER_MSEC) + 1 : 0;
		if (poll(&p, 1, ms) > 0 && !bpfload_hear(l))
			(void)close(TAKE_FD(l->out));
		else if (!ms)
			break;
	}
}

static void bpfload_free(struct bpfload *l)
{
	util_closep(&l->out);
	free(l);
}

static int outcome_of_exit(const char *helper, int status, const char *words, struct errmsg *err)
{
	if (WIFSIGNALED(status))
		return errmsg_set(err, -EIO, "%s was killed by signal %d", helper, WTERMSIG(status));
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
		return errmsg_set(err, -EIO, "%s ended with %d: %s", helper, WEXITSTATUS(status), words);
	}
}

int bpfload_wait(struct bpfload *l, uint64_t until_ns, struct errmsg *err)
{
	int status, rc;

	if (until_ns > l->deadline_ns)
		until_ns = l->deadline_ns;
	listen_until(l, until_ns);
	rc = l->out < 0 ? helper_wait(l->pid, until_ns, &status) : -EAGAIN;
	if (rc == -EAGAIN && clock_mono_ns() < l->deadline_ns)
		return rc;
	l->words[strcspn(l->words, "\n")] = '\0'; /* only the first line; ceems-bpf prints no more than one */
	if (rc == -EAGAIN) {
		rc = errmsg_set(err, -ETIMEDOUT, "%s took too long and was killed", l->helper);
		bpfload_cancel(l);
		return rc;
	}
	if (rc == 0)
		rc = outcome_of_exit(l->helper, status, l->words, err);
	else /* ceems-bpf prints nothing if it succeeds */
		rc = l->words[0] ? errmsg_set(err, -EIO, "%s: %s", l->helper, l->words) : 0;
	bpfload_free(l);
	return rc;
}

/* If the helper does not end even when it is killed, it is left to init. */
void bpfload_cancel(struct bpfload *l)
{
	if (!l)
		return;
	(void)kill(l->pid, SIGKILL);
	(void)helper_wait(l->pid, clock_mono_ns() + KILL_MAX_NS, NULL);
	bpfload_free(l);
}

static int bpfload_spawn(struct bpfload *l, char *const *argv, struct errmsg *err)
{
	_cleanup_close_ int out = -1;
	int pipefd[2];
	int rc;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return errmsg_errno(err, -errno, "cannot make a pipe from %s", l->helper);
	l->out = pipefd[0];
	out = pipefd[1];
	rc = helper_spawn(argv, NULL, -1, out, &l->pid);
	return rc < 0 ? errmsg_errno(err, rc == -ENOENT ? -EOPNOTSUPP : -EIO, "cannot start %s", l->helper) :
			0;
}

static int start_verb(const char *helper, const char *verb, const char *dir, uint64_t timeout_ns,
		      struct bpfload **ret, struct errmsg *err)
{
	char pid[16];
	/* the casts are safe: posix_spawn() does not change the texts */
	char *const argv[] = {
		(char *)helper, (char *)verb, (char *)"--dir", (char *)dir, (char *)"--for", pid, NULL
	};
	struct bpfload *l;
	int rc;

	if (!*dir)
		return errmsg_set(err, -ENOENT, "BpfDir is empty");
	l = calloc(1, sizeof(*l));
	if (!l)
		return errmsg_errno(err, -ENOMEM, "%s", helper);
	l->out = -1;
	l->deadline_ns = clock_mono_ns() + timeout_ns;
	(void)snprintf(l->helper, sizeof(l->helper), "%s", helper);
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	rc = bpfload_spawn(l, argv, err);
	if (rc < 0) {
		bpfload_free(l);
		return rc;
	}
	*ret = l;
	return 0;
}

static int run_verb(const char *helper, const char *verb, const char *dir, uint64_t timeout_ns,
		    struct errmsg *err)
{
	struct bpfload *l;
	int rc = start_verb(helper, verb, dir, timeout_ns, &l, err);

	return rc < 0 ? rc : bpfload_wait(l, UINT64_MAX, err);
}

int bpfload_start(const char *helper, const char *dir, uint64_t timeout_ns, struct bpfload **ret,
		  struct errmsg *err)
{
	return start_verb(helper, "load", dir, timeout_ns, ret, err);
}

int bpfload_run(const char *helper, const char *dir, uint64_t timeout_ns, struct errmsg *err)
{
	return run_verb(helper, "load", dir, timeout_ns, err);
}

int bpfload_stop(const char *helper, const char *dir, uint64_t timeout_ns, struct errmsg *err)
{
	return run_verb(helper, "unload", dir, timeout_ns, err);
}
