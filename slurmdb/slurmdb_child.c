/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* prlimit */
#include "slurmdb/slurmdb_child.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "slurmdb/slurmdb_wire.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/util.h"

/* A worker of this age is replaced: slurm.conf may have changed, and libslurm may leak memory. */
#define WORKER_AGE_NS (300 * NSEC_PER_SEC)
#define END_NS (20 * NSEC_PER_MSEC)
/*
 * A killed process takes a moment to end on a busy host; a new worker waits for that up to
 * DYING_NS.
 */
#define DYING_NS NSEC_PER_SEC
#define ANSWER_MAX (UINT64_C(256) << 20)
/* A larger buffer is not kept: the windows of a busy site have megabytes, other answers some kB. */
#define ANSWER_KEPT (UINT64_C(256) << 10)

/* --- the process --------------------------------------------------------------------------- */

static void child_reap(struct slurmdb_child *c, uint64_t until_ns)
{
	size_t i;

	for (i = 0; i < SLURMDB_DYING_MAX; i++)
		if (c->dying[i] && helper_wait(c->dying[i], until_ns, NULL) != -EAGAIN)
			c->dying[i] = 0;
}

void slurmdb_child_stop(struct slurmdb_child *c)
{
	size_t i;

	if (c->fd < 0)
		return;
	(void)close(TAKE_FD(c->fd));
	if (!c->pid) /* already reaped: the pid may belong to another process */
		return;
	(void)kill(c->pid, SIGKILL);
	for (i = 0; c->dying[i]; i++) /* slurmdb_child_start() made sure that one is free */
		;
	c->dying[i] = c->pid;
	c->pid = 0;
	child_reap(c, 0);
}

/* Notes why the worker closed its socket. Its exit status may come a moment later. */
static void child_note_end(struct slurmdb_child *c)
{
	int status;
	int rc = helper_wait(c->pid, clock_mono_ns() + END_NS, &status);

	if (rc != -EAGAIN)
		c->pid = 0;
	if (*c->complaint)
		(void)snprintf(c->why, sizeof(c->why), "the worker ended: %s", c->complaint);
	else if (rc < 0)
		(void)snprintf(c->why, sizeof(c->why),
			       "the worker closed its connection; how it ends is not known");
	else if (WIFSIGNALED(status))
		(void)snprintf(c->why, sizeof(c->why), "the worker was killed by signal %d",
			       WTERMSIG(status));
	else
		(void)snprintf(c->why, sizeof(c->why), "the worker ended with exit status %d",
			       WEXITSTATUS(status));
}

static bool child_has_room(const struct slurmdb_child *c)
{
	size_t i;

	for (i = 0; i < SLURMDB_DYING_MAX; i++)
		if (!c->dying[i])
			return true;
	return false;
}

static bool child_may_start(struct slurmdb_child *c)
{
	child_reap(c, 0);
	if (!child_has_room(c))
		child_reap(c, clock_mono_ns() + DYING_NS);
	return child_has_room(c);
}

/* Limits the worker's memory, and forbids core dumps: libslurm aborts when it is out of memory. */
static void child_limit(const struct slurmdb_child *c)
{
	const struct rlimit no_core = { 0, 0 };
	const struct rlimit memory = { c->memory_max, c->memory_max };

	(void)prlimit(c->pid, RLIMIT_CORE, &no_core, NULL);
	/* the shadow memory of sanitizers is larger than any limit */
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
	(void)prlimit(c->pid, RLIMIT_AS, &memory, NULL);
#else
	(void)memory;
#endif
}

int slurmdb_child_start(struct slurmdb_child *c, uint64_t now)
{
	int pair[2];
	int rc;

	if (!child_may_start(c)) {
		(void)snprintf(c->why, sizeof(c->why), "killed workers do not exit");
		return -EBUSY;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		(void)snprintf(c->why, sizeof(c->why), "socketpair: %s", strerror(errno));
		return -errno;
	}
	rc = helper_spawn(c->argv, environ, pair[1], pair[1], &c->pid);
	(void)close(pair[1]);
	if (rc < 0) {
		(void)snprintf(c->why, sizeof(c->why), "cannot start %s: %s", c->argv[0], strerror(-rc));
		(void)close(pair[0]);
		return rc;
	}
	c->fd = pair[0];
	c->born_ns = now;
	child_limit(c);
	return 0;
}

void slurmdb_child_look_at_idle(struct slurmdb_child *c, uint64_t now)
{
	char text[512];
	ssize_t n;

	if (c->room > ANSWER_KEPT) {
		free(TAKE_PTR(c->buf));
		c->room = c->used = c->scanned = c->taken = 0;
	}
	if (c->fd < 0)
		return;
	do {
		n = recv(c->fd, text, sizeof(text), MSG_DONTWAIT);
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n == 0 || (n < 0 && errno != EAGAIN) || now - c->born_ns > WORKER_AGE_NS)
		slurmdb_child_stop(c);
}

