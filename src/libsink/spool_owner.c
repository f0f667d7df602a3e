/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_owner.c - one writer, even where the lock does not tell: on a file system without locks, or
 * when a server lost them. Who opens the spool writes its name into "owner", and looks there after
 * each sync: what was on disk while the name was still its own was seen by whoever came after.
 * From then on it writes to a file of its own, "*.orphan", which the next to open or to begin a
 * segment renames to one. Nothing is lost by that, some may be repeated.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "src/libsink/spool_internal.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

#define ORPHAN ".orphan"

int spool_owner_take(struct spool *s, struct errmsg *err)
{
	char path[PATH_MAX];
	char host[64] = "";
	char *name;
	int rc;

	(void)gethostname(host, sizeof(host) - 1);
	host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] =
		'\0';
	(void)snprintf(s->token, sizeof(s->token), "%s-%ld-%016" PRIx64, host, (long)getpid(),
		       clock_wall_ns());
	/* two may do this at once: under a name that only one of them uses, then by one rename */
	if ((size_t)snprintf(path, sizeof(path), "%s/owner-%s", s->dir, s->token) >= sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: path too long", s->dir);
	name = strrchr(path, '/') + 1;
	rc = fileio_write_atomic(path, s->token, strlen(s->token), 0600, err);
	if (rc == 0 && renameat(s->dir_fd, name, s->dir_fd, "owner") < 0) {
		rc = errmsg_errno(err, -errno, "%s/owner: cannot replace", s->dir);
		(void)unlinkat(s->dir_fd, name, 0);
	}
	if (rc < 0)
		s->token[0] = '\0';
	/* a full disk must not keep what is there from being read: the lock has to do */
	return s->is_locked && (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG) ? 0 : rc;
}

bool spool_owner_is_us(struct spool *s)
{
	char text[sizeof(s->token)] = "";
	_cleanup_close_ int fd = -1;
	ssize_t n;

	if (s->is_fenced || !s->token[0])
		return !s->is_fenced;
	/* opened each time: that is when NFS asks its server */
	fd = openat(s->dir_fd, "owner", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	n = fd < 0 ? -errno : fileio_pread_all(fd, text, sizeof(text));
	/* whoever took the spool over has written it; an error tells nothing */
	if (n > 0 && strcmp(text, s->token))
		s->is_fenced = true;
	return !s->is_fenced;
}

int spool_orphan_open(struct spool *s)
{
	_cleanup_close_ int fd = -1;

	(void)snprintf(s->orphan, sizeof(s->orphan), "%s-%u" ORPHAN, s->token, ++s->norphans);
	fd = openat(s->dir_fd, s->orphan, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	if (fsync(s->dir_fd) < 0)
		return -errno;
	s->orphan_size = 0;
	s->orphan_fd = TAKE_FD(fd);
	return 0;
}

int spool_orphan_sync(struct spool *s)
{
	struct stat there;
	struct stat here;

	if (fdatasync(s->orphan_fd) < 0 || fstat(s->orphan_fd, &here) < 0)
		return -errno;
	/* gone: it is a segment now, whose new owner may have seen less of it */
	if (fstatat(s->dir_fd, s->orphan, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	    there.st_dev != here.st_dev || there.st_ino != here.st_ino)
		return -ESTALE;
	return 0;
}

static bool is_orphan(const char *name)
{
	size_t len = strlen(name);

	return len > sizeof(ORPHAN) && !strcmp(name + len - (sizeof(ORPHAN) - 1), ORPHAN);
}

void spool_adopt(struct spool *s, const char *name)
{
	char segment[SPOOL_NAME_MAX];

	for (;;) {
		spool_segment_name(segment, s->next_number, "seg");
		/* not rename(), which would replace a segment that another one has just begun */
		if (linkat(s->dir_fd, name, s->dir_fd, segment, 0) == 0)
			break;
		if (errno != EEXIST || spool_segment_find(s) < 0)
			return; /* another time */
	}
	/* numbers of ours are behind every cursor only while nobody else has the spool */
	if (!spool_owner_is_us(s)) {
		(void)unlinkat(s->dir_fd, segment, 0);
		return;
	}
	/* its size counts from here on: who wrote it looks for that name after each sync */
	if (unlinkat(s->dir_fd, name, 0) == 0 || errno == ENOENT)
		(void)spool_segment_find(s);
}

void spool_orphans_adopt(struct spool *s)
{
	DIR *d = spool_owner_is_us(s) ? opendir(s->dir) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_orphan(e->d_name))
			spool_adopt(s, e->d_name);
	if (d)
		(void)closedir(d);
}
