/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memmem, strptime */
#include "src/libsink/spool_view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/libcore/settings.h"
#include "src/libsink/deadletter.h"
#include "src/libsink/spool_internal.h"
#include "src/libutil/fileio.h"

#define FINALISER "finaliser"
#define FINALISER_KINDS                                                                  \
	(SPOOL_MASK(SPOOL_PENDING) | SPOOL_MASK(SPOOL_FOLLOWUP) | SPOOL_MASK(SPOOL_KEY))
#define SINK_KINDS                                                                       \
	(SPOOL_MASK(SPOOL_RECORD) | SPOOL_MASK(SPOOL_STEPS) | SPOOL_MASK(SPOOL_START))

struct spool_view {
	char dir[PATH_MAX];
	int dir_fd;
	struct spool_segment *seg; /* ascending */
	size_t nseg;
	size_t room;
	struct spool_pos at;
	struct spool_cursor scan; /* a window for spool_cursor_scan() */
	struct spool_view_stats stats;
};

/* --- the folder ------------------------------------------------------------------------------ */

static int push(struct spool_view *v, uint64_t number, uint64_t size)
{
	struct spool_segment *seg = v->seg;

	if (v->nseg == v->room) {
		size_t room = v->room ? v->room * 2 : 64;

		seg = realloc(seg, room * sizeof(*seg));
		if (!seg)
			return -ENOMEM;
		v->seg = seg;
		v->room = room;
	}
	seg[v->nseg++] = (struct spool_segment){ .number = number, .size = size };
	v->stats.bytes += size;
	return 0;
}

static bool ends_with(const char *name, const char *suffix)
{
	size_t len = strlen(name);
	size_t n = strlen(suffix);

	return len > n && !strcmp(name + len - n, suffix);
}

