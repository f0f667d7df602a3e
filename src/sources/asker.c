/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pipe2 */
#include "src/sources/asker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/parse.h"

/* Of a stream without lines, in one call. */
#define READ_MAX 1024

struct asker {
	char *const *argv;
	uint64_t silence_ns;
	int fd;		    /* what it writes; -1: it has ended or was killed */
	pid_t pid;	    /* 0: reaped */
	uint64_t heard_ns;  /* something came, or it was started */
	uint64_t pause_ns;
	uint64_t restart_ns;
	size_t used;
	bool is_cut;	    /* the rest of a line that was too long is dropped */
	char line[256];
};

/* --- its life ----------------------------------------------------------------------------- */

static int start(struct asker *a, uint64_t now_ns)
{
	int pipefd[2];
	int rc;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return -errno;
	/* for us alone: the process shares its end with nobody and may block in it */
	rc = fcntl(pipefd[0], F_SETFL, O_NONBLOCK) < 0 ? -errno :
							 helper_spawn(a->argv, pipefd[1], &a->pid);
	(void)close(pipefd[1]);
	if (rc < 0) {
		(void)close(pipefd[0]);
		a->pid = 0;
		return rc;
	}
	a->fd = pipefd[0];
	a->used = 0;
	a->is_cut = false;
	a->heard_ns = now_ns;
	return 0;
}

static void pause_until(struct asker *a, uint64_t now_ns)
{
	a->restart_ns = now_ns + a->pause_ns;
	a->pause_ns *= 2;
	if (a->pause_ns > ASKER_PAUSE_MAX_NS)
		a->pause_ns = ASKER_PAUSE_MAX_NS;
}

static void reap(struct asker *a, uint64_t deadline_ns)
{
	if (a->pid && helper_wait(a->pid, deadline_ns, NULL) != -EAGAIN)
		a->pid = 0;
}

static void stop(struct asker *a, uint64_t now_ns)
{
	/* of one that has ended and that others have reaped, the number may be another's by now */
	reap(a, 0);
	if (a->pid)
		(void)kill(a->pid, SIGKILL);
	(void)close(a->fd);
	a->fd = -1;
	pause_until(a, now_ns);
}

/* While the kernel holds the old one there is no new one. */
static void restart(struct asker *a, uint64_t now_ns)
{
	if (a->fd >= 0)
		return;
	reap(a, 0);
	if (!a->pid && now_ns >= a->restart_ns && start(a, now_ns) < 0)
		pause_until(a, now_ns);
}

/* --- its words ---------------------------------------------------------------------------- */

static void set_text(struct answer *ret, enum answer_kind kind, const char *text)
{
	struct errmsg masked = { 0 };

	(void)errmsg_set(&masked, 0, "%s", text);
	ret->kind = kind;
	(void)snprintf(ret->text, sizeof(ret->text), "%.*s", (int)sizeof(ret->text) - 1,
		       masked.text);
}

static bool is_value(char *words, uint64_t now_ns, struct answer *ret)
{
	char *space = strchr(words, ' ');

	if (!space)
		return false;
	*space = '\0';
	if (parse_u64(words, &ret->value) == 0 && parse_u64(space + 1, &ret->t_ns) == 0 &&
	    ret->t_ns && ret->t_ns <= now_ns)
		return true;
	*space = ' ';
	return false;
}

static void parse_line(struct asker *a, uint64_t now_ns, struct answer *ret)
{
	*ret = (struct answer){ .kind = ANSWER_VALUE };
	if (a->is_cut)
		set_text(ret, ANSWER_ERROR, a->line);
	else if (!strncmp(a->line, "value ", 6) && is_value(a->line + 6, now_ns, ret))
		a->pause_ns = ASKER_PAUSE_NS;
	else if (!strncmp(a->line, "error ", 6))
		set_text(ret, ANSWER_ERROR, a->line + 6);
	else if (!strncmp(a->line, "never ", 6))
		set_text(ret, ANSWER_NEVER, a->line + 6);
	else
		set_text(ret, ANSWER_ERROR, a->line);
	a->is_cut = false;
}

/* The next byte: byte by byte, as there are some thirty every few seconds. 1: a line is whole. */
static int take_byte(struct asker *a)
{
	char c;
	ssize_t n = read(a->fd, &c, 1);

	if (n == 0)
		return -EPIPE;
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (c != '\n') {
		if (a->used < sizeof(a->line) - 1)
			a->line[a->used++] = c;
		else
			a->is_cut = true;
		return 0;
	}
	a->line[a->used] = '\0';
	a->used = 0;
	return 1;
}

static int give_up(struct asker *a, uint64_t now_ns, const char *why, struct answer *ret)
{
	stop(a, now_ns);
	*ret = (struct answer){ 0 };
	set_text(ret, ANSWER_ERROR, why);
	return 0;
}

int asker_next(struct asker *a, uint64_t now_ns, struct answer *ret)
{
	size_t max = READ_MAX;
	int rc = 0;

	restart(a, now_ns);
	if (a->fd < 0)
		return -EAGAIN;
	while (rc == 0 && max--)
		rc = take_byte(a);
	if (rc != -EAGAIN)
		a->heard_ns = now_ns;
	if (rc == 1) {
		parse_line(a, now_ns, ret);
		return 0;
	}
	if (rc < 0 && rc != -EAGAIN)
		return give_up(a, now_ns, "the helper ended", ret);
	if (now_ns > a->heard_ns && now_ns - a->heard_ns > a->silence_ns)
		return give_up(a, now_ns, "the helper hung and was killed", ret);
	return -EAGAIN;
}

int asker_poll(struct asker *a, uint64_t timeout_ns)
{
	struct pollfd p = { .fd = a->fd, .events = POLLIN };

	return poll(&p, 1, (int)(timeout_ns / NSEC_PER_MSEC)) == 1 ? 0 : -EAGAIN;
}

int asker_open(char *const *argv, uint64_t silence_ns, struct asker **ret, struct errmsg *err)
{
	struct asker *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return errmsg_errno(err, -ENOMEM, "%s", argv[0]);
	a->argv = argv;
	a->silence_ns = silence_ns;
	a->fd = -1;
	a->pause_ns = ASKER_PAUSE_NS;
	rc = start(a, clock_mono_ns());
	if (rc < 0) {
		free(a);
		return errmsg_errno(err, rc, "cannot start %s", argv[0]);
	}
	*ret = a;
	return 0;
}

void asker_kill(struct asker *a)
{
	if (a && a->fd >= 0)
		stop(a, 0);
}

void asker_close(struct asker *a, uint64_t deadline_ns)
{
	if (!a)
		return;
	asker_kill(a);
	reap(a, deadline_ns);
	free(a);
}
