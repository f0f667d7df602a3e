/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/spool.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "src/libsink/spool_internal.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"

/*
 * Small enough that a slow sink gives disk back in steps, large enough that creating files is
 * rare. A small spool has smaller ones, else a single segment would be all of it.
 */
#define SEGMENT_MAX (UINT64_C(16) << 20)
#define SEGMENT_MIN (UINT64_C(64) << 10)

_Static_assert(SPOOL_KEY_MAX == FRAME_KEY_MAX && SPOOL_DATA_MAX == FRAME_DATA_MAX,
	       "spool.h and frame.h bound the same bytes");

static const char *const kind_name[] = {
	[SPOOL_PENDING] = "pending", [SPOOL_RECORD] = "record", [SPOOL_FOLLOWUP] = "followup",
	[SPOOL_STEPS] = "steps",     [SPOOL_START] = "start",	[SPOOL_KEY] = "key",
};

const char *spool_kind_name(enum spool_kind kind)
{
	return (size_t)kind < ARRAY_SIZE(kind_name) && kind_name[kind] ? kind_name[kind] :
									 "unknown";
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
	size_t digits = strspn(name, "0123456789");
	uint64_t number;

	if (digits < 10 || digits > 19 || strcmp(name + digits, ".seg") ||
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

static int push_segment(struct spool *s, uint64_t number, uint64_t size)
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
	seg[s->nseg++] = (struct spool_segment){ .number = number, .size = size };
	s->stats.bytes += size;
	if (number >= s->next_number)
		s->next_number = number + 1;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct spool_segment *x = a;
	const struct spool_segment *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* A cursor may be ahead of the segments (they were removed by hand): numbers go on after it. */
static void note_cursor_file(struct spool *s, const char *name)
{
	const char *dot = strrchr(name, '.');
	struct spool_pos pos;

	if (dot && !strcmp(dot, ".cur") && spool_cursor_load(s->dir, name, &pos, NULL) == 0 &&
	    pos.segment >= s->next_number && pos.segment < UINT64_MAX)
		s->next_number = pos.segment + 1;
}

static int scan_dir(struct spool *s, struct errmsg *err)
{
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(s->dir);
	int rc = 0;

	if (!d)
		return errmsg_errno(err, -errno, "%s: cannot list", s->dir);
	while (rc == 0 && (errno = 0, e = readdir(d))) {
		uint64_t number = spool_segment_number(e->d_name);

		if (!number) {
			note_cursor_file(s, e->d_name);
			continue;
		}
		if (fstatat(s->dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			rc = errmsg_errno(err, -errno, "%s/%s: cannot stat", s->dir,
					  e->d_name);
		else if (!S_ISREG(st.st_mode))
			rc = errmsg_set(err, -EINVAL, "%s/%s: not a regular file", s->dir,
					e->d_name);
		else if (!st.st_size) /* crashed between its creation and its first entry */
			(void)unlinkat(s->dir_fd, e->d_name, 0);
		else
			rc = push_segment(s, number, (uint64_t)st.st_size);
	}
	if (rc == 0 && errno)
		rc = errmsg_errno(err, -errno, "%s: cannot list", s->dir);
	(void)closedir(d);
	if (rc == 0 && s->nseg)
		qsort(s->seg, s->nseg, sizeof(*s->seg), by_number);
	return rc;
}

/* Offset behind the last intact entry. */
static int find_tail(struct spool *s, int fd, const struct spool_segment *seg, uint64_t *ret)
{
	struct spool_cursor c = { .spool = s, .fd = fd, .fd_number = seg->number };
	const uint8_t *buf;
	struct frame f;
	uint64_t at = 0;
	uint64_t tail = 0;
	bool skipped;
	int rc;

	while ((rc = spool_cursor_scan(&c, &at, seg->size, &f, &buf, &skipped)) > 0)
		tail = at += frame_size(&f);
	free(c.buf);
	if (rc == 0)
		*ret = tail;
	return rc;
}

static int copy_tail(int from, uint64_t at, uint64_t end, int to)
{
	char buf[16384];
	int rc = 0;

	while (rc == 0 && at < end) {
		size_t want = end - at < sizeof(buf) ? (size_t)(end - at) : sizeof(buf);
		ssize_t n = pread(from, buf, want, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		rc = fileio_write_full(to, buf, (size_t)n);
		at += (uint64_t)n;
	}
	return rc;
}

/*
 * Sets aside what a crash left behind the last whole entry. If that fails (disk full) the bytes
 * stay where they are, where every reader stops before them.
 */
static int cut_torn_tail(struct spool *s, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	_cleanup_close_ int torn_fd = -1;
	struct spool_segment *seg;
	char name[SPOOL_NAME_MAX];
	uint64_t tail;
	int rc;

	if (!s->nseg)
		return 0;
	seg = &s->seg[s->nseg - 1];
	spool_segment_name(name, seg->number, "seg");
	fd = openat(s->dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s/%s: cannot open", s->dir, name);
	rc = find_tail(s, fd, seg, &tail);
	if (rc < 0)
		return errmsg_errno(err, rc, "%s/%s: cannot read", s->dir, name);
	if (tail == seg->size)
		return 0;
	s->stats.torn_bytes = seg->size - tail;
	spool_segment_name(name, seg->number, "torn");
	torn_fd = openat(s->dir_fd, name,
			 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	rc = torn_fd < 0 ? -errno : copy_tail(fd, tail, seg->size, torn_fd);
	if (rc == 0 && fsync(torn_fd) < 0)
		rc = -errno;
	if (rc < 0)
		(void)unlinkat(s->dir_fd, name, 0);
	else if (ftruncate(fd, (off_t)tail) < 0 || fsync(fd) < 0)
		return errmsg_errno(err, -errno, "%s: cannot cut the torn tail of %s", s->dir,
				    name);
	s->stats.bytes -= seg->size - tail;
	seg->size = tail;
	if (!tail) {
		spool_segment_name(name, seg->number, "seg");
		if (rc == 0)
			(void)unlinkat(s->dir_fd, name, 0);
		s->nseg--;
	}
	return 0;
}

static int open_dir(struct spool *s, struct errmsg *err)
{
	int rc = fileio_mkdir_p(s->dir, 0700, err);

	if (rc < 0)
		return rc;
	s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", s->dir);
	s->lock_fd = openat(s->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0)
		return errmsg_errno(err, -errno, "%s/lock: cannot open", s->dir);
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
		return errmsg_errno(err, rc, "%s: another process writes this spool", s->dir);
	}
	return 0;
}

int spool_open(const char *dir, uint64_t max_bytes, struct spool **ret, struct errmsg *err)
{
	struct spool *s = calloc(1, sizeof(*s));
	int rc;
	int n;

	if (!s)
		return errmsg_set(err, -ENOMEM, "%s: out of memory", dir);
	s->dir_fd = s->lock_fd = s->seg_fd = -1;
	s->next_number = 1;
	s->max_bytes = max_bytes;
	s->segment_max = max_bytes / 8;
	if (s->segment_max < SEGMENT_MIN)
		s->segment_max = SEGMENT_MIN;
	if (s->segment_max > SEGMENT_MAX)
		s->segment_max = SEGMENT_MAX;
	n = snprintf(s->dir, sizeof(s->dir), "%s", dir);
	/* room for the names inside it */
	rc = n <= 0 || (size_t)n >= sizeof(s->dir) - 128 ?
		     errmsg_set(err, -ENAMETOOLONG, "%s: bad path length", dir) :
		     open_dir(s, err);
	if (rc == 0)
		rc = scan_dir(s, err);
	if (rc == 0)
		rc = cut_torn_tail(s, err);
	if (rc < 0) {
		spool_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	if (s->seg_fd >= 0) {
		if (s->is_dirty)
			(void)fdatasync(s->seg_fd);
		(void)close(s->seg_fd);
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

static int start_segment(struct spool *s, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char name[SPOOL_NAME_MAX];
	int rc;

	spool_segment_name(name, s->next_number, "seg");
	fd = openat(s->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s/%s: cannot create", s->dir, name);
	/* Without it a power cut may take the file's name, and all in it. */
	rc = fsync(s->dir_fd) < 0 ? -errno : push_segment(s, s->next_number, 0);
	if (rc < 0) {
		(void)unlinkat(s->dir_fd, name, 0);
		return errmsg_errno(err, rc, "%s/%s: cannot create", s->dir, name);
	}
	s->seg_fd = TAKE_FD(fd);
	return 0;
}

static bool is_past(const struct spool_cursor *c, const struct spool_segment *seg)
{
	return c->acked.segment > seg->number ||
	       (c->acked.segment == seg->number && c->acked.offset >= seg->size);
}

static bool is_done(const struct spool *s, const struct spool_segment *seg)
{
	const struct spool_cursor *c;

	for (c = s->cursors; c; c = c->next)
		if (!is_past(c, seg))
			return false;
	return s->cursors != NULL;
}

void spool_reclaim(struct spool *s)
{
	size_t closed = s->seg_fd >= 0 ? s->nseg - 1 : s->nseg;
	struct spool_cursor *c;
	char name[SPOOL_NAME_MAX];
	size_t n = 0;

	for (; n < closed && is_done(s, &s->seg[n]); n++) {
		spool_segment_name(name, s->seg[n].number, "seg");
		if (unlinkat(s->dir_fd, name, 0) < 0 && errno != ENOENT)
			break;
		for (c = s->cursors; c; c = c->next) /* an open file keeps its blocks */
			if (c->fd >= 0 && c->fd_number == s->seg[n].number)
				(void)close(TAKE_FD(c->fd));
		s->stats.bytes -= s->seg[n].size;
	}
	if (n) {
		memmove(s->seg, s->seg + n, (s->nseg - n) * sizeof(*s->seg));
		s->nseg -= n;
	}
}

static bool has_room(struct spool *s, size_t size)
{
	if (s->stats.bytes + size <= s->max_bytes)
		return true;
	if (s->seg_fd >= 0 && is_done(s, &s->seg[s->nseg - 1]))
		seal_segment(s);
	spool_reclaim(s);
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

static int refuse(struct spool *s, int rc, struct errmsg *err)
{
	if (rc == -EFBIG || rc == -EDQUOT) /* file size limit, quota: as full as a full disk */
		rc = -ENOSPC;
	if (rc == -ENOSPC)
		s->stats.refused_full++;
	return errmsg_errno(err, rc, "%s: cannot append", s->dir);
}

int spool_append(struct spool *s, enum spool_kind kind, const char *key, const void *data,
		 size_t len, struct errmsg *err)
{
	struct frame f = { .kind = (uint8_t)kind, .key_len = strlen(key), .data_len = len };
	uint8_t header[FRAME_HEADER];
	struct spool_segment *seg;
	size_t size;
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
	if (s->seg_fd >= 0 && s->seg[s->nseg - 1].size + size > s->segment_max)
		seal_segment(s);
	if (s->seg_fd < 0) {
		rc = start_segment(s, err);
		if (rc < 0) {
			s->stats.refused_full += rc == -ENOSPC;
			return rc;
		}
	}
	seg = &s->seg[s->nseg - 1];
	frame_encode(header, &f, key, data);
	struct iovec iov[] = { { header, sizeof(header) },
			       { (void *)(uintptr_t)key, f.key_len },
			       { (void *)(uintptr_t)data, len } };
	rc = write_at(s->seg_fd, seg->size, iov, ARRAY_SIZE(iov));
	if (rc < 0) {
		if (ftruncate(s->seg_fd, (off_t)seg->size) < 0)
			seal_segment(s); /* nobody reads or writes behind what is whole */
		return refuse(s, rc, err);
	}
	seg->size += size;
	s->stats.bytes += size;
	s->stats.entries_appended++;
	s->is_dirty = true;
	return 0;
}

int spool_sync(struct spool *s, struct errmsg *err)
{
	int rc = s->sync_rc;

	s->sync_rc = 0;
	if (s->is_dirty) {
		s->is_dirty = false;
		if (fdatasync(s->seg_fd) < 0) {
			rc = -errno;
			seal_segment(s); /* what the file holds on disk is not known any more */
		}
	}
	if (rc < 0)
		return errmsg_errno(err, rc, "%s: cannot sync", s->dir);
	return 0;
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
