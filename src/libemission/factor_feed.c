/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
#include "src/libemission/factor_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "src/libemission/factor_feed_line.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

#define ANSWER_MAX (FACTOR_SERIES_MAX_BYTES + 4096)
#define READ_SIZE 65536
#define POLL_MS 20
/* What all but the largest series need, and everybody may have. */
#define PIPE_SIZE (1024 * 1024)
#define CLOSE_MAX_NS (100 * NSEC_PER_MSEC)

struct factor_feed {
	char path[PATH_MAX];
	char region[24];
	char helper[PATH_MAX];
	char who[32];
	uint64_t keep_s, offset_ns;

	struct factor_series series;
	bool has_series;
	bool is_settled;
	bool is_hung; /* the last look took too long */
	char stamp[FACTOR_FEED_STAMP_MAX]; /* of the file that the series is from; empty: of none */
	uint64_t next_ns; /* the next look; 0: the first one */
	struct logger_trouble trouble;

	/* the look that is under way */
	pid_t pid;  /* 0: there is no process */
	int fd;	    /* -1: it ended or was given up */
	uint64_t deadline_ns;
	char *text; /* owned */
	size_t len, size;
};

int factor_feed_open(const struct factor_feed_options *o, struct factor_feed **ret,
		     struct errmsg *err)
{
	const char *dir = o->helper_dir && *o->helper_dir ? o->helper_dir : CEEMS_LIBEXECDIR;
	struct factor_feed *f;

	if (!*o->region)
		return errmsg_set(err, -EINVAL, "EmissionSeriesFile needs Country or EmissionRegion");
	f = calloc(1, sizeof(*f));
	if (!f)
		return errmsg_set(err, -ENOMEM, "out of memory");
	f->fd = -1;
	(void)snprintf(f->who, sizeof(f->who), "%s", o->who ? o->who : "");
	f->keep_s = o->keep_s;
	f->offset_ns = o->offset_ns;
	if ((size_t)snprintf(f->path, sizeof(f->path), "%s", o->path) >= sizeof(f->path) ||
	    (size_t)snprintf(f->region, sizeof(f->region), "%s", o->region) >= sizeof(f->region) ||
	    (size_t)snprintf(f->helper, sizeof(f->helper), "%s/ceems-series", dir) >=
		    sizeof(f->helper)) {
		free(f);
		return errmsg_set(err, -ENAMETOOLONG, "%s: too long", o->path);
	}
	*ret = f;
	return 0;
}

/* --- one look ---------------------------------------------------------------------------- */

static void drop_answer(struct factor_feed *f)
{
	free(TAKE_PTR(f->text));
	f->len = 0;
	f->size = 0;
}

static void reap(struct factor_feed *f)
{
	if (f->pid && helper_wait(f->pid, /* deadline_ns= */ 0, NULL) != -EAGAIN)
		f->pid = 0;
}

static void stop(struct factor_feed *f)
{
	if (f->fd >= 0)
		(void)close(TAKE_FD(f->fd));
	/* of one that has ended and that others have reaped, the number may be another's by now */
	reap(f);
	if (f->pid)
		(void)kill(f->pid, SIGKILL);
	reap(f);
	drop_answer(f);
}

