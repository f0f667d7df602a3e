/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libemission/factor_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "src/libemission/factor_feed_line.h"
#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/logger.h"
#include "src/libutil/util.h"

#define ANSWER_MAX (FACTOR_SERIES_MAX_BYTES + 4096)
#define READ_SIZE 65536
#define POLL_NS (20 * NSEC_PER_MSEC)
/* Most lines read in one call. A year of quarter hours has 35,000 points. */
#define LINES_MAX 100000
#define CLOSE_MAX_NS (100 * NSEC_PER_MSEC)

struct factor_feed {
	char path[PATH_MAX];
	char region[24];
	char program[PATH_MAX];
	char *argv[4];
	char who[32];
	uint64_t keep_s, offset_ns;

	struct factor_series series;
	bool has_series;
	bool is_settled;
	bool is_hung; /* the last look took too long */
	/* identifies the version of the file in SERIES; empty: none */
	char stamp[FACTOR_FEED_STAMP_MAX];
	uint64_t begun_ns, next_ns; /* begin of the last and the next look; 0: none yet */
	struct logger_trouble trouble;

	struct helper *helper; /* NULL: not started yet */
	/* the look that has begun */
	bool is_looking;
	char new_stamp[FACTOR_FEED_STAMP_MAX]; /* empty: the answer's series has not begun */
	bool is_same, is_failed;
	char *text; /* the answer's series; owned */
	size_t len, size;
};

