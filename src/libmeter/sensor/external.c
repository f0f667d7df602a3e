/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that the site's own meter writes (external_text.h). It is replaced by rename, and the file
 * that was open then has no name any more (st_nlink 0): only then, or when what it says is wrong or
 * old, is it opened again. What a file did not tell comes with the next one, if it is energy; of
 * power that was not seen nothing is guessed.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "src/libmeter/sensor/counter_state.h"
#include "src/libmeter/sensor/external_text.h"
#include "src/libmeter/sensor/integrate.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"

/* Every part that there can be in a line of 80 characters, and twice that in comments. */
#define TEXT_SIZE 8192

/* What is older is not used; power could not be integrated over it either. */
#define OLD_NS INTEGRATE_GAP_NS
/* The meter's clock may be so much ahead of ours. */
#define AHEAD_NS (2 * NSEC_PER_SEC)

/* A line of the file, and what was made of it. */
struct value {
	struct external_line line; /* as read last */
	bool is_there;		   /* in the file as read last */
	struct counter counter;
	uint64_t seen_stamp_ns; /* of the amount that was taken or refused last; 0: none */
	uint64_t until_ns;	/* of what was booked last, as CLOCK_MONOTONIC; 0: nothing */
};

struct source {
	char path[PATH_MAX];
	int fd;		 /* -1: it vanished */
	bool look_again; /* the file was wrong or old: perhaps there is another by now */
	struct value value[EXTERNAL_LINES_MAX];
	size_t n;
	struct logger_trouble trouble;
	struct logger_once refused;
	char text[TEXT_SIZE];
};

/* --- the file ----------------------------------------------------------------------------- */

