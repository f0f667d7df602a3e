/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "src/libutil/parse.h"

int fileio_open_at_root(const char *root, const char *path)
{
	char full[PATH_MAX];
	int n;
	int fd;

	if (!root || !strcmp(root, "/"))
		root = "";
	n = snprintf(full, sizeof(full), "%s%s", root, path);
	if (n < 0 || (size_t)n >= sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

ssize_t fileio_pread_all(int fd, char *buf, size_t size)
{
	size_t used = 0;
	ssize_t n;

	for (;;) {
		n = pread(fd, buf + used, size - used, (off_t)used);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!n)
			break;
		used += (size_t)n;
		if (used == size)
			return -EFBIG;
	}
	buf[used] = '\0';
	return (ssize_t)used;
}

int fileio_pread_u64(int fd, uint64_t *ret)
{
	char buf[32];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	/*
	 * One read is enough if it returned a whole line; a second read would make the kernel
	 * format the file again.
	 */
	if (n <= 0 || n == (ssize_t)sizeof(buf) || buf[n - 1] != '\n')
		n = fileio_pread_all(fd, buf, sizeof(buf));
	if (n < 0)
		return n == -EFBIG ? -EINVAL : (int)n;
	return parse_u64_n(buf, (size_t)n, ret);
}

int fileio_read_line(const char *root, const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = fileio_open_at_root(root, path);
	ssize_t n = fd < 0 ? fd : fileio_pread_all(fd, buf, size);

	if (n < 0)
		return (int)n;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

int fileio_open_regular(const char *path, struct stat *ret, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;

	/* O_NONBLOCK: opening a FIFO must not wait for its writer */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", path);
	if (fstat(fd, ret) < 0)
		return errmsg_errno(err, -errno, "%s: cannot stat", path);
	if (!S_ISREG(ret->st_mode))
		return errmsg_set(err, -EINVAL, "%s: not a regular file", path);
	return TAKE_FD(fd);
}

/* Reads the whole file at FD, whose status is ST, into malloc'ed, NUL-ended memory. */
static int read_all(int fd, const struct stat *st, const char *path, size_t max, char **ret, size_t *ret_len,
		    struct errmsg *err)
{
	_cleanup_free_ char *buf = NULL;
	size_t size;
	ssize_t n;

	if (st->st_size < 0 || (uint64_t)st->st_size > max)
		return errmsg_set(err, -EFBIG, "%s: larger than %zu bytes", path, max);
	size = max + 1; /* the file may have grown since: the limit decides, not st_size */
	if ((size_t)st->st_size + 4096 < size)
		size = (size_t)st->st_size + 4096;
	buf = malloc(size);
	if (!buf)
		return errmsg_set(err, -ENOMEM, "%s: out of memory", path);
	n = fileio_pread_all(fd, buf, size);
	if (n < 0)
		return errmsg_errno(err, (int)n, "%s: cannot read", path);
	*ret = TAKE_PTR(buf);
	if (ret_len)
		*ret_len = (size_t)n;
	return 0;
}

int fileio_read_alloc(const char *path, size_t max, char **ret, size_t *ret_len, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = fileio_open_regular(path, &st, err);
	return fd < 0 ? fd : read_all(fd, &st, path, max, ret, ret_len, err);
}

int fileio_read_checked(const char *path, size_t max,
			int (*check)(const char *path, const struct stat *st, struct errmsg *err),
			struct stat *st, char **ret, size_t *ret_len, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	struct stat own;
	int rc;

	if (!st)
		st = &own;
	fd = fileio_open_regular(path, st, err);
	if (fd < 0)
		return fd;
	rc = check(path, st, err);
	return rc < 0 ? rc : read_all(fd, st, path, max, ret, ret_len, err);
}

int fileio_write_full(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len) {
		n = write(fd, p, len);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fileio_sync_folder(const char *path)
{
	_cleanup_close_ int fd = -1;
	char dir[PATH_MAX];

	(void)snprintf(dir, sizeof(dir), "%s", path);
	fd = open(dirname(dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

#define GROUP_OF_PROCESS ((gid_t)-1) /* fchown() leaves the group as it is */

static int replace_file(const char *path, const void *data, size_t len, mode_t mode, gid_t group, bool sync,
			struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char tmp[PATH_MAX];
	int rc;
	int n;

	n = snprintf(tmp, sizeof(tmp), "%s" FILEIO_TMP, path);
	if (n < 0 || (size_t)n >= sizeof(tmp))
		return errmsg_set(err, -ENAMETOOLONG, "%s: path too long", path);
	/* removes what a killed writer left; O_EXCL then refuses a planted link */
	(void)unlink(tmp);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot create", tmp);
	/*
	 * Set the group before the mode, or the old group would have the new group's rights for a
	 * moment. Set the mode by fchmod(), which ignores the umask.
	 */
	rc = fchown(fd, (uid_t)-1, group) < 0 || fchmod(fd, mode) < 0 ? -errno : 0;
	if (rc == 0)
		rc = fileio_write_full(fd, data, len);
	if (rc == 0 && sync && fsync(fd) < 0)
		rc = -errno;
	/* NFS tells of a full disk at the close, and then the old file must still be there */
	if (close(TAKE_FD(fd)) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(tmp, path) < 0)
		rc = -errno;
	if (rc < 0)
		(void)unlink(tmp);
	else if (sync)
		rc = fileio_sync_folder(path);
	return rc < 0 ? errmsg_errno(err, rc, "%s: cannot replace", path) : 0;
}

int fileio_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct errmsg *err)
{
	return replace_file(path, data, len, mode, GROUP_OF_PROCESS, /* sync= */ false, err);
}

int fileio_write_for_group(const char *path, const void *data, size_t len, mode_t mode, gid_t group,
			   struct errmsg *err)
{
	return replace_file(path, data, len, mode, group, /* sync= */ false, err);
}

int fileio_write_durable(const char *path, const void *data, size_t len, mode_t mode, struct errmsg *err)
{
	return replace_file(path, data, len, mode, GROUP_OF_PROCESS, /* sync= */ true, err);
}

int fileio_mkdir_p(const char *path, mode_t mode, struct errmsg *err)
{
	char buf[PATH_MAX];
	size_t len = strlen(path);
	char *p;

	if (!len || len >= sizeof(buf))
		return errmsg_set(err, -ENAMETOOLONG, "%s: bad path length", path);
	memcpy(buf, path, len + 1);
	for (p = buf + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(buf, mode) < 0 && errno != EEXIST)
			return errmsg_errno(err, -errno, "%s: cannot create", buf);
		*p = c;
		if (c == '\0')
			return 0;
	}
}
