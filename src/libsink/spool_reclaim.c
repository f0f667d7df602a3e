/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_reclaim.c - which segments are not needed any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "src/libsink/spool_internal.h"
#include "src/libutil/util.h"

static bool is_past(const struct spool_cursor *c, const struct spool_segment *seg)
{
	return c->acked.segment > seg->number ||
	       (c->acked.segment == seg->number && c->acked.offset >= seg->size);
}

bool spool_may_go(const struct spool *s, const struct spool_segment *seg, bool is_full)
{
	const struct spool_cursor *c;

	for (c = s->cursors; c; c = c->next)
		if (!is_past(c, seg) && (!is_full || !seg->kinds || seg->kinds & ~c->spared))
			return false;
	return s->cursors != NULL;
}

static bool delete_segment(struct spool *s, const struct spool_segment *seg)
{
	struct spool_cursor *c;
	char name[SPOOL_NAME_MAX];

	spool_segment_name(name, seg->number, "seg");
	if (unlinkat(s->dir_fd, name, 0) < 0 && errno != ENOENT)
		return false;
	for (c = s->cursors; c; c = c->next) /* an open file keeps its blocks */
		if (c->fd >= 0 && c->fd_number == seg->number)
			(void)close(TAKE_FD(c->fd));
	s->stats.bytes -= seg->size;
	return true;
}

static unsigned int kinds_in(struct spool *s, const struct spool_segment *seg)
{
	_cleanup_look_ struct spool_cursor c = { .fd = -1 };
	unsigned int kinds = 0;
	char name[SPOOL_NAME_MAX];
	const uint8_t *buf;
	struct frame f;
	uint64_t at = 0;
	bool skipped;
	int rc;

	spool_segment_name(name, seg->number, "seg");
	c = spool_look(s, name, seg->number);
	if (c.fd < 0)
		return spool_kind_mask(31);
	while ((rc = spool_cursor_scan(&c, &at, seg->size, &f, &buf, &skipped)) > 0) {
		kinds |= spool_kind_mask(f.kind);
		at += frame_size(&f);
	}
	return rc < 0 ? spool_kind_mask(31) : kinds;
}

/*
 * Looks into one that others wrote, if it helps: one at a time, as somebody waits for us. The
 * newest first: when job ends have no room any more, all that is added is records.
 */
static void learn_kinds(struct spool *s)
{
	size_t i;

	for (i = s->nseg; i--;) {
		struct spool_segment any = s->seg[i];

		any.kinds = SPOOL_MASK(SPOOL_RECORD);
		if (s->seg[i].kinds != SPOOL_KINDS_UNKNOWN || !spool_may_go(s, &any, true))
			continue;
		s->seg[i].kinds = kinds_in(s, &s->seg[i]);
		return;
	}
}

void spool_keep_recent(struct spool *s, unsigned int seconds)
{
	s->keep_s = seconds;
}

static bool is_recent(struct spool *s, const struct spool_segment *seg)
{
	char name[SPOOL_NAME_MAX];
	struct stat st;
	time_t now = time(NULL);

	if (!s->keep_s || s->stats.bytes > s->max_bytes / 8)
		return false;
	spool_segment_name(name, seg->number, "seg");
	if (fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	/* a clock that was set back must not keep it for ever */
	return st.st_mtime <= now && now - st.st_mtime < (time_t)s->keep_s;
}

void spool_reclaim(struct spool *s, bool is_full)
{
	size_t closed = s->seg_fd >= 0 ? s->nseg - 1 : s->nseg;
	size_t kept = 0;
	size_t i;

	if (s->is_fenced) /* it is not ours to delete any more */
		return;
	if (is_full)
		learn_kinds(s);
	for (i = 0; i < closed; i++) {
		if (spool_may_go(s, &s->seg[i], is_full) &&
		    (is_full || !is_recent(s, &s->seg[i])) && delete_segment(s, &s->seg[i]))
			continue;
		if (!is_full)
			break; /* nor may those behind it */
		s->seg[kept++] = s->seg[i];
	}
	if (i > kept) {
		memmove(s->seg + kept, s->seg + i, (s->nseg - i) * sizeof(*s->seg));
		s->nseg -= i - kept;
	}
}