int factor_feed_open(const struct factor_feed_options *o, struct factor_feed **ret, struct errmsg *err)
{
	const char *dir = o->helper_dir && *o->helper_dir ? o->helper_dir : CEEMS_LIBEXECDIR;
	struct factor_feed *f;

	if (!*o->region)
		return errmsg_set(err, -EINVAL, "EmissionSeriesFile needs Country or EmissionRegion");
	f = calloc(1, sizeof(*f));
	if (!f)
		return errmsg_set(err, -ENOMEM, "out of memory");
	(void)snprintf(f->who, sizeof(f->who), "%s", o->who ? o->who : "");
	f->keep_s = o->keep_s;
	f->offset_ns = o->offset_ns;
	if ((size_t)snprintf(f->path, sizeof(f->path), "%s", o->path) >= sizeof(f->path) ||
	    (size_t)snprintf(f->region, sizeof(f->region), "%s", o->region) >= sizeof(f->region) ||
	    (size_t)snprintf(f->program, sizeof(f->program), "%s/ceems-series", dir) >= sizeof(f->program)) {
		free(f);
		return errmsg_set(err, -ENAMETOOLONG, "%s: too long", o->path);
	}
	f->argv[0] = f->program;
	f->argv[1] = f->path;
	f->argv[2] = f->region;
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

static void feed_tell(struct factor_feed *f, const char *trouble)
{
	switch (logger_trouble_note(&f->trouble, trouble != NULL, clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_error("%semission factors: %s; %s", f->who, trouble,
			     f->series.n ? "the factors read last are used until EmissionMaxAge" :
					   "the yearly mean is used");
		break;
	case LOGGER_ENDS:
		logger_info("%semission factors: %s is read again", f->who, f->path);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

/* Logs a series that is valid but has no point of our region. */
static void tell_of_series(struct factor_feed *f)
{
	char why[PATH_MAX + 64];

	(void)snprintf(why, sizeof(why), "%s has no %sfactor of region '%s'", f->path,
		       f->keep_s ? "recent " : "", f->region);
	feed_tell(f, f->series.n ? NULL : why);
}

/* Parses the answer into the series. True: the series has changed. */
static bool take_series(struct factor_feed *f)
{
	struct factor_series series;
	struct errmsg err = { 0 };

	if (!f->new_stamp[0]) {
		feed_tell(f, "the helper sent no series");
		return false;
	}
	if (factor_series_parse(f->path, f->text, f->len, &series, &err) < 0) {
		feed_tell(f, err.text);
		return false;
	}
	factor_series_fini(&f->series);
	f->series = series;
	f->has_series = true;
	(void)snprintf(f->stamp, sizeof(f->stamp), "%s", f->new_stamp);
	tell_of_series(f);
	return true;
}

static void end_look(struct factor_feed *f, bool is_answered)
{
	f->is_looking = false;
	f->is_settled = true;
	f->is_hung = !is_answered;
	drop_answer(f);
}

static int add_line(struct factor_feed *f, const char *line)
{
	size_t len = strlen(line);

	if (f->size - f->len < len + 2) {
		size_t size = 2 * f->size + len + READ_SIZE;
		char *text;

		if (size > 2 * ANSWER_MAX)
			return -EFBIG;
		text = realloc(f->text, size);
		if (!text)
			return -ENOMEM;
		f->text = text;
		f->size = size;
	}
	memcpy(f->text + f->len, line, len);
	f->text[f->len + len] = '\n';
	f->len += len + 1;
	f->text[f->len] = '\0';
	return 0;
}

/* Reads one line of the answer. True: the series has changed. */
static bool take_line(struct factor_feed *f, const char *line)
{
	bool is_new = false;

	if (!f->is_looking)
		return false;
	if (!helper_is_asked(f->helper) && !strncmp(line, "done ", 5)) {
		helper_good(f->helper);
		if (f->is_same)
			tell_of_series(f);
		else if (!f->is_failed)
			is_new = take_series(f);
		end_look(f, /* is_answered= */ true);
	} else if (!strcmp(line, FACTOR_FEED_SAME)) {
		f->is_same = true;
	} else if (!strncmp(line, FACTOR_FEED_STAMP, strlen(FACTOR_FEED_STAMP))) {
		(void)snprintf(f->new_stamp, sizeof(f->new_stamp), "%.*s", (int)sizeof(f->new_stamp) - 1,
			       line + strlen(FACTOR_FEED_STAMP));
	} else if (!f->new_stamp[0] || !strncmp(line, "error - ", 8) || add_line(f, line) < 0) {
		/* or a message of the dynamic linker */
		feed_tell(f, !strncmp(line, "error - ", 8) ? line + 8 : line);
		f->is_failed = true;
		if (!helper_is_asked(f->helper)) /* the helper has ended */
			end_look(f, /* is_answered= */ false);
	}
	return is_new;
}

static bool take_lines(struct factor_feed *f, uint64_t now_ns)
{
	bool is_new = false;
	char *line;
	size_t i;

	for (i = 0; i < LINES_MAX && helper_line(f->helper, now_ns, &line) == 0; i++)
		is_new |= take_line(f, line);
	return is_new;
}

/* --- the feed ------------------------------------------------------------------------------ */

static int feed_start(struct factor_feed *f, struct errmsg *err)
{
	const struct helper_options o = {
		.argv = f->argv,
		.deadline_ns = FACTOR_FEED_TIMEOUT_NS,
		.is_asked = true,
		.line_max = READ_SIZE,
	};

	return f->helper ? 0 : helper_open(&o, &f->helper, err);
}

static void feed_begin(struct factor_feed *f, uint64_t now_ns)
{
	uint64_t wall_s = clock_wall_ns() / NSEC_PER_SEC;
	uint64_t since_s = f->keep_s && f->keep_s < wall_s ? wall_s - f->keep_s : 0;
	struct errmsg err = { 0 };

	f->begun_ns = now_ns;
	f->next_ns = now_ns + FACTOR_FEED_INTERVAL_NS + (f->next_ns ? 0 : f->offset_ns);
	f->new_stamp[0] = '\0';
	f->is_same = f->is_failed = false;
	f->is_looking = true;
	if (feed_start(f, &err) < 0) {
		feed_tell(f, err.text);
		f->is_looking = false;
		f->is_settled = true;
	} else if (helper_ask(f->helper, now_ns, "look", NULL, 0, " %" PRIu64 " %s", since_s,
			      f->stamp[0] ? f->stamp : "-") < 0) {
		f->is_looking = false; /* already logged: the helper ended, or still hangs */
	}
}

bool factor_feed_poll(struct factor_feed *f, uint64_t now_mono_ns)
{
	bool is_new = f->helper && take_lines(f, now_mono_ns);

	if (!f->is_looking && now_mono_ns >= f->next_ns) {
		feed_begin(f, now_mono_ns);
		is_new |= f->helper && take_lines(f, now_mono_ns);
	}
	return is_new;
}

void factor_feed_expire(struct factor_feed *f, uint64_t since_mono_ns)
{
	if (f->begun_ns < since_mono_ns && f->next_ns > since_mono_ns)
		f->next_ns = since_mono_ns;
}

bool factor_feed_wait(struct factor_feed *f, uint64_t deadline_mono_ns)
{
	uint64_t now = clock_mono_ns();
	bool was_hung = f->is_hung;
	bool is_new = factor_feed_poll(f, now);

	while (f->is_looking && !was_hung && now < deadline_mono_ns) {
		(void)helper_poll(f->helper, POLL_NS);
		now = clock_mono_ns();
		is_new |= factor_feed_poll(f, now);
	}
	/* the helper is late: the next call will not wait for it */
	f->is_hung |= f->is_looking;
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
	helper_kill(f->helper); /* the helper only reads, so it may be killed */
	helper_close(f->helper, clock_mono_ns() + CLOSE_MAX_NS);
	drop_answer(f);
	factor_series_fini(&f->series);
	free(f);
}
