/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_file.c - writes each record as a line of RecordFile. A batch is one write and one fdatasync. The
 * file may be rotated at any time, by renaming it. After a crash between the write and the acknowledgement,
 * a batch is written twice; readers recognise repeated records by their key.
 */
#define _GNU_SOURCE /* memrchr */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "src/libsink/sink.h"
#include "src/libutil/fileio.h"

#define FILE_MODE 0640
/* An incomplete last line that is longer cannot be a record of ours. */
#define TORN_LINE_MAX (8 << 20)

struct sink {
	char path[SETTINGS_PATH_MAX];
	int fd;
	char *buf;
	size_t room;
};

static int file_open(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	struct sink *k;

	if (!s->record_file[0])
		return errmsg_set(err, -EINVAL, "RecordFile is not set");
	k = calloc(1, sizeof(*k));
	if (!k)
		return errmsg_set(err, -ENOMEM, "out of memory");
	k->fd = -1;
	memcpy(k->path, s->record_file, sizeof(k->path));
	*ret = k;
	return 0;
}

static void file_close(struct sink *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		(void)close(k->fd);
	free(k->buf);
	free(k);
}

/* Finds the offset of an incomplete last line, one without a newline. *RET is SIZE: there is none. */
static int find_torn_line(int fd, off_t size, off_t *ret)
{
	char buf[4096];
	off_t at = size;

	while (at > 0) {
		size_t want = at < (off_t)sizeof(buf) ? (size_t)at : sizeof(buf);
		ssize_t n = pread(fd, buf, want, at - (off_t)want);
		const char *nl;

		if (n != (ssize_t)want)
			return n < 0 ? -errno : -EIO;
		nl = memrchr(buf, '\n', want);
		if (nl) {
			*ret = at - (off_t)want + (nl - buf) + 1;
			return 0;
		}
		at -= (off_t)want;
		if (size - at > TORN_LINE_MAX)
			return -EFBIG;
	}
	*ret = 0;
	return 0;
}

/*
 * Removes an incomplete last line, which a crash or a full disk left. Its record was not acknowledged and is
 * delivered again. A line that does not look like a record is completed with a newline instead, because a
 * mistyped RecordFile may name a file of somebody else.
 */
static int mend_tail(int fd, off_t size)
{
	off_t line;
	char first = '\0';
	int rc = find_torn_line(fd, size, &line);

	if (rc == 0 && line == size)
		return 0;
	if (rc == 0 && pread(fd, &first, 1, line) == 1 && first == '{')
		return ftruncate(fd, line) < 0 ? -errno : 0;
	if (rc < 0 && rc != -EFBIG)
		return rc;
	return fileio_write_full(fd, "\n", 1);
}

static int file_reopen(struct sink *k, struct errmsg *err)
{
	struct stat st;
	int rc;

	if (k->fd >= 0)
		(void)close(TAKE_FD(k->fd));
	/* O_NONBLOCK, because opening a FIFO that nobody reads would wait */
	k->fd = open(k->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, FILE_MODE);
	if (k->fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", k->path);
	if (fstat(k->fd, &st) < 0)
		rc = errmsg_errno(err, -errno, "%s: cannot stat", k->path);
	else if (!S_ISREG(st.st_mode))
		rc = errmsg_set(err, -EINVAL, "%s: not a regular file", k->path);
	else if ((rc = mend_tail(k->fd, st.st_size)) < 0)
		(void)errmsg_errno(err, rc, "%s: cannot mend the last line", k->path);
	if (rc < 0)
		(void)close(TAKE_FD(k->fd));
	return rc;
}

/* Opens the file again if it was rotated: then the path is another file or does not exist. */
static int ensure_open(struct sink *k, struct errmsg *err)
{
	struct stat there;
	struct stat here;

	if (k->fd >= 0 && stat(k->path, &there) == 0 && fstat(k->fd, &here) == 0 &&
	    there.st_dev == here.st_dev && there.st_ino == here.st_ino)
		return 0;
	return file_reopen(k, err);
}

/* Returns true if the record is one line. A newline in it would make two lines, neither of them valid. */
static bool is_one_line(const struct sink_item *item)
{
	return item->json_len && !memchr(item->json, '\n', item->json_len);
}

static int fill(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result, size_t *ret_len,
		struct errmsg *err)
{
	size_t len = 0;
	size_t used = 0;
	size_t i;

	for (i = 0; i < n; i++)
		len += item[i].json_len + 1;
	if (len > k->room) {
		char *buf = realloc(k->buf, len);

		if (!buf)
			return errmsg_set(err, -ENOMEM, "out of memory");
		k->buf = buf;
		k->room = len;
	}
	for (i = 0; i < n; i++) {
		if (!is_one_line(&item[i])) {
			sink_refuse(&item[i], &result[i], "record is empty or not one line");
			continue;
		}
		memcpy(k->buf + used, item[i].json, item[i].json_len);
		used += item[i].json_len;
		k->buf[used++] = '\n';
		result[i] = SINK_ACKED;
	}
	*ret_len = used;
	return 0;
}

static int append(struct sink *k, size_t len, struct errmsg *err)
{
	struct stat st;
	int rc;

	if (fstat(k->fd, &st) < 0)
		return errmsg_errno(err, -errno, "%s: cannot stat", k->path);
	/* a new file; an error is told only if the disk fails, since a folder may be closed to SlurmUser */
	if (!st.st_size && (rc = fileio_sync_folder(k->path)) < 0 && rc != -EACCES && rc != -EINVAL)
		return errmsg_errno(err, rc, "%s: cannot sync its folder", k->path);
	rc = fileio_write_full(k->fd, k->buf, len);
	if (rc < 0) {
		(void)!ftruncate(k->fd, st.st_size);
		return errmsg_errno(err, rc, "%s: cannot append", k->path);
	}
	if (fdatasync(k->fd) < 0)
		return errmsg_errno(err, -errno, "%s: cannot sync", k->path);
	return 0;
}

static int file_deliver(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			uint64_t timeout_ns, struct errmsg *err)
{
	size_t len = 0;
	size_t i;
	int rc;

	(void)timeout_ns; /* a write to a file system that hangs cannot be interrupted */
	rc = fill(k, item, n, result, &len, err);
	if (rc == 0)
		rc = ensure_open(k, err);
	if (rc == 0 && len)
		rc = append(k, len, err);
	if (rc == 0)
		return 0;
	for (i = 0; i < n; i++)
		result[i] = SINK_RETRY;
	if (k->fd >= 0)
		(void)close(TAKE_FD(k->fd)); /* the next try opens it again and mends its last line */
	return -EAGAIN;
}

const struct sink_ops sink_file = {
	.name = "file",
	.kinds = STORE_MASK(STORE_RECORD) | STORE_MASK(STORE_STEPS),
	.max_batch = 1000,
	.open = file_open,
	.deliver = file_deliver,
	.close = file_close,
	.output = SINK_SETTING("RecordFile", record_file),
};
