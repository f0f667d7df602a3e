/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "src/libsink/spool_internal.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

_Static_assert(SPOOL_KEY_MAX == FRAME_KEY_MAX && SPOOL_DATA_MAX == FRAME_DATA_MAX,
	       "spool.h and frame.h bound the same bytes");

static const char *const kind_name[] = {
	[SPOOL_PENDING] = "pending", [SPOOL_RECORD] = "record", [SPOOL_FOLLOWUP] = "followup",
	[SPOOL_STEPS] = "steps",     [SPOOL_START] = "start",	[SPOOL_KEY] = "key",
};

bool spool_knows_kind(unsigned int kind)
{
	return kind < ARRAY_SIZE(kind_name) && kind_name[kind];
}

const char *spool_kind_name(enum spool_kind kind)
{
	return spool_knows_kind(kind) ? kind_name[kind] : "unknown";
}

enum spool_kind spool_kind_by_name(const char *name)
{
	size_t i;

	for (i = 1; i < ARRAY_SIZE(kind_name); i++)
		if (!strcmp(kind_name[i], name))
			return (enum spool_kind)i;
	return 0;
}

void spool_segment_name(char name[SPOOL_NAME_MAX], uint64_t number, const char *suffix)
{
	(void)snprintf(name, SPOOL_NAME_MAX, "%010" PRIu64 ".%s", number, suffix);
}

uint64_t spool_segment_number(const char *name)
{
	return spool_file_number(name, ".seg");
}

uint64_t spool_file_number(const char *name, const char *suffix)
{
	size_t digits = strspn(name, "0123456789");
	uint64_t number;

	if (digits < 10 || digits > 19 || strcmp(name + digits, suffix) ||
	    parse_u64_n(name, digits, &number) < 0)
		return 0;
	return number;
}

