/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's side of helper.h. */
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/text.h"

/* Reads per call: bounds the time spent on a helper that writes without newlines. */
#define READS_MAX 4
#define LATE_NS NSEC_PER_SEC
#define SO_IN_MAX (64 * 1024 * 1024)

struct helper {
	struct helper_options o;
	size_t line_max;
	int in;		   /* our end of the helper's standard input, a socket; -1: the helper does not run */
	int out;	   /* our end of the pipe from the helper's output; -1: the helper does not run */
	pid_t pid;	   /* 0: no process, or already reaped */
	uint64_t heard_ns; /* last time that the helper wrote, or was started */
	uint64_t asked_ns; /* when the open question was asked */
	uint64_t pause_ns;
	uint64_t restart_ns;
	uint64_t question; /* number of the last question */
	bool is_asked;	   /* the last question has no answer yet */
	bool is_heard;	   /* the helper wrote something since its start */
	struct helper_counts counts;
	char *rest; /* the part of a question that the socket did not take yet; owned */
	size_t rest_len;
	size_t rest_done;
	/* BUF holds USED bytes; the first TAKEN of them were returned as lines */
	char *buf;
	size_t used, taken;
	bool is_cut; /* skip up to the next newline: the line was too long */
	char why[96];
};

static const char *const state_names[] = {
	[HELPER_STARTING] = "starting",
	[HELPER_OK] = "ok",
	[HELPER_LATE] = "late",
	[HELPER_DEAD] = "dead",
};

const char *helper_state_name(enum helper_state s)
{
	return state_names[s];
}

/* --- start, stop, restart ----------------------------------------------------------------- */

static int helper_make_pipes(int type, size_t socket_bytes, int in[2], int out[2])
{
	int size = (int)socket_bytes;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, in) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		int rc = -errno;

		(void)close(in[0]);
		(void)close(in[1]);
		return rc;
	}
	if (socket_bytes && socket_bytes <= SO_IN_MAX)
		(void)setsockopt(in[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK); /* the flag affects this end only */
	return 0;
}

int helper_spawn_piped(char *const *argv, char *const *env, int type, size_t socket_bytes, int *ret_in,
		       int *ret_out, pid_t *ret_pid)
{
	int in[2], out[2];
	pid_t pid;
	int rc = helper_make_pipes(type, socket_bytes, in, out);

	if (rc < 0)
		return rc;
	rc = helper_spawn(argv, env, in[1], out[1], &pid);
	(void)close(in[1]);
	(void)close(out[1]);
	if (rc < 0) {
		(void)close(in[0]);
		(void)close(out[0]);
		return rc;
	}
	*ret_in = in[0];
	*ret_out = out[0];
	*ret_pid = pid;
	return 0;
}

static int helper_start(struct helper *h, uint64_t now_ns)
{
	/* helper_send_rest() sends later what the socket does not take */
	int rc = helper_spawn_piped(h->o.argv, h->o.env, SOCK_STREAM, h->o.in_size, &h->in, &h->out, &h->pid);

	if (rc < 0)
		return rc;
	/*
	 * The daemon may read only once a minute (SampleInterval); a pipe of 64 KiB would fill up
	 * between reads.
	 */
	if (h->line_max > HELPER_LINE_MAX)
		(void)fcntl(h->out, F_SETPIPE_SZ, 1024 * 1024);
	h->used = h->taken = 0;
	h->is_cut = h->is_asked = h->is_heard = false;
	h->heard_ns = now_ns;
	h->counts.starts++;
	return 0;
}

static void helper_pause(struct helper *h, uint64_t now_ns)
{
	h->restart_ns = now_ns + h->pause_ns;
	h->pause_ns *= 2;
	if (h->pause_ns > HELPER_PAUSE_MAX_NS)
		h->pause_ns = HELPER_PAUSE_MAX_NS;
}

static void helper_reap(struct helper *h, uint64_t deadline_ns)
{
	if (h->pid && helper_wait(h->pid, deadline_ns, NULL) != -EAGAIN)
		h->pid = 0;
}

static void helper_stop(struct helper *h, uint64_t now_ns)
{
	/*
	 * Reap first: if somebody else reaped the process, its pid may now belong to another
	 * process.
	 */
	helper_reap(h, 0);
	if (h->pid)
		(void)kill(h->pid, SIGKILL);
	(void)close(TAKE_FD(h->in));
	(void)close(TAKE_FD(h->out));
	free(TAKE_PTR(h->rest));
	h->is_asked = false;
	helper_pause(h, now_ns);
}