static int add_file(struct spool_view *v, const char *name)
{
	uint64_t number = spool_segment_number(name);
	struct stat st;

	if (fstatat(v->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno; /* its readers are done with it */
	if (!S_ISREG(st.st_mode))
		return 0;
	if (number)
		return push(v, number, (uint64_t)st.st_size);
	if (ends_with(name, ".torn")) {
		v->stats.torn_files++;
		v->stats.torn_bytes += (uint64_t)st.st_size;
	} else if (ends_with(name, ".later")) {
		v->stats.later_files++;
		v->stats.later_bytes += (uint64_t)st.st_size;
	}
	return 0;
}

/* Calls FN for each name in the folder until it fails. */
static int for_each_file(const struct spool_view *v, int (*fn)(void *arg, const char *name),
			 void *arg, struct errmsg *err)
{
	DIR *d = opendir(v->dir);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return errmsg_errno(err, -errno, "%s: cannot list", v->dir);
	while (rc == 0 && (errno = 0, e = readdir(d)))
		if (*e->d_name != '.')
			rc = fn(arg, e->d_name);
	if (rc == 0 && errno)
		rc = -errno;
	(void)closedir(d);
	return rc < 0 ? errmsg_errno(err, rc, "%s: cannot list", v->dir) : 0;
}

static int add_any(void *arg, const char *name)
{
	return add_file(arg, name);
}

static int by_number(const void *a, const void *b)
{
	const struct spool_segment *x = a;
	const struct spool_segment *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

int spool_view_open(const char *dir, struct spool_view **ret, struct errmsg *err)
{
	struct spool_view *v = calloc(1, sizeof(*v));
	int n;
	int rc;

	if (!v)
		return errmsg_set(err, -ENOMEM, "%s: out of memory", dir);
	v->scan.fd = -1;
	v->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	n = snprintf(v->dir, sizeof(v->dir), "%s", dir);
	if (v->dir_fd < 0)
		rc = errmsg_errno(err, -errno, "%s: cannot open", dir);
	else if (n <= 0 || (size_t)n >= sizeof(v->dir) - 128) /* room for the names inside it */
		rc = errmsg_set(err, -ENAMETOOLONG, "%s: bad path length", dir);
	else
		rc = for_each_file(v, add_any, v, err);
	if (rc < 0) {
		spool_view_close(v);
		return rc;
	}
	if (v->nseg)
		qsort(v->seg, v->nseg, sizeof(*v->seg), by_number);
	v->stats.segments = v->nseg;
	*ret = v;
	return 0;
}

void spool_view_close(struct spool_view *v)
{
	if (!v)
		return;
	if (v->dir_fd >= 0)
		(void)close(v->dir_fd);
	if (v->scan.fd >= 0)
		(void)close(v->scan.fd);
	free(v->scan.buf);
	free(v->seg);
	free(v);
}

void spool_view_get_stats(const struct spool_view *v, struct spool_view_stats *ret)
{
	*ret = v->stats;
}

/* --- entries --------------------------------------------------------------------------------- */

void spool_view_seek(struct spool_view *v, const struct spool_pos *pos)
{
	v->at = *pos;
}

/* The first segment that is NUMBER or later. */
static const struct spool_segment *segment_from(const struct spool_view *v, uint64_t number)
{
	size_t i;

	for (i = 0; i < v->nseg; i++)
		if (v->seg[i].number >= number)
			return &v->seg[i];
	return NULL;
}

static int open_segment(struct spool_view *v, uint64_t number)
{
	char name[SPOOL_NAME_MAX];

	if (v->scan.fd >= 0 && v->scan.fd_number == number)
		return 0;
	if (v->scan.fd >= 0)
		(void)close(TAKE_FD(v->scan.fd));
	v->scan.buf_len = 0;
	spool_segment_name(name, number, "seg");
	v->scan.fd = openat(v->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (v->scan.fd < 0)
		return -errno;
	v->scan.fd_number = number;
	return 0;
}

/* In one segment; 0: no more in it. */
static int read_segment(struct spool_view *v, const struct spool_segment *seg,
			struct spool_entry *ret)
{
	bool is_last = seg == &v->seg[v->nseg - 1];
	uint64_t from = v->at.offset;
	const uint8_t *buf;
	struct frame f;
	bool skipped;
	int rc = open_segment(v, seg->number);

	if (rc == 0)
		rc = spool_cursor_scan(&v->scan, &v->at.offset, seg->size, &f, &buf, &skipped);
	if (rc == -ENOENT) { /* its readers are done with it */
		v->at.offset = seg->size;
		return 0;
	}
	if (rc < 0)
		return rc;
	if (skipped && rc == 0 && is_last)
		v->stats.tail_bytes = seg->size - from;
	else if (skipped)
		v->stats.damaged++;
	if (rc == 0)
		return 0;
	ret->kind = (enum spool_kind)f.kind;
	ret->pos = v->at;
	v->at.offset += frame_size(&f);
	ret->next = v->at;
	ret->key = (const char *)buf + FRAME_HEADER;
	ret->key_len = f.key_len;
	ret->data = ret->key + f.key_len;
	ret->len = f.data_len;
	return 1;
}

bool spool_view_newest(const struct spool_view *v, size_t n, struct spool_pos *ret)
{
	if (!v->nseg || !n)
		return false;
	*ret = (struct spool_pos){ .segment = v->seg[v->nseg > n ? v->nseg - n : 0].number };
	return true;
}

int spool_view_read(struct spool_view *v, struct spool_entry *ret, struct errmsg *err)
{
	const struct spool_segment *seg;
	int rc;

	while ((seg = segment_from(v, v->at.segment))) {
		if (seg->number != v->at.segment)
			v->at = (struct spool_pos){ .segment = seg->number };
		if (v->at.offset < seg->size) {
			rc = read_segment(v, seg, ret);
			if (rc < 0)
				return errmsg_errno(err, rc, "%s: cannot read segment %llu",
						    v->dir, (unsigned long long)seg->number);
			if (rc > 0)
				return 1;
		}
		if (seg == &v->seg[v->nseg - 1])
			return 0;
		v->at = (struct spool_pos){ .segment = seg->number + 1 };
	}
	return 0;
}

/* --- readers --------------------------------------------------------------------------------- */

struct reader_list {
	const struct spool_view *v;
	struct spool_view_reader *reader;
	size_t n;
};

static int add_reader(struct reader_list *l, const char *name, size_t len, bool is_wanted)
{
	struct spool_view_reader *r;
	char file[SPOOL_VIEW_NAME_MAX + 8];
	size_t i;

	if (!len || len >= SPOOL_VIEW_NAME_MAX)
		return 0; /* not one that the spool would have made */
	for (i = 0; i < l->n; i++)
		if (strlen(l->reader[i].name) == len && !memcmp(l->reader[i].name, name, len)) {
			l->reader[i].is_wanted |= is_wanted;
			return 0;
		}
	r = realloc(l->reader, (l->n + 1) * sizeof(*r));
	if (!r)
		return -ENOMEM;
	l->reader = r;
	r += l->n++;
	*r = (struct spool_view_reader){ .is_wanted = is_wanted };
	memcpy(r->name, name, len);
	(void)snprintf(file, sizeof(file), "%s.cur", r->name);
	r->has_cursor = spool_cursor_load(l->v->dir, file, &r->at, NULL) == 0;
	return 0;
}

static int add_cursor_file(void *arg, const char *name)
{
	return ends_with(name, ".cur") ? add_reader(arg, name, strlen(name) - 4, false) : 0;
}

static int by_reader(const void *a, const void *b)
{
	const struct spool_view_reader *x = a;
	const struct spool_view_reader *y = b;

	return strcmp(x->name, y->name);
}

int spool_view_readers(const struct spool_view *v, const char *sinks,
		       struct spool_view_reader **ret, size_t *ret_n, struct errmsg *err)
{
	struct reader_list l = { .v = v };
	char item[SPOOL_VIEW_NAME_MAX];
	int rc = for_each_file(v, add_cursor_file, &l, err);

	if (rc == 0)
		rc = add_reader(&l, FINALISER, strlen(FINALISER), true);
	while (rc == 0 && settings_next_item(&sinks, item, sizeof(item)))
		rc = add_reader(&l, item, strlen(item), true);
	if (rc < 0) {
		free(l.reader);
		return rc == -ENOMEM ? errmsg_set(err, rc, "out of memory") : rc;
	}
	qsort(l.reader, l.n, sizeof(*l.reader), by_reader);
	*ret = l.reader;
	*ret_n = l.n;
	return 0;
}

/*
 * The job's end in a record's JSON. A text in it cannot hold the name: a quote there has a
 * backslash before it.
 */
static uint64_t end_of(const struct spool_entry *e)
{
	static const char name[] = "\"@end\":\"";
	char text[32] = "";
	struct tm tm = { 0 };
	const char *at;
	const char *rest;
	time_t t;

	if (!(SPOOL_MASK(e->kind) & (SPOOL_MASK(SPOOL_PENDING) | SPOOL_MASK(SPOOL_RECORD) |
				     SPOOL_MASK(SPOOL_FOLLOWUP))))
		return 0; /* ends in the others are of steps */
	at = memmem(e->data, e->len, name, sizeof(name) - 1);
	if (!at || (size_t)(e->data + e->len - at) < sizeof(name) - 1 + 20)
		return 0;
	memcpy(text, at + sizeof(name) - 1, 20);
	rest = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (!rest || *rest)
		return 0;
	t = timegm(&tm);
	return t > 0 ? (uint64_t)t : 0;
}

static bool is_behind(const struct spool_pos *at, const struct spool_pos *pos)
{
	return pos->segment > at->segment ||
	       (pos->segment == at->segment && pos->offset >= at->offset);
}

int spool_view_count(struct spool_view *v, struct spool_view_reader *reader, size_t n,
		     struct errmsg *err)
{
	struct spool_entry e;
	size_t i;
	int rc;

	spool_view_seek(v, &(struct spool_pos){ 0 });
	v->stats.damaged = v->stats.tail_bytes = 0;
	while ((rc = spool_view_read(v, &e, err)) > 0) {
		for (i = 0; i < n; i++) {
			struct spool_view_reader *r = &reader[i];
			unsigned int kinds = strcmp(r->name, FINALISER) ? SINK_KINDS :
									  FINALISER_KINDS;

			if (e.kind > 31 || !(SPOOL_MASK(e.kind) & kinds) ||
			    !is_behind(&r->at, &e.pos))
				continue;
			r->entries++;
			r->bytes += e.next.offset - e.pos.offset;
			if (!r->oldest_end)
				r->oldest_end = end_of(&e);
		}
	}
	return rc;
}

/* --- dead letters ---------------------------------------------------------------------------- */

struct dead_list {
	const struct spool_view *v;
	struct spool_view_dead *dead;
	size_t n;
};

static int count_lines(int fd, struct spool_view_dead *d)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		const char *p = buf;

		d->bytes += (uint64_t)n;
		while ((p = memchr(p, '\n', (size_t)(buf + n - p)))) {
			d->letters++;
			p++;
		}
	}
	return n < 0 ? -errno : 0;
}

static int add_dead(void *arg, const char *name)
{
	struct dead_list *l = arg;
	_cleanup_close_ int fd = -1;
	struct spool_view_dead *d;
	size_t len = deadletter_sink_len(name);
	size_t i;

	if (!len || len >= SPOOL_VIEW_NAME_MAX)
		return 0;
	fd = openat(l->v->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	for (i = 0; i < l->n; i++)
		if (strlen(l->dead[i].sink) == len && !memcmp(l->dead[i].sink, name, len))
			return count_lines(fd, &l->dead[i]);
	d = realloc(l->dead, (l->n + 1) * sizeof(*d));
	if (!d)
		return -ENOMEM;
	l->dead = d;
	d += l->n++;
	*d = (struct spool_view_dead){ 0 };
	memcpy(d->sink, name, len);
	return count_lines(fd, d);
}

static int by_sink(const void *a, const void *b)
{
	const struct spool_view_dead *x = a;
	const struct spool_view_dead *y = b;

	return strcmp(x->sink, y->sink);
}

int spool_view_dead(const struct spool_view *v, struct spool_view_dead **ret, size_t *ret_n,
		    struct errmsg *err)
{
	struct dead_list l = { .v = v };
	int rc = for_each_file(v, add_dead, &l, err);

	if (rc < 0) {
		free(l.dead);
		return rc;
	}
	if (l.n)
		qsort(l.dead, l.n, sizeof(*l.dead), by_sink);
	*ret = l.dead;
	*ret_n = l.n;
	return 0;
}