static void tell(struct factor_feed *f, const char *trouble)
{
	switch (logger_trouble_note(&f->trouble, trouble != NULL, clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_error("%semission factors: %s; %s until it is mended", f->who, trouble,
			     f->series.n ? "those read last count, as long as they may" :
					     "the yearly mean counts");
		break;
	case LOGGER_ENDS:
		logger_info("%semission factors: %s is read again", f->who, f->path);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

/* What was read is in order, but of use only where it is of our region. */
static void tell_of_series(struct factor_feed *f)
{
	char why[PATH_MAX + 64];

	(void)snprintf(why, sizeof(why), "%s has no %sfactor of region '%s'", f->path,
		       f->keep_s ? "recent " : "", f->region);
	tell(f, f->series.n ? NULL : why);
}

static int start(struct factor_feed *f, uint64_t now_ns)
{
	uint64_t wall_s = clock_wall_ns() / NSEC_PER_SEC;
	char since[24];
	/* posix_spawn() takes char *const and changes nothing */
	char *const argv[] = { f->helper, f->path, f->region, since, f->stamp, NULL };
	int pipefd[2];
	int rc;

	(void)snprintf(since, sizeof(since), "%" PRIu64,
		       f->keep_s && f->keep_s < wall_s ? wall_s - f->keep_s : 0);
	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return -errno;
	/* a sampler that ticks once a minute does not read it in pieces of 64 KiB */
	(void)fcntl(pipefd[0], F_SETPIPE_SZ, PIPE_SIZE);
	/* for us alone: the process shares its end with nobody and may block in it */
	rc = fcntl(pipefd[0], F_SETFL, O_NONBLOCK) < 0 ? -errno :
							 helper_spawn(argv, pipefd[1], &f->pid);
	(void)close(pipefd[1]);
	if (rc < 0) {
		(void)close(pipefd[0]);
		f->pid = 0;
		return rc;
	}
	f->fd = pipefd[0];
	f->deadline_ns = now_ns + FACTOR_FEED_TIMEOUT_NS;
	return 0;
}

/* 0: all of it is there; -EAGAIN: more is to come. */
static int take_bytes(struct factor_feed *f)
{
	for (;;) {
		ssize_t n;

		if (f->size - f->len < READ_SIZE) {
			size_t size = f->size ? f->size * 2 : 2 * READ_SIZE;
			char *text;

			if (size > 2 * ANSWER_MAX)
				return -EFBIG;
			text = realloc(f->text, size);
			if (!text)
				return -ENOMEM;
			f->text = text;
			f->size = size;
		}
		n = read(f->fd, f->text + f->len, f->size - f->len - 1);
		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		f->len += (size_t)n;
	}
}

/* Cuts the line at *TEXT off. NULL: there is none that has ended. */
static char *next_line(char **text)
{
	char *line = *text;
	char *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line;
}

/* Whether the series is another one now. */
static bool take_answer(struct factor_feed *f)
{
	struct factor_series series;
	struct errmsg err = { 0 };
	char *rest = f->text;
	char *line;
	size_t len;

	f->text[f->len] = '\0';
	line = next_line(&rest);
	len = strlen(rest);
	if (line && !strcmp(line, FACTOR_FEED_SAME)) {
		tell_of_series(f);
		return false;
	}
	if (!line || strncmp(line, FACTOR_FEED_STAMP, strlen(FACTOR_FEED_STAMP))) {
		/* an error, or what the dynamic linker complains of */
		(void)errmsg_set(&err, 0, "%s", line ? line : f->text);
		tell(f, *err.text ? err.text : "the helper ended without a word");
		return false;
	}
	line += strlen(FACTOR_FEED_STAMP);
	if (strlen(line) >= sizeof(f->stamp) || len < strlen(FACTOR_FEED_END) ||
	    strcmp(rest + len - strlen(FACTOR_FEED_END), FACTOR_FEED_END)) {
		tell(f, "the helper stopped in the middle");
		return false;
	}
	if (factor_series_parse(f->path, rest, len - strlen(FACTOR_FEED_END), &series, &err) < 0) {
		tell(f, err.text);
		return false;
	}
	factor_series_fini(&f->series);
	f->series = series;
	f->has_series = true;
	(void)snprintf(f->stamp, sizeof(f->stamp), "%s", line);
	tell_of_series(f);
	return true;
}

static bool end_look(struct factor_feed *f, const char *trouble)
{
	bool is_new = false;

	if (trouble)
		tell(f, trouble);
	else
		is_new = take_answer(f);
	f->is_settled = true;
	stop(f);
	return is_new;
}

static bool go_on(struct factor_feed *f, uint64_t now_ns)
{
	char why[PATH_MAX + 64];
	int rc = take_bytes(f);

	if (rc == 0) {
		f->is_hung = false;
		return end_look(f, NULL);
	}
	if (rc != -EAGAIN)
		return end_look(f, strerror(-rc));
	if (now_ns < f->deadline_ns)
		return false;
	f->is_hung = true;
	(void)snprintf(why, sizeof(why), "%s: took too long to read", f->path);
	return end_look(f, why);
}

/* --- all of them ------------------------------------------------------------------------- */

static void begin(struct factor_feed *f, uint64_t now_ns)
{
	char why[PATH_MAX + 128];
	int rc;

	reap(f);
	if (f->pid)
		return; /* the kernel holds it: another one would join it */
	rc = start(f, now_ns);
	if (rc < 0) {
		(void)snprintf(why, sizeof(why), "cannot start %s: %s", f->helper, strerror(-rc));
		(void)end_look(f, why);
	}
	f->next_ns = now_ns + FACTOR_FEED_INTERVAL_NS + (f->next_ns ? 0 : f->offset_ns);
}

bool factor_feed_poll(struct factor_feed *f, uint64_t now_mono_ns)
{
	if (f->fd < 0 && now_mono_ns >= f->next_ns)
		begin(f, now_mono_ns);
	return f->fd >= 0 && go_on(f, now_mono_ns);
}

bool factor_feed_wait(struct factor_feed *f, uint64_t deadline_mono_ns)
{
	uint64_t now = clock_mono_ns();
	bool was_hung = f->is_hung;
	bool is_new = factor_feed_poll(f, now);

	while (f->fd >= 0 && !was_hung && now < deadline_mono_ns) {
		struct pollfd p = { .fd = f->fd, .events = POLLIN };

		(void)poll(&p, 1, POLL_MS);
		now = clock_mono_ns();
		is_new |= factor_feed_poll(f, now);
	}
	/* what is not there in time is not waited for again */
	f->is_hung |= f->fd >= 0;
	return is_new;
}

const struct factor_series *factor_feed_series(const struct factor_feed *f)
{
	return f->has_series ? &f->series : NULL;
}

bool factor_feed_is_settled(const struct factor_feed *f)
{
	return f->is_settled;
}

void factor_feed_close(struct factor_feed *f)
{
	if (!f)
		return;
	stop(f);
	if (f->pid)
		(void)helper_wait(f->pid, clock_mono_ns() + CLOSE_MAX_NS, NULL);
	factor_series_fini(&f->series);
	free(f);
}