const struct spool_segment *spool_segment_from(const struct spool *s, uint64_t number)
{
	size_t low = 0;
	size_t high = s->nseg;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->seg[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->nseg ? &s->seg[low] : NULL;
}

int spool_push_segment(struct spool *s, uint64_t number, uint64_t size)
{
	struct spool_segment *seg = s->seg;

	if (s->nseg == s->seg_room) {
		size_t room = s->seg_room ? s->seg_room * 2 : 16;

		seg = realloc(seg, room * sizeof(*seg));
		if (!seg)
			return -ENOMEM;
		s->seg = seg;
		s->seg_room = room;
	}
	seg[s->nseg++] = (struct spool_segment){ .number = number, .size = size,
						 .kinds = size ? SPOOL_KINDS_UNKNOWN : 0 };
	s->stats.bytes += size;
	if (number >= s->next_number)
		s->next_number = number + 1;
	return 0;
}

int spool_segment_find(struct spool *s)
{
	char name[SPOOL_NAME_MAX];
	struct stat st;

	spool_segment_name(name, s->next_number, "seg");
	if (fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return spool_push_segment(s, s->next_number, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0);
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	spool_cursors_free(s);
	if (s->seg_fd >= 0) {
		if (s->is_dirty)
			(void)fdatasync(s->seg_fd);
		(void)close(s->seg_fd);
	}
	if (s->orphan_fd >= 0) {
		(void)fdatasync(s->orphan_fd);
		(void)close(s->orphan_fd);
	}
	if (s->lock_fd >= 0)
		(void)close(s->lock_fd);
	if (s->dir_fd >= 0)
		(void)close(s->dir_fd);
	free(s->seg);
	free(s);
}

/* Ends the segment appended to, so that it can be deleted or because its file is in doubt. */
static void seal_segment(struct spool *s)
{
	struct spool_segment *last;
	char name[SPOOL_NAME_MAX];

	if (s->seg_fd < 0)
		return;
	if (s->is_dirty && fdatasync(s->seg_fd) < 0)
		s->sync_rc = -errno;
	s->is_dirty = false;
	(void)close(TAKE_FD(s->seg_fd));
	last = &s->seg[s->nseg - 1];
	if (!last->size) {
		spool_segment_name(name, last->number, "seg");
		(void)unlinkat(s->dir_fd, name, 0);
		s->nseg--;
	}
}

/* None, if it finds that another process took the spool over. */
static int start_segment(struct spool *s, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char name[SPOOL_NAME_MAX];
	int rc = 0;

	spool_orphans_adopt(s);
	if (s->is_fenced)
		return 0;
	do {
		spool_segment_name(name, s->next_number, "seg");
		fd = openat(s->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    0600);
		/* one that another writer made, whom the lock did not keep out, is read, too */
	} while (fd < 0 && errno == EEXIST && (rc = spool_segment_find(s)) == 0);
	if (fd < 0)
		return errmsg_errno(err, rc < 0 ? rc : -errno, "%s/%s: cannot create", s->dir,
				    name);
	/* Without it a power cut may take the file's name, and all in it. */
	rc = fsync(s->dir_fd) < 0 ? -errno : spool_push_segment(s, s->next_number, 0);
	if (rc < 0) {
		(void)unlinkat(s->dir_fd, name, 0);
		return errmsg_errno(err, rc, "%s/%s: cannot create", s->dir, name);
	}
	s->seg_fd = TAKE_FD(fd);
	return 0;
}

static bool has_room(struct spool *s, size_t size)
{
	unsigned int try;

	for (try = 0; s->stats.bytes + size > s->max_bytes && try < 4; try++) {
		bool is_full = try >= 2;

		if (try % 2 && s->seg_fd >= 0 &&
		    spool_may_go(s, &s->seg[s->nseg - 1], is_full))
			seal_segment(s);
		spool_reclaim(s, is_full);
	}
	return s->stats.bytes + size <= s->max_bytes;
}

static int write_at(int fd, uint64_t at, struct iovec *iov, int niov)
{
	while (niov) {
		ssize_t n = pwritev(fd, iov, niov, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += (uint64_t)n;
		while (niov && (size_t)n >= iov->iov_len) {
			n -= (ssize_t)iov->iov_len;
			iov++;
			niov--;
		}
		if (niov) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

/* File size limit, quota: as full as a full disk. */
static bool is_full(int rc)
{
	return rc == -ENOSPC || rc == -EFBIG || rc == -EDQUOT;
}

static int refuse(struct spool *s, int rc, struct errmsg *err)
{
	s->stats.refused_full += is_full(rc);
	(void)errmsg_errno(err, rc, "%s: cannot append", s->dir);
	return is_full(rc) ? -ENOSPC : rc;
}

/* The place to append to; SIZE bytes fit. */
static int find_place(struct spool *s, size_t size, int *ret_fd, uint64_t **ret_size,
		      struct errmsg *err)
{
	int rc = 0;

	if (!s->is_fenced && s->seg_fd >= 0 && s->seg[s->nseg - 1].size + size > s->segment_max)
		seal_segment(s);
	if (!s->is_fenced && s->seg_fd < 0)
		rc = start_segment(s, err);
	if (rc < 0)
		return rc;
	if (s->is_fenced) {
		if (s->orphan_fd < 0)
			rc = spool_orphan_open(s);
		if (rc < 0)
			return errmsg_errno(err, rc, "%s/%s: cannot create", s->dir, s->orphan);
		*ret_fd = s->orphan_fd;
		*ret_size = &s->orphan_size;
		return 0;
	}
	*ret_fd = s->seg_fd;
	*ret_size = &s->seg[s->nseg - 1].size;
	return 0;
}

int spool_append(struct spool *s, enum spool_kind kind, const char *key, const void *data,
		 size_t len, struct errmsg *err)
{
	struct frame f = { .kind = (uint8_t)kind, .key_len = strlen(key), .data_len = len };
	uint8_t header[FRAME_HEADER];
	uint64_t *end = NULL;
	size_t size;
	int fd = -1;
	int rc;

	if (f.key_len > SPOOL_KEY_MAX || len > SPOOL_DATA_MAX)
		return errmsg_set(err, -EMSGSIZE, "%s: entry of %zu bytes is too large", s->dir,
				  f.key_len + len);
	size = frame_size(&f);
	if (!has_room(s, size)) {
		s->stats.refused_full++;
		return errmsg_set(err, -ENOSPC, "%s: holds %" PRIu64 " of at most %" PRIu64
				  " bytes", s->dir, s->stats.bytes, s->max_bytes);
	}
	rc = find_place(s, size, &fd, &end, err);
	if (rc < 0) {
		s->stats.refused_full += is_full(rc);
		return is_full(rc) ? -ENOSPC : rc;
	}
	frame_encode(header, &f, key, data);
	struct iovec iov[] = { { header, sizeof(header) },
			       { (void *)(uintptr_t)key, f.key_len },
			       { (void *)(uintptr_t)data, len } };
	rc = write_at(fd, *end, iov, ARRAY_SIZE(iov));
	if (rc < 0) {
		/* nobody reads or writes behind what is whole */
		if (ftruncate(fd, (off_t)*end) < 0) {
			if (s->is_fenced)
				(void)close(TAKE_FD(s->orphan_fd));
			else
				seal_segment(s);
		}
		return refuse(s, rc, err);
	}
	*end += size;
	if (!s->is_fenced)
		s->seg[s->nseg - 1].kinds |= spool_kind_mask(f.kind);
	s->stats.bytes += size;
	s->stats.entries_appended++;
	s->is_dirty = true;
	s->is_unvouched |= !s->is_fenced;
	return 0;
}

/* What was appended since the last success is in doubt: the next entry goes elsewhere. */
static int sync_orphan(struct spool *s)
{
	int rc = s->orphan_fd < 0 ? 0 : spool_orphan_sync(s);

	s->is_dirty = false;
	if (rc < 0)
		(void)close(TAKE_FD(s->orphan_fd));
	return rc;
}

int spool_sync(struct spool *s, struct errmsg *err)
{
	int rc = s->sync_rc;

	s->sync_rc = 0;
	if (s->is_fenced && s->is_dirty)
		rc = sync_orphan(s);
	if (s->is_unvouched) {
		s->is_unvouched = false;
		if (s->seg_fd >= 0 && s->is_dirty && fdatasync(s->seg_fd) < 0)
			rc = -errno;
		s->is_dirty = false;
		if (rc == 0 && !spool_owner_is_us(s))
			rc = -ESTALE;
		if (rc < 0)
			seal_segment(s); /* what the file holds on disk is not known any more */
	}
	s->stats.sync_failures += rc < 0;
	if (rc == -ESTALE)
		return errmsg_set(err, rc, "%s: another process took the spool over", s->dir);
	return rc < 0 ? errmsg_errno(err, rc, "%s: cannot sync", s->dir) : 0;
}

struct spool_pos spool_tail(const struct spool *s)
{
	if (s->seg_fd < 0)
		return (struct spool_pos){ .segment = s->next_number };
	return (struct spool_pos){ .segment = s->seg[s->nseg - 1].number,
				   .offset = s->seg[s->nseg - 1].size };
}

const char *spool_dir(const struct spool *s)
{
	return s->dir;
}

void spool_get_stats(const struct spool *s, struct spool_stats *ret)
{
	*ret = s->stats;
	ret->segments = s->nseg;
}
