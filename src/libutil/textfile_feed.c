/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/textfile_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "src/libutil/clock.h"
#include "src/libutil/helper.h"
#include "src/libutil/logger.h"

/* Longer than ceems-textfile's own limit for one file, so the helper gives up first. */
#define DEADLINE_NS (90 * NSEC_PER_SEC)

/*
 * Enough for the text of a node with hundreds of jobs; a longer text takes several ticks to send.
 */
#define IN_SIZE (4 * 1024 * 1024)

/* How long `ceems check` waits. */
#define TRY_NS (10 * NSEC_PER_SEC)

#define LINES_MAX 16

/* How long the daemon's end waits for a text that is still being written. */
#define END_WAIT_NS (NSEC_PER_SEC / 2)

struct textfile_feed {
	struct helper *helper;
	struct logger_trouble trouble;
	char program[PATH_MAX];
	char path[PATH_MAX];
	char mode[8];
	char group[64];
	char who[32];
	const char *file; /* the file name in PATH */
	char *argv[5];
};

static void feed_note(struct textfile_feed *f, const char *why)
{
	switch (logger_trouble_note(&f->trouble, why != NULL, clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_error("%stextfile: %s; %s is not updated", f->who, why, f->file);
		break;
	case LOGGER_ENDS:
		logger_info("%stextfile: %s is updated again; %" PRIu64 " versions of it were not written",
			    f->who, f->file, helper_counts(f->helper).dropped);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

void textfile_feed_poll(struct textfile_feed *f)
{
	char *line;
	int i;

	for (i = 0; i < LINES_MAX && helper_line(f->helper, clock_mono_ns(), &line) == 0; i++) {
		if (!strncmp(line, "written ", 8)) {
			helper_good(f->helper);
			feed_note(f, NULL);
		} else if (strncmp(line, "done ", 5) != 0) {
			feed_note(f, !strncmp(line, "error - ", 8) ? line + 8 : line);
		}
	}
}

void textfile_feed_put(struct textfile_feed *f, const char *text, size_t len)
{
	uint64_t now_ns = clock_mono_ns();

	textfile_feed_poll(f);
	if (helper_ask(f->helper, now_ns, "file", text, len, " %zu", len) < 0)
		feed_note(f, helper_state(f->helper, now_ns) == HELPER_DEAD ?
				     "ceems-textfile does not run" :
				     "TextfileDir takes too long to write to");
}

void textfile_feed_end(struct textfile_feed *f, const char *text, size_t len)
{
	const uint64_t deadline_ns = clock_mono_ns() + END_WAIT_NS;
	const struct timespec pause = { .tv_nsec = 5 * NSEC_PER_MSEC };

	while (helper_is_asked(f->helper) && clock_mono_ns() < deadline_ns) {
		(void)nanosleep(&pause, NULL);
		textfile_feed_poll(f);
	}
	textfile_feed_put(f, text, len);
}

static bool feed_copy(char *buf, size_t size, const char *text)
{
	return (size_t)snprintf(buf, size, "%s", text ? text : "") < size;
}

static int feed_fill(struct textfile_feed *f, const struct textfile_feed_options *o)
{
	const char *helper_dir = o->helper_dir && *o->helper_dir ? o->helper_dir : CEEMS_LIBEXECDIR;

	if ((size_t)snprintf(f->program, sizeof(f->program), "%s/ceems-textfile", helper_dir) >=
		    sizeof(f->program) ||
	    (size_t)snprintf(f->path, sizeof(f->path), "%s/%s", o->dir, o->file) >= sizeof(f->path) ||
	    !feed_copy(f->group, sizeof(f->group), o->group) || !feed_copy(f->who, sizeof(f->who), o->who))
		return -ENAMETOOLONG;
	(void)snprintf(f->mode, sizeof(f->mode), "%04o", o->mode & 0777);
	f->file = f->path + strlen(o->dir) + 1;
	f->argv[0] = f->program;
	f->argv[1] = f->path;
	f->argv[2] = f->mode;
	f->argv[3] = *f->group ? f->group : NULL;
	return 0;
}

static int feed_open(const struct textfile_feed_options *o, uint64_t deadline_ns, struct textfile_feed **ret,
		     struct errmsg *err)
{
	struct textfile_feed *f = calloc(1, sizeof(*f));
	struct helper_options helper = {
		.deadline_ns = deadline_ns,
		.is_asked = true,
		.in_size = IN_SIZE,
	};
	int rc;

	if (!f)
		return errmsg_errno(err, -ENOMEM, "textfile");
	rc = feed_fill(f, o);
	helper.argv = f->argv;
	if (rc < 0)
		(void)errmsg_errno(err, rc, "%s", o->dir);
	else
		rc = helper_open(&helper, &f->helper, err);
	if (rc < 0) {
		free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

int textfile_feed_open(const struct textfile_feed_options *o, struct textfile_feed **ret, struct errmsg *err)
{
	return feed_open(o, DEADLINE_NS, ret, err);
}

/* Waits for the helper's answer. helper_line() also reports its end and kills it if it hangs. */
static int feed_await(struct textfile_feed *f, struct errmsg *err)
{
	const uint64_t deadline_ns = clock_mono_ns() + TRY_NS + NSEC_PER_SEC;
	uint64_t now_ns;
	char *line;

	while ((now_ns = clock_mono_ns()) < deadline_ns) {
		if (helper_line(f->helper, now_ns, &line) < 0) {
			(void)helper_poll(f->helper, NSEC_PER_SEC / 10);
			continue;
		}
		if (!strncmp(line, "written ", 8))
			return 0;
		return errmsg_set(err, -EIO, "%s", !strncmp(line, "error - ", 8) ? line + 8 : line);
	}
	return errmsg_set(err, -EIO, "%s: no answer", f->program);
}

int textfile_feed_try(const struct textfile_feed_options *o, struct errmsg *err)
{
	struct textfile_feed *f;
	int rc = feed_open(o, TRY_NS, &f, err);

	if (rc < 0)
		return rc;
	(void)helper_ask(f->helper, clock_mono_ns(), "try", NULL, 0, "%s", "");
	rc = feed_await(f, err);
	if (rc < 0 && helper_counts(f->helper).kills)
		rc = errmsg_set(err, -ETIMEDOUT, "%s: does not answer within 10 s", f->path);
	textfile_feed_close(f);
	return rc;
}

void textfile_feed_close(struct textfile_feed *f)
{
	if (!f)
		return;
	helper_close(f->helper, clock_mono_ns() + HELPER_END_NS);
	free(f);
}
