/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_later.c - after a downgrade: what a later version wrote and this one cannot read. Readers go
 * past it, so it is copied to "NNNNNNNNNN.later" before anybody may acknowledge it; a whole segment of
 * another layout is renamed to that. The next version that knows all kinds in such a file makes a
 * segment of it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "src/libsink/spool_internal.h"
#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"

#define LATER ".later"
#define BEGUN "later-new"

/* What every reader is past was for none of them, or is done. */
static uint64_t first_needed(const struct spool *s, uint64_t number)
{
	uint64_t first = s->cursors ? UINT64_MAX : 0;
	const struct spool_cursor *c;

	for (c = s->cursors; c; c = c->next) {
		uint64_t at = c->acked.segment == number ? c->acked.offset : 0;

		if (c->acked.segment <= number && at < first)
			first = at;
	}
	return first;
}

static int copy_entries(const struct spool *s, struct spool_cursor *c, uint64_t end, int to,
			uint64_t *ret_n)
{
	uint64_t at = first_needed(s, c->fd_number);
	const uint8_t *buf;
	struct frame f;
	bool skipped;
	int rc;

	while ((rc = spool_cursor_scan(c, &at, end, &f, &buf, &skipped)) > 0) {
		if (!spool_knows_kind(f.kind)) {
			rc = fileio_write_full(to, buf, frame_size(&f));
			if (rc < 0)
				return rc;
			(*ret_n)++;
		}
		at += frame_size(&f);
	}
	return rc;
}

static int keep(struct spool *s, struct spool_cursor *c, uint64_t end, const char *begun,
		const char *name, uint64_t *ret_n)
{
	_cleanup_close_ int to = openat(s->dir_fd, begun,
					O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc;

	if (to < 0)
		return -errno;
	rc = copy_entries(s, c, end, to, ret_n);
	if (rc == 0 && (fsync(to) < 0 || renameat(s->dir_fd, begun, s->dir_fd, name) < 0 ||
			fsync(s->dir_fd) < 0))
		rc = -errno;
	if (rc < 0)
		(void)unlinkat(s->dir_fd, begun, 0);
	return rc;
}

int spool_later_keep(struct spool *s, const struct spool_segment *seg, struct errmsg *err)
{
	_cleanup_look_ struct spool_cursor c = { .fd = -1 };
	char segment[SPOOL_NAME_MAX];
	char begun[SPOOL_NAME_MAX];
	char name[SPOOL_NAME_MAX];
	uint64_t n = 0;
	int rc;

	spool_segment_name(name, seg->number, LATER + 1);
	/* the segment is another version's, which appends no more: once is all of it */
	if (faccessat(s->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	spool_segment_name(begun, seg->number, BEGUN);
	spool_segment_name(segment, seg->number, "seg");
	c = spool_look(s, segment, seg->number);
	rc = c.fd < 0 ? c.fd : keep(s, &c, seg->size, begun, name, &n);
	if (rc < 0)
		return errmsg_errno(err, rc, "%s/%s: cannot keep entries of a later version there",
				    s->dir, name);
	logger_error("ceems: %s: %" PRIu64 " entries of %s were written by a later version and are "
		     "not delivered by this one; kept in %s until that version is back", s->dir, n,
		     segment, name);
	return 0;
}

/* It begins as ours do, up to the version; and no entry is ours, so that it is not a damaged byte. */
static bool is_other_layout(struct spool *s, const struct spool_segment *seg, const char *name)
{
	_cleanup_look_ struct spool_cursor c = spool_look(s, name, seg->number);
	uint8_t header[FRAME_HEADER];
	const uint8_t *buf;
	struct frame f;
	uint64_t at = 0;
	bool skipped;

	return c.fd >= 0 && pread(c.fd, header, sizeof(header), 0) == sizeof(header) &&
	       frame_is_other_layout(header) &&
	       spool_cursor_scan(&c, &at, seg->size, &f, &buf, &skipped) == 0;
}

int spool_later_set_aside(struct spool *s, struct errmsg *err)
{
	char segment[SPOOL_NAME_MAX];
	char name[SPOOL_NAME_MAX];
	size_t kept = 0;
	size_t i;
	int rc = 0;

	for (i = 0; i < s->nseg; i++) {
		spool_segment_name(segment, s->seg[i].number, "seg");
		spool_segment_name(name, s->seg[i].number, LATER + 1);
		if (rc == 0 && is_other_layout(s, &s->seg[i], segment)) {
			if (renameat(s->dir_fd, segment, s->dir_fd, name) == 0) {
				s->stats.bytes -= s->seg[i].size;
				logger_error("ceems: %s/%s was written by a version with another "
					     "layout; kept as %s until that is back", s->dir,
					     segment, name);
				continue;
			}
			rc = errmsg_errno(err, -errno, "%s/%s: cannot set aside", s->dir, segment);
		}
		s->seg[kept++] = s->seg[i];
	}
	s->nseg = kept;
	return rc;
}

/* Every entry is of a kind that we have, and nothing else is in the file. */
static bool is_known(struct spool *s, const char *name)
{
	_cleanup_look_ struct spool_cursor c = spool_look(s, name, 0);
	const uint8_t *buf;
	struct frame f;
	struct stat st;
	uint64_t at = 0;
	bool is_good;
	bool skipped;

	is_good = c.fd >= 0 && fstat(c.fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
	while (is_good && at < (uint64_t)st.st_size) {
		is_good = spool_cursor_scan(&c, &at, (uint64_t)st.st_size, &f, &buf, &skipped) > 0 &&
			  !skipped && spool_knows_kind(f.kind);
		if (is_good)
			at += frame_size(&f);
	}
	return is_good;
}

void spool_later_adopt(struct spool *s)
{
	DIR *d = opendir(s->dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (spool_file_number(e->d_name, LATER) && is_known(s, e->d_name)) {
			logger_info("ceems: %s/%s: the version that wrote it is back; to be "
				    "delivered", s->dir, e->d_name);
			spool_adopt(s, e->d_name);
		}
	if (d)
		(void)closedir(d);
}
