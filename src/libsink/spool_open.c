/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_open.c - takes a spool over from whoever had it: the lock, what there is, what a crash left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "src/libsink/spool_internal.h"
#include "src/libutil/fileio.h"

/*
 * Small enough that a slow sink gives disk back in steps, large enough that creating files is
 * rare. A small spool has smaller ones, else a single segment would be all of it.
 */
#define SEGMENT_MAX (UINT64_C(16) << 20)
#define SEGMENT_MIN (UINT64_C(64) << 10)

static int by_number(const void *a, const void *b)
{
	const struct spool_segment *x = a;
	const struct spool_segment *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/*
 * A cursor may be ahead of the segments (they were removed by hand): numbers go on after it, and after
 * what was set aside (spool_later.c).
 */
static void note_other_file(struct spool *s, const char *name)
{
	uint64_t later = spool_file_number(name, ".later");
	const char *dot = strrchr(name, '.');
	struct spool_pos pos;

	if (later >= s->next_number)
		s->next_number = later + 1;
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
			note_other_file(s, e->d_name);
			continue;
		}
		if (fstatat(s->dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			rc = errmsg_errno(err, -errno, "%s/%s: cannot stat", s->dir,
					  e->d_name);
		else if (!S_ISREG(st.st_mode))
			rc = errmsg_set(err, -EINVAL, "%s/%s: not a regular file", s->dir,
					e->d_name);
		else
			rc = spool_push_segment(s, number, (uint64_t)st.st_size);
	}
	if (rc == 0 && errno)
		rc = errmsg_errno(err, -errno, "%s: cannot list", s->dir);
	(void)closedir(d);
	if (rc == 0 && s->nseg)
		qsort(s->seg, s->nseg, sizeof(*s->seg), by_number);
	return rc;
}

/* Of who crashed between a segment's creation and its first entry. */
static void drop_empty(struct spool *s)
{
	char name[SPOOL_NAME_MAX];
	size_t kept = 0;
	size_t i;

	for (i = 0; i < s->nseg; i++) {
		spool_segment_name(name, s->seg[i].number, "seg");
		if (s->seg[i].size)
			s->seg[kept++] = s->seg[i];
		else
			(void)unlinkat(s->dir_fd, name, 0);
	}
	s->nseg = kept;
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
 * stay where they are, where every reader stops before them. They do so, too, in a file that is an orphan as
 * well, of an adoption cut short: who writes it goes on until that name is gone, and vouches for it.
 */
static int cut_torn_tail(struct spool *s, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	_cleanup_close_ int torn_fd = -1;
	struct spool_segment *seg;
	char name[SPOOL_NAME_MAX];
	struct stat st;
	uint64_t tail;
	int rc;

	if (!s->nseg)
		return 0;
	seg = &s->seg[s->nseg - 1];
	spool_segment_name(name, seg->number, "seg");
	fd = openat(s->dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errmsg_errno(err, -errno, "%s/%s: cannot open", s->dir, name);
	if (st.st_nlink > 1)
		return 0;
	s->stats.bytes += (uint64_t)st.st_size - seg->size;
	seg->size = (uint64_t)st.st_size;
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

/* One that was just made is there after a power cut only if its parent was synced. */
static void sync_parent(const struct spool *s)
{
	_cleanup_close_ int fd = openat(s->dir_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		(void)fsync(fd);
}

static int take_lock(struct spool *s, struct errmsg *err)
{
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0) {
		s->is_locked = true;
		return 0;
	}
	if (errno == EWOULDBLOCK)
		return errmsg_set(err, -EBUSY, "%s: another process writes this spool", s->dir);
	/* Lustre without -o flock, say: "owner" has to do */
	if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)
		return 0;
	return errmsg_errno(err, -errno, "%s/lock: cannot lock", s->dir);
}

static int open_dir(struct spool *s, struct errmsg *err)
{
	bool is_new = access(s->dir, F_OK) < 0;
	int rc = fileio_mkdir_p(s->dir, 0700, err);

	if (rc < 0)
		return rc;
	s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", s->dir);
	if (is_new)
		sync_parent(s);
	s->lock_fd = openat(s->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0)
		return errmsg_errno(err, -errno, "%s/lock: cannot open", s->dir);
	return take_lock(s, err);
}

int spool_open(const char *dir, uint64_t max_bytes, struct spool **ret, struct errmsg *err)
{
	struct spool *s = calloc(1, sizeof(*s));
	int rc;
	int n;

	if (!s)
		return errmsg_set(err, -ENOMEM, "%s: out of memory", dir);
	s->dir_fd = s->lock_fd = s->seg_fd = s->orphan_fd = -1;
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
		rc = spool_owner_take(s, err);
	if (rc == 0)
		rc = scan_dir(s, err);
	/* what was found is nobody's now, if it is still ours */
	if (rc == 0 && !spool_owner_is_us(s))
		rc = errmsg_set(err, -EBUSY, "%s: another process takes over this spool", dir);
	if (rc == 0) {
		drop_empty(s);
		rc = spool_later_set_aside(s, err);
	}
	if (rc == 0)
		rc = cut_torn_tail(s, err);
	if (rc == 0) {
		spool_orphans_adopt(s);
		spool_later_adopt(s);
	}
	if (rc < 0) {
		spool_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}