/* Whoever may write the file may charge every job on the node. */
static int open_file(const char *path, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = fileio_open_regular(path, &st, err);
	if (fd < 0)
		return fd;
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return errmsg_set(err, -EPERM, "%s: belongs to user %u, not to root", path,
				  (unsigned int)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return errmsg_set(err, -EPERM, "%s: others than its owner may write it", path);
	return TAKE_FD(fd);
}

static bool was_replaced(int fd)
{
	struct stat st;

	return fd < 0 || fstat(fd, &st) < 0 || st.st_nlink == 0;
}

static int reopen(struct source *s, struct errmsg *err)
{
	int fd = open_file(s->path, err);

	if (s->fd >= 0)
		(void)close(s->fd);
	s->fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

static struct value *find_value(struct source *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (!strcmp(s->value[i].line.name, name))
			return &s->value[i];
	return NULL;
}

/* Known values stay where they are, so that the parts of a reading keep their order. */
static void take_line(struct source *s, const struct external_line *line)
{
	struct value *v = find_value(s, line->name);

	if (!v) {
		v = &s->value[s->n++]; /* there is room for every name */
		v->counter.range_uj = UINT64_MAX;
		v->counter.max_w = line->domain == DOMAIN_OTHER ? COUNTER_PLATFORM_MAX_W :
								  COUNTER_PACKAGE_MAX_W;
	}
	v->line = *line;
	v->is_there = true;
}

/* The file as it is now, into S: all of it or nothing. */
static int read_file(struct source *s, struct errmsg *err)
{
	struct external_line lines[EXTERNAL_LINES_MAX];
	struct errmsg why = { 0 };
	size_t n = 0;
	size_t i;
	ssize_t len;
	int rc = 0;

	if (s->look_again || was_replaced(s->fd))
		rc = reopen(s, err);
	if (rc < 0)
		return rc;
	len = fileio_pread_all(s->fd, s->text, sizeof(s->text));
	if (len < 0)
		return errmsg_errno(err, (int)len, "%s: cannot read", s->path);
	rc = external_text_parse(s->text, (size_t)len, lines, &n, &why);
	if (rc < 0)
		return errmsg_set(err, rc, "%s: %s", s->path, why.text);
	for (i = 0; i < n; i++) {
		const struct value *v = find_value(s, lines[i].name);

		if (v && v->line.quantity != lines[i].quantity)
			return errmsg_set(err, -EINVAL, "%s: %s was energy or power before, and "
					  "is the other now", s->path, lines[i].name);
	}
	for (i = 0; i < s->n; i++)
		s->value[i].is_there = false;
	for (i = 0; i < n; i++)
		take_line(s, &lines[i]);
	return 0;
}

static void external_close(struct source *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		(void)close(s->fd);
	free(s);
}

static int external_open(const struct source_env *env, struct source **ret,
			 struct errmsg *err)
{
	struct source *s;
	int rc;

	if (!env->external_file || !*env->external_file)
		return errmsg_set(err, -ENODEV, "ExternalSource is not set");
	s = calloc(1, sizeof(*s));
	if (!s)
		return errmsg_set(err, -ENOMEM, "external: out of memory");
	s->fd = -1;
	snprintf(s->path, sizeof(s->path), "%s", env->external_file);
	rc = read_file(s, err);
	if (rc < 0) {
		external_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* --- a reading ---------------------------------------------------------------------------- */

/* 0: V is new and of a time that can be true; else why it is not used. */
static int check_stamp(const struct value *v, uint64_t wall_ns)
{
	uint64_t stamp_ns = v->line.stamp_ns;

	if (!v->is_there)
		return -ENODATA;
	if (stamp_ns > wall_ns + AHEAD_NS)
		return -ERANGE;
	if (stamp_ns + OLD_NS < wall_ns)
		return -ETIME;
	return stamp_ns == v->seen_stamp_ns ? -EALREADY : 0;
}

static void count_unused(int rc, struct reading *out)
{
	if (rc == -ETIME)
		out->late++;
	else if (rc < 0 && rc != -EALREADY)
		out->rejected++;
}

static int book_energy(struct value *v, int rc, uint64_t dt_ns, struct source_state *state,
		       struct reading *out, struct reading_part *part)
{
	bool wrapped;

	rc = counter_state_advance(&v->counter, state, v->line.name, rc, v->line.amount, dt_ns,
				   &part->energy_uj, &wrapped);
	part->is_new_base = rc == 1;
	count_unused(rc, out);
	return rc;
}

/* Over the meter's own time, so that a sample which is seen twice is one sample. */
static int book_power(struct value *v, int rc, struct source_state *state,
		      struct reading *out, struct reading_part *part)
{
	struct integrate i = { .max_mw = v->counter.max_w * 1000, .max_gap_ns = OLD_NS };

	/* was it energy once: what has been integrated since must not come again */
	counter_state_forget(&v->counter, state, v->line.name);
	if (rc == 0)
		return integrate_book(&i, state, v->line.name, v->line.amount,
				      v->line.stamp_ns, out, part);
	count_unused(rc, out);
	return rc;
}

static void book(struct value *v, int rc, uint64_t dt_ns, struct source_state *state,
		 struct reading *out)
{
	bool is_energy = v->line.quantity == EXTERNAL_ENERGY;
	struct reading_part *part =
		reading_part(out, v->line.domain, v->line.unit,
			     is_energy ? QUALITY_COUNTER : QUALITY_INTEGRATED);
	uint64_t wall_ns = clock_wall_ns();

	part->is_whole_node = v->line.domain == DOMAIN_OTHER;
	if (rc == 0)
		rc = check_stamp(v, wall_ns);
	if (rc == 0) /* once, or a glitch would be there again to confirm itself */
		v->seen_stamp_ns = v->line.stamp_ns;
	rc = is_energy ? book_energy(v, rc, dt_ns, state, out, part) :
			 book_power(v, rc, state, out, part);
	if (rc >= 0) {
		v->until_ns = clock_mono_ns();
		if (v->line.stamp_ns < wall_ns)
			v->until_ns -= wall_ns - v->line.stamp_ns;
	}
	part->until_ns = v->until_ns;
}

static void say(struct source *s, int rc, const struct errmsg *err)
{
	switch (logger_trouble_note(&s->trouble, rc < 0, clock_mono_ns())) {
	case LOGGER_BEGINS:
		logger_error("external: %s; its energy waits", err->text);
		break;
	case LOGGER_ENDS:
		logger_info("external: %s can be read again", s->path);
		break;
	case LOGGER_NO_NEWS:
		break;
	}
}

static int external_read(struct source *s, uint64_t dt_ns, uint32_t busy_ppm,
			 struct source_state *state, struct reading *ret)
{
	struct reading out = { 0 };
	struct errmsg err = { 0 };
	int rc = read_file(s, &err);
	size_t i;

	(void)busy_ppm;
	for (i = 0; i < s->n; i++)
		book(&s->value[i], rc, dt_ns, state, &out);
	s->look_again = rc < 0 || out.late == s->n;
	say(s, rc, &err);
	if (rc < 0)
		return -EIO;
	if (out.rejected)
		logger_log_once(&s->refused, LOGGER_ERROR,
				"external: %s has an implausible value, which is not booked; more are only counted",
				s->path);
	*ret = out;
	return 0;
}

static void external_describe(const struct source *s, char *buf, size_t size)
{
	size_t i;
	int n;

	n = snprintf(buf, size, "%s:", s->path);
	for (i = 0; i < s->n && n > 0 && (size_t)n < size; i++) {
		const struct external_line *l = &s->value[i].line;

		n += snprintf(buf + n, size - (size_t)n, "%s %s %s", i ? "," : "", l->name,
			      l->quantity == EXTERNAL_ENERGY ? "energy" : "power");
	}
}

const struct source_ops source_external = {
	.id = SOURCE_EXTERNAL,
	.name = "external",
	.is_estimate = false,
	.logs_failures = true,
	.open = external_open,
	.read = external_read,
	.describe = external_describe,
	.close = external_close,
};
