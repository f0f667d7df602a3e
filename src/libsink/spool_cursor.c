/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_cursor.c - readers of the spool: their position on disk, reading past damage.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "src/libsink/spool_internal.h"
#include "src/libutil/crc32c.h"
#include "src/libutil/fileio.h"

#define WINDOW 65536
#define CURSOR_FILE_MAX 128
#define READ_TRIES 4 /* whoever reads beside the writer may see half of a line */

/*
 * Makes [at, at + want) part of the window, as far as the segment has it. Returns the bytes there
 * are at AT, at most the window's, or -errno.
 */
static ssize_t load(struct spool_cursor *c, uint64_t at, size_t want, uint64_t end)
{
	size_t used = 0;
	size_t size;
	ssize_t n;

	if (at >= c->buf_at && at + want <= c->buf_at + c->buf_len)
		return (ssize_t)(c->buf_len - (at - c->buf_at));
	size = want > WINDOW ? want : WINDOW;
	if (size > c->buf_room) {
		uint8_t *buf = realloc(c->buf, size);

		if (!buf)
			return -ENOMEM;
		c->buf = buf;
		c->buf_room = size;
	}
	if (size > end - at)
		size = (size_t)(end - at);
	c->buf_len = 0;
	while (used < size) {
		n = pread(c->fd, c->buf + used, size - used, (off_t)(at + used));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		used += (size_t)n;
	}
	c->buf_at = at;
	c->buf_len = used;
	return (ssize_t)used;
}

struct spool_cursor spool_look(struct spool *s, const char *name, uint64_t number)
{
	struct spool_cursor c = { .spool = s, .fd_number = number };

	c.fd = openat(s->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (c.fd < 0)
		c.fd = -errno;
	return c;
}

void spool_look_end(struct spool_cursor *c)
{
	util_closep(&c->fd);
	free(c->buf);
}

int spool_cursor_scan(struct spool_cursor *c, uint64_t *at, uint64_t end, struct frame *ret,
		      const uint8_t **ret_buf, bool *ret_skipped)
{
	uint64_t pos = *at;
	struct frame f;
	ssize_t have;
	size_t step;

	*ret_skipped = false;
	while (end - pos >= FRAME_HEADER) {
		have = load(c, pos, FRAME_HEADER, end);
		if (have < 0)
			return (int)have;
		if (have < FRAME_HEADER)
			break; /* the file is shorter than it was */
		if (frame_decode(c->buf + (pos - c->buf_at), &f) &&
		    frame_size(&f) <= end - pos) {
			have = load(c, pos, frame_size(&f), end);
			if (have < 0)
				return (int)have;
			if ((size_t)have >= frame_size(&f) &&
			    frame_is_intact(c->buf + (pos - c->buf_at), &f)) {
				*at = pos;
				*ret = f;
				*ret_buf = c->buf + (pos - c->buf_at);
				return 1;
			}
		}
		*ret_skipped = true;
		step = (size_t)(c->buf_len - (pos - c->buf_at));
		pos += 1 + frame_find(c->buf + (pos + 1 - c->buf_at), step - 1);
	}
	if (pos < end)
		*ret_skipped = true;
	*at = end;
	return 0;
}

/* --- the file ---------------------------------------------------------------------------- */

static int cursor_read(const char *path, struct spool_pos *ret, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	struct spool_pos pos;
	uint32_t crc;
	int used = 0;
	int rc;

	rc = fileio_read_alloc(path, CURSOR_FILE_MAX, &text, NULL, err);
	if (rc < 0)
		return rc;
	if (sscanf(text, "ceems-cursor 1 %20" SCNu64 " %20" SCNu64 " %n%8" SCNx32, &pos.segment,
		   &pos.offset, &used, &crc) != 3 ||
	    crc32c(0, text, (size_t)used) != crc)
		return errmsg_set(err, -EINVAL, "%s: not a cursor", path);
	*ret = pos;
	return 0;
}

int spool_cursor_load(const char *dir, const char *file, struct spool_pos *ret,
		      struct errmsg *err)
{
	int tries = READ_TRIES;
	char path[PATH_MAX];
	int rc;
	int n;