/* Starts the helper again after its pause, but not while the kernel still holds the old process. */
static void helper_restart(struct helper *h, uint64_t now_ns)
{
	helper_reap(h, 0);
	if (h->pid || now_ns < h->restart_ns)
		return;
	if (helper_start(h, now_ns) < 0)
		helper_pause(h, now_ns);
}

void helper_good(struct helper *h)
{
	h->pause_ns = HELPER_PAUSE_NS;
}

/* --- questions ---------------------------------------------------------------------------- */

/*
 * Returns how many of LEN bytes were sent. Returns LEN also if the helper has ended: helper_read()
 * finds that.
 */
static size_t helper_send(const struct helper *h, const char *data, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = send(h->in, data + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return len;
		if (n < 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static void helper_send_rest(struct helper *h)
{
	if (!h->rest)
		return;
	h->rest_done += helper_send(h, h->rest + h->rest_done, h->rest_len - h->rest_done);
	if (h->rest_done == h->rest_len)
		free(TAKE_PTR(h->rest));
}

/* Sends LINE and DATA as one stream, and keeps the part that the socket does not take now. */
static int helper_send_all(struct helper *h, const char *line, size_t line_len, const char *data, size_t len)
{
	size_t done = helper_send(h, line, line_len);
	size_t done_data = done == line_len ? helper_send(h, data, len) : 0;

	h->rest_len = line_len - done + len - done_data;
	h->rest_done = 0;
	if (!h->rest_len)
		return 0;
	h->rest = malloc(h->rest_len);
	if (!h->rest)
		return -ENOMEM;
	memcpy(h->rest, line + done, line_len - done);
	if (len)
		memcpy(h->rest + line_len - done, data + done_data, len - done_data);
	return 0;
}

int helper_ask(struct helper *h, uint64_t now_ns, const char *verb, const char *data, size_t len,
	       const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	if (h->out >= 0)
		helper_send_rest(h);
	if (h->out < 0 || h->rest || h->is_asked) {
		h->counts.dropped++;
		return -EAGAIN;
	}
	n = snprintf(line, sizeof(line), "%s %" PRIu64, verb, ++h->question);
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	if ((size_t)n >= sizeof(line) - 1)
		return -ENAMETOOLONG;
	line[n++] = '\n';
	if (helper_send_all(h, line, (size_t)n, data, len) < 0) {
		helper_stop(h, now_ns); /* it has half of the question */
		return -EAGAIN;
	}
	h->is_asked = true;
	h->asked_ns = now_ns;
	return 0;
}

bool helper_is_asked(const struct helper *h)
{
	return h->is_asked;
}

/* --- answers ------------------------------------------------------------------------------ */

static int helper_fail(struct helper *h, uint64_t now_ns, const char *why, char **ret)
{
	helper_stop(h, now_ns);
	(void)snprintf(h->why, sizeof(h->why), "error - the helper %s", why);
	*ret = h->why;
	return 0;
}

/* Takes one whole line out of the buffer; false: there is none. */
static bool helper_cut_line(struct helper *h, char **ret)
{
	char *begin = h->buf + h->taken;
	char *end = memchr(begin, '\n', h->used - h->taken);

	if (!end)
		return false;
	*end = '\0';
	h->taken = (size_t)(end - h->buf) + 1;
	*ret = begin;
	return true;
}

/* Takes the next line that is not the remainder of an overlong one; false: there is none. */
static bool helper_next_line(struct helper *h, char **ret)
{
	while (helper_cut_line(h, ret)) {
		if (h->is_cut) {
			h->is_cut = false;
			continue;
		}
		text_mask_controls(*ret); /* the line may end up in a log */
		return true;
	}
	return false;
}

/* 0: call again; -EAGAIN: nothing to read; -EPIPE: the helper has ended; else -errno of read(). */
static int helper_read(struct helper *h)
{
	ssize_t n;

	memmove(h->buf, h->buf + h->taken, h->used - h->taken);
	h->used -= h->taken;
	h->taken = 0;
	if (h->used >= h->line_max) {
		h->used = 0; /* helper_is_overlong() has reported the beginning of this line */
		h->is_cut = true;
	}
	n = read(h->out, h->buf + h->used, h->line_max - h->used);
	if (n == 0)
		return -EPIPE;
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	h->used += (size_t)n;
	return 0;
}

static bool helper_is_due(const struct helper *h)
{
	return h->o.is_asked ? h->is_asked : true;
}

static uint64_t helper_silent_ns(const struct helper *h, uint64_t now_ns)
{
	uint64_t since_ns = h->heard_ns;

	if (h->o.is_asked && h->asked_ns > since_ns)
		since_ns = h->asked_ns;
	return now_ns > since_ns ? now_ns - since_ns : 0;
}

static void helper_heard(struct helper *h, uint64_t now_ns, const char *line)
{
	char number[24];

	h->heard_ns = now_ns;
	h->is_heard = true;
	(void)snprintf(number, sizeof(number), "done %" PRIu64, h->question);
	if (h->is_asked && !strcmp(line, number))
		h->is_asked = false;
}

/* Reports a line that fills the whole buffer as an error, with its beginning. */
static bool helper_is_overlong(struct helper *h, char **ret)
{
	if (h->is_cut || h->used < h->line_max || memchr(h->buf, '\n', h->used))
		return false;
	(void)snprintf(h->why, sizeof(h->why), "error - a line that is too long: %.40s", h->buf);
	text_mask_controls(h->why);
	*ret = h->why;
	return true;
}

int helper_line(struct helper *h, uint64_t now_ns, char **ret)
{
	int rc = 0;
	int i;

	if (h->out < 0)
		helper_restart(h, now_ns);
	if (h->out < 0)
		return -EAGAIN;
	helper_send_rest(h);
	for (i = 0; i < READS_MAX; i++) {
		if (helper_next_line(h, ret)) {
			helper_heard(h, now_ns, *ret);
			return 0;
		}
		rc = helper_read(h);
		if (rc < 0)
			break;
		h->heard_ns = now_ns;
		h->is_heard = true;
		if (helper_is_overlong(h, ret))
			return 0;
	}
	if (rc < 0 && rc != -EAGAIN)
		return helper_fail(h, now_ns, "ended", ret);
	if (helper_is_due(h) && helper_silent_ns(h, now_ns) > h->o.deadline_ns) {
		h->counts.kills++;
		return helper_fail(h, now_ns, "hung and was killed", ret);
	}
	return -EAGAIN;
}

int helper_poll(struct helper *h, uint64_t timeout_ns)
{
	struct pollfd p = { .fd = h->out, .events = POLLIN };

	if (h->taken < h->used && memchr(h->buf + h->taken, '\n', h->used - h->taken))
		return 0;
	return poll(&p, 1, (int)((timeout_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC)) == 1 ? 0 : -EAGAIN;
}

/* --- the object --------------------------------------------------------------------------- */

int helper_open(const struct helper_options *o, struct helper **ret, struct errmsg *err)
{
	struct helper *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return errmsg_errno(err, -ENOMEM, "%s", o->argv[0]);
	h->o = *o;
	h->line_max = o->line_max ? o->line_max : HELPER_LINE_MAX;
	h->in = h->out = -1;
	h->pause_ns = HELPER_PAUSE_NS;
	h->buf = malloc(h->line_max);
	rc = h->buf ? helper_start(h, clock_mono_ns()) : -ENOMEM;
	if (rc < 0) {
		free(h->buf);
		free(h);
		return errmsg_errno(err, rc, "cannot start %s", o->argv[0]);
	}
	*ret = h;
	return 0;
}

enum helper_state helper_state(const struct helper *h, uint64_t now_ns)
{
	if (h->out < 0)
		return HELPER_DEAD;
	if (helper_is_due(h) &&
	    helper_silent_ns(h, now_ns) > (h->o.is_asked ? LATE_NS : h->o.deadline_ns / 2))
		return HELPER_LATE;
	return h->is_heard ? HELPER_OK : HELPER_STARTING;
}

struct helper_counts helper_counts(const struct helper *h)
{
	return h->counts;
}

void helper_kill(struct helper *h)
{
	if (h && h->out >= 0)
		helper_stop(h, 0);
}

void helper_close(struct helper *h, uint64_t deadline_ns)
{
	if (!h)
		return;
	/* End of input asks the helper to end. It may have a session with a BMC to close. */
	if (h->out >= 0) {
		(void)shutdown(h->in, SHUT_RDWR);
		helper_reap(h, clock_mono_ns() + HELPER_LEAVE_NS);
	}
	helper_kill(h);
	helper_reap(h, deadline_ns);
	free(h->buf);
	free(h);
}
