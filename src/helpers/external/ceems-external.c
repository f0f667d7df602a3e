/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ceems-external - reads the file that the site's own meter writes (external_text.h) and answers slurmd
 * with the protocol of helper.h. It is a separate program because the file may be on a network file
 * system whose server does not answer.
 *
 * Each answer repeats the values with the meter's own time, by which slurmd recognises a value that it
 * has booked before. If updates were missed, the next energy value contains their energy; power during
 * the gap is not estimated.
 */
#include <linux/capability.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "src/helpers/external/external_text.h"
#include "src/libmeter/sensor/counter.h"
#include "src/libmeter/sensor/integrate.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/confine.h"
#include "src/libutil/helper.h"
#include "src/libutil/trust.h"

/* Room for all possible parts in lines of 80 characters, and twice that for comments. */
#define TEXT_SIZE 8192

/* Older values are not used; power could not be integrated over a longer gap, either. */
#define OLD_NS INTEGRATE_GAP_NS
/*
 * The longest read. slurmd from 23.11 on executes itself anew at a reconfigure, and then
 * knows no helper to kill.
 */
#define READ_MAX_S 60
/* How far the meter's clock may be ahead of ours. */
#define AHEAD_NS (2 * NSEC_PER_SEC)

/* A line of the file, as read last. */
struct value {
	struct external_line line;
	uint64_t t_ns; /* its stamp as CLOCK_MONOTONIC; 0: not worked out yet */
	bool is_there; /* in the file as it is now */
};

struct external_values {
	struct value value[EXTERNAL_LINES_MAX];
	size_t n;
};

/*
 * Opens the file and checks who may write it, since such a user can charge every job on the node.
 */
static int external_open(const char *path, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int rc;

	fd = fileio_open_regular(path, &st, err);
	if (fd < 0)
		return fd;
	rc = trust_is_ours(path, &st, err);
	return rc < 0 ? rc : TAKE_FD(fd);
}

static struct value *external_find(struct external_values *all, const char *name)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		if (!strcmp(all->value[i].line.name, name))
			return &all->value[i];
	return NULL;
}

static const char *external_quantity(const struct external_line *l)
{
	return l->quantity == EXTERNAL_ENERGY ? "energy" : "power";
}

static void external_declare(const struct external_line *l)
{
	helper_say("meter %s %s %u %s %" PRIu64 "%s", l->name, domain_name(l->domain), l->unit,
		   external_quantity(l),
		   l->domain == DOMAIN_OTHER ? COUNTER_PLATFORM_MAX_W : COUNTER_PACKAGE_MAX_W,
		   l->domain == DOMAIN_OTHER ? " node" : "");
}

static void external_tell_about(const struct external_values *all, const char *path)
{
	char about[160];
	size_t used = (size_t)snprintf(about, sizeof(about), "%s:", path);
	size_t i;

	for (i = 0; i < all->n && used < sizeof(about); i++)
		used += (size_t)snprintf(about + used, sizeof(about) - used, "%s %s %s", i ? "," : "",
					 all->value[i].line.name, external_quantity(&all->value[i].line));
	helper_say("about %s", about);
}

static void external_take(struct external_values *all, const struct external_line *line)
{
	struct value *v = external_find(all, line->name);
	bool is_new = !v;

	if (is_new)
		v = &all->value[all->n++]; /* there is room for every name */
	if (is_new || v->line.stamp_ns != line->stamp_ns)
		v->t_ns = 0;
	v->line = *line;
	v->is_there = true;
	if (is_new)
		external_declare(line);
}

static int external_read_file(struct external_values *all, const char *path, struct errmsg *err)
{
	static char text[TEXT_SIZE];
	struct external_line lines[EXTERNAL_LINES_MAX];
	struct errmsg why = { 0 };
	_cleanup_close_ int fd = external_open(path, err);
	size_t known = all->n;
	size_t n = 0;
	size_t i;
	ssize_t len;
	int rc;

	if (fd < 0)
		return fd;
	len = fileio_pread_all(fd, text, sizeof(text));
	if (len < 0)
		return errmsg_errno(err, (int)len, "%s: cannot read", path);
	rc = external_text_parse(text, (size_t)len, lines, &n, &why);
	if (rc < 0)
		return errmsg_set(err, rc, "%s: %s", path, why.text);
	for (i = 0; i < n; i++) {
		const struct value *v = external_find(all, lines[i].name);

		if (v && v->line.quantity != lines[i].quantity)
			return errmsg_set(err, -EINVAL, "%s: %s was %s before, and is %s now", path,
					  lines[i].name, external_quantity(&v->line),
					  external_quantity(&lines[i]));
	}
	for (i = 0; i < all->n; i++)
		all->value[i].is_there = false;
	for (i = 0; i < n; i++)
		external_take(all, &lines[i]);
	if (all->n > known)
		external_tell_about(all, path);
	return 0;
}

/* Reads the file into ALL, as a whole or not at all. */
static int external_read(struct external_values *all, const char *path, struct errmsg *err)
{
	const uint64_t begin_ns = helper_begin(READ_MAX_S);
	int rc = external_read_file(all, path, err);

	(void)helper_end(begin_ns);
	return rc;
}

/* Converts a value's time stamp. One that is slightly ahead is taken as now. */
static void external_set_time(struct value *v, uint64_t mono_ns, uint64_t wall_ns)
{
	uint64_t age_ns = v->line.stamp_ns < wall_ns ? wall_ns - v->line.stamp_ns : 0;

	if (!v->t_ns)
		v->t_ns = age_ns < mono_ns ? mono_ns - age_ns : 1;
}

static void external_tell(struct value *v, uint64_t mono_ns, uint64_t wall_ns)
{
	const struct external_line *l = &v->line;

	if (!v->is_there) {
		helper_say("error %s the file no longer has a line for it", l->name);
	} else if (l->stamp_ns > wall_ns + AHEAD_NS) {
		helper_say("error %s its time is %" PRIu64 " s in the future", l->name,
			   (l->stamp_ns - wall_ns) / NSEC_PER_SEC);
	} else if (l->stamp_ns + OLD_NS < wall_ns) {
		helper_say("late %s", l->name);
	} else {
		external_set_time(v, mono_ns, wall_ns);
		helper_say("reading %" PRIu64 " %s %" PRIu64, v->t_ns, l->name, l->amount);
	}
}

static void external_answer(struct external_values *all, const char *path, const char *number)
{
	struct errmsg err = { 0 };
	int rc = external_read(all, path, &err);
	uint64_t mono_ns = clock_mono_ns();
	uint64_t wall_ns = clock_wall_ns();
	size_t i;

	if (rc < 0)
		helper_say("error - %s", err.text);
	for (i = 0; rc == 0 && i < all->n; i++)
		external_tell(&all->value[i], mono_ns, wall_ns);
	helper_say("done %s", number);
}

int main(int argc, char **argv)
{
	static struct external_values all;
	struct errmsg err = { 0 };
	char line[256];
	int rc;

	if (argc != 2) {
		(void)fputs("usage: ceems-external FILE\n", stderr);
		return 2;
	}
	helper_serve(/* is_nice= */ false); /* a step's end waits for it */
	(void)confine_caps(CONFINE_CAP(CAP_DAC_READ_SEARCH));
	rc = external_read(&all, argv[1], &err);
	if (rc < 0) {
		helper_say("%s %s", rc == -ENOENT ? "never" : "refused", err.text);
		return 1;
	}
	helper_say("ready");
	while (helper_listen(-1, line, sizeof(line)) == 1)
		if (!strncmp(line, "read ", 5))
			external_answer(&all, argv[1], line + 5);
	return 0;
}