/* --- questions and answers ------------------------------------------------------------------ */

int slurmdb_child_send(struct slurmdb_child *c, const char *text, size_t len)
{
	ssize_t n = send(c->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n == (ssize_t)len)
		return 0;
	(void)snprintf(c->why, sizeof(c->why), "the request could not be sent to the worker: %s",
		       n < 0 ? strerror(errno) : "its pipe is full");
	return -EIO;
}

void slurmdb_child_begin(struct slurmdb_child *c, uint64_t number)
{
	c->used = c->scanned = c->taken = c->rows = 0;
	c->complaint[0] = '\0';
	c->number = number;
}

static int child_grow(struct slurmdb_child *c)
{
	size_t room = c->room ? 2 * c->room : 65536;
	char *more;

	if (c->used < c->room)
		return 0;
	if (room > ANSWER_MAX) {
		(void)snprintf(c->why, sizeof(c->why), "the answer has more than %" PRIu64 " MiB",
			       ANSWER_MAX >> 20);
		return -EMSGSIZE;
	}
	more = realloc(c->buf, room);
	if (!more) {
		(void)snprintf(c->why, sizeof(c->why), "out of memory");
		return -ENOMEM;
	}
	c->buf = more;
	c->room = room;
	return 0;
}

static int child_bad_answer(struct slurmdb_child *c, const char *line)
{
	(void)snprintf(c->why, sizeof(c->why), "the worker's answer is malformed: %.60s", line);
	return -EBADMSG;
}

static int child_scan_done(struct slurmdb_child *c, const char *line)
{
	uint64_t number;
	size_t count;

	if (slurmdb_wire_get_done(line, &number, &count) < 0 || number != c->number || count != c->rows)
		return child_bad_answer(c, line);
	return 1;
}

static int child_scan_failed(struct slurmdb_child *c, const char *line)
{
	const char *text;
	uint64_t number;
	int rc;

	if (slurmdb_wire_get_failed(line, &number, &rc, &text) < 0 || number != c->number)
		return child_bad_answer(c, line);
	(void)snprintf(c->why, sizeof(c->why), "%s", text);
	return rc == -ECONNREFUSED ? -ECONNREFUSED : -EIO;
}

/* Scans complete lines. 1: the answer is complete; 0: not yet; -errno: the question failed. */
static int child_scan(struct slurmdb_child *c)
{
	char *line, *end;

	while (c->scanned < c->used) {
		line = c->buf + c->scanned;
		end = memchr(line, '\n', c->used - c->scanned);
		if (!end)
			return 0;
		c->scanned = (size_t)(end - c->buf) + 1;
		switch (slurmdb_wire_answer(line, (size_t)(end - line))) {
		case SLURMDB_WIRE_JOB:
			c->rows++;
			break;
		case SLURMDB_WIRE_DONE:
			*end = '\0';
			return child_scan_done(c, line);
		case SLURMDB_WIRE_FAILED:
			*end = '\0';
			return child_scan_failed(c, line);
		case SLURMDB_WIRE_OTHER:
			(void)snprintf(c->complaint, sizeof(c->complaint), "%.*s", (int)(end - line), line);
			break;
		}
	}
	return 0;
}

/* Reads more of the answer; see slurmdb_child.h. */
int slurmdb_child_read(struct slurmdb_child *c)
{
	ssize_t n;
	int rc;

	for (;;) {
		rc = child_grow(c);
		if (rc < 0)
			return rc;
		n = recv(c->fd, c->buf + c->used, c->room - c->used, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			child_note_end(c);
			return -EPIPE;
		}
		c->used += (size_t)n;
		rc = child_scan(c);
		if (rc)
			return rc;
	}
}

/* Returns the next row; see slurmdb_child.h. */
int slurmdb_child_next_row(struct slurmdb_child *c, struct slurmdb_job *ret)
{
	while (c->taken < c->scanned) {
		const char *line = c->buf + c->taken;
		const char *end = memchr(line, '\n', c->scanned - c->taken);
		size_t len = end ? (size_t)(end - line) : 0;

		if (!end) /* the last line was ended by NUL instead */
			break;
		c->taken += len + 1;
		if (slurmdb_wire_answer(line, len) != SLURMDB_WIRE_JOB)
			continue;
		if (slurmdb_wire_get_job(line, len, ret) < 0)
			return child_bad_answer(c, "a record");
		return 1;
	}
	return 0;
}

void slurmdb_child_fini(struct slurmdb_child *c)
{
	slurmdb_child_stop(c);
	free(c->buf);
	c->buf = NULL;
}