	n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: path too long", dir);
	do
		rc = cursor_read(path, ret, err);
	while (rc == -EINVAL && --tries > 0);
	return rc;
}

/*
 * Over the one before, of the same length, in one write: several times per job a new file and its renaming
 * would be as much work as all else of the spool. Closed each time, as another host may be the next to read.
 */
static int cursor_store(const struct spool_cursor *c, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char name[sizeof(c->name) + sizeof(".cur")];
	char text[CURSOR_FILE_MAX];
	int n;
	int m;
	int rc;

	n = snprintf(text, sizeof(text), "ceems-cursor 1 %020" PRIu64 " %020" PRIu64 " ",
		     c->acked.segment, c->acked.offset);
	m = snprintf(text + n, sizeof(text) - (size_t)n, "%08" PRIx32 "\n",
		     crc32c(0, text, (size_t)n));
	(void)snprintf(name, sizeof(name), "%s.cur", c->name);
	fd = openat(c->spool->dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	rc = fd < 0 ? -errno : fileio_write_full(fd, text, (size_t)(n + m));
	return rc < 0 ? errmsg_errno(err, rc, "%s/%s: cannot write", c->spool->dir, name) : 0;
}

/* --- the reader -------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
	size_t len = strlen(name);

	return len && len < sizeof(((struct spool_cursor *)0)->name) &&
	       len == strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_");
}

int spool_cursor_open(struct spool *s, const char *name, struct spool_cursor **ret,
		      struct errmsg *err)
{
	struct spool_cursor *c;
	char file[80];

	if (!is_name(name))
		return errmsg_set(err, -EINVAL, "'%s' is no name for a cursor", name);
	for (c = s->cursors; c && strcmp(c->name, name) != 0; c = c->next)
		;
	if (c && !c->is_closed)
		return errmsg_set(err, -EBUSY, "%s: %s is read already", s->dir, name);
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return errmsg_set(err, -ENOMEM, "%s: out of memory", s->dir);
		c->spool = s;
		c->fd = -1;
		memcpy(c->name, name, strlen(name));
		c->next = s->cursors;
		s->cursors = c;
	}
	c->is_closed = false;
	(void)snprintf(file, sizeof(file), "%s.cur", name);
	/* Unreadable is as new: repeats are harmless, losses are not. */
	(void)spool_cursor_load(s->dir, file, &c->acked, NULL);
	c->at = c->acked;
	*ret = c;
	return 0;
}

void spool_cursor_close(struct spool_cursor *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		(void)close(TAKE_FD(c->fd));
	free(TAKE_PTR(c->buf));
	c->buf_room = 0;
	c->buf_len = 0;
	c->is_closed = true;
}

void spool_cursors_free(struct spool *s)
{
	struct spool_cursor *c;

	while ((c = s->cursors)) {
		s->cursors = c->next;
		spool_cursor_close(c);
		free(c);
	}
}

void spool_cursor_spare(struct spool_cursor *c, unsigned int kinds)
{
	c->spared = kinds;
}

/* 0, -ENOENT: somebody removed it, or what open says. */
static int open_segment(struct spool_cursor *c, uint64_t number, struct errmsg *err)
{
	char name[SPOOL_NAME_MAX];

	if (c->fd >= 0 && c->fd_number == number)
		return 0;
	if (c->fd >= 0)
		(void)close(TAKE_FD(c->fd));
	c->buf_len = 0;
	spool_segment_name(name, number, "seg");
	c->fd = openat(c->spool->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (c->fd < 0)
		return errmsg_errno(err, -errno, "%s/%s: cannot open", c->spool->dir, name);
	c->fd_number = number;
	return 0;
}

static void count_damage(struct spool_cursor *c, struct spool_pos at)
{
	if (at.segment < c->damage_seen.segment ||
	    (at.segment == c->damage_seen.segment && at.offset < c->damage_seen.offset))
		return;
	c->spool->stats.damaged++;
	c->damage_seen = at;
	c->damage_seen.offset++;
}

int spool_read(struct spool_cursor *c, struct spool_entry *ret, struct errmsg *err)
{
	const struct spool_segment *seg;
	const uint8_t *buf;
	struct frame f;
	bool skipped;
	int rc;

	while ((seg = spool_segment_from(c->spool, c->at.segment))) {
		struct spool_pos from;

		if (seg->number != c->at.segment)
			c->at = (struct spool_pos){ .segment = seg->number };
		if (c->at.offset >= seg->size) {
			if (seg == &c->spool->seg[c->spool->nseg - 1])
				break;
			c->at = (struct spool_pos){ .segment = seg->number + 1 };
			continue;
		}
		from = c->at;
		rc = open_segment(c, seg->number, err);
		if (rc == -ENOENT) {
			count_damage(c, from);
			c->at.offset = seg->size;
			continue;
		}
		if (rc == 0) {
			rc = spool_cursor_scan(c, &c->at.offset, seg->size, &f, &buf, &skipped);
			if (rc < 0)
				(void)errmsg_errno(err, rc, "%s: cannot read segment %" PRIu64,
						   c->spool->dir, seg->number);
		}
		if (rc < 0)
			return rc;
		if (skipped)
			count_damage(c, from);
		if (rc == 0)
			continue;
		/* whoever reads goes past it: it takes another place before that */
		if (!spool_knows_kind(f.kind) && (rc = spool_later_keep(c->spool, seg, err)) < 0)
			return rc;
		ret->kind = (enum spool_kind)f.kind;
		ret->pos = c->at;
		c->at.offset += frame_size(&f);
		ret->next = c->at;
		ret->key = (const char *)buf + FRAME_HEADER;
		ret->key_len = f.key_len;
		ret->data = ret->key + f.key_len;
		ret->len = f.data_len;
		return 1;
	}
	return 0;
}

void spool_rewind(struct spool_cursor *c)
{
	c->at = c->acked;
}

int spool_ack(struct spool_cursor *c, const struct spool_pos *pos, struct errmsg *err)
{
	int rc;

	c->acked = *pos;
	/* a cursor that vouches for entries of ours only would hide the new owner's */
	if (!spool_owner_is_us(c->spool))
		return errmsg_set(err, -ESTALE, "%s: another process took the spool over",
				  c->spool->dir);
	rc = cursor_store(c, err);
	spool_reclaim(c->spool, /* is_full= */ false);
	if (rc < 0) /* on a full disk, the segments that just went may be all it takes */
		rc = cursor_store(c, err);
	return rc;
}
