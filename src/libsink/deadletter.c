/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/deadletter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "src/libutil/fileio.h"
#include "src/libutil/logger.h"

#define TRIES 10
#define NAP_NS 5000000

/* Length of the UTF-8 sequence at P, 0: none (Unicode 15, table 3-7). */
static size_t utf8_len(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 :
		   p[0] < 0xf5 ? 4 : 0;
	size_t i;

	if (!n || n > left)
		return 0;
	for (i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static void put_string(FILE *f, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n;

	(void)fputc('"', f);
	for (; len; p += n, len -= n) {
		n = utf8_len(p, len);
		if (!n) {
			n = 1;
			(void)fputs("\\ufffd", f);
		} else if (*p == '"' || *p == '\\') {
			(void)fprintf(f, "\\%c", *p);
		} else if (*p < 0x20 || *p == 0x7f) {
			(void)fprintf(f, "\\u%04x", *p);
		} else {
			(void)fwrite(p, 1, n, f);
		}
	}
	(void)fputc('"', f);
}

static int format_line(const char *sink, const struct sink_item *item, const char *reason,
		       char **ret, size_t *ret_len)
{
	char *line = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&line, &len);
	bool failed;

	if (!f)
		return -ENOMEM;
	(void)fprintf(f, "{\"time\":%lld,\"sink\":", (long long)time(NULL));
	put_string(f, sink, strlen(sink));
	(void)fprintf(f, ",\"kind\":\"%s\",\"key\":", spool_kind_name(item->kind));
	put_string(f, item->key, item->key_len);
	(void)fputs(",\"reason\":", f);
	put_string(f, reason, strlen(reason));
	(void)fputs(",\"record\":", f);
	put_string(f, item->json, item->json_len);
	(void)fputs("}\n", f);
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(line);
		return -ENOMEM;
	}
	*ret = line;
	*ret_len = len;
	return 0;
}

static void rotate(const char *path)
{
	char old[PATH_MAX];
	int n = snprintf(old, sizeof(old), "%s.1", path);

	if (n < 0 || (size_t)n >= sizeof(old) || rename(path, old) < 0)
		return; /* it grows on */
	logger_error("ceems: %s is full and now %s.1; the older one, if any, is gone", path,
		     path);
}

size_t deadletter_sink_len(const char *file)
{
	const char *dot = strchr(file, '.');
	static const char *const suffix[] = { ".dead", ".dead.1", DEADLETTER_TAKEN,
					      DEADLETTER_TAKEN ".1" };
	size_t i;

	for (i = 0; dot && i < ARRAY_SIZE(suffix); i++)
		if (!strcmp(dot, suffix[i]))
			return (size_t)(dot - file);
	return 0;
}

static int sync_folder(const char *dir)
{
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/*
 * `ceems spool replay` puts letters back meanwhile, and what a full disk cut short is cut off. Not
 * waited for, as a stopped process must not hold us up; where there are no locks it goes without.
 */
static int lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EWOULDBLOCK : 0;
}

/* 1: it is written, but the file is not PATH any more. */
static int append_line(const char *dir, const char *path, const char *line, size_t len)
{
	_cleanup_close_ int fd = -1;
	struct stat there;
	struct stat st;
	int rc;

	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	rc = lock(fd);
	if (rc == 0 && fstat(fd, &st) < 0)
		rc = -errno;
	if (rc < 0)
		return rc;
	rc = fileio_write_full(fd, line, len);
	if (rc == 0 && fdatasync(fd) < 0)
		rc = -errno;
	if (rc == 0 && !st.st_size) /* else a power cut may take the new file's name */
		rc = sync_folder(dir);
	if (rc < 0) {
		(void)!ftruncate(fd, st.st_size); /* no half line before the next one */
		return rc;
	}
	return stat(path, &there) < 0 || there.st_dev != st.st_dev || there.st_ino != st.st_ino;
}

int deadletter_write(const char *dir, const char *sink, const struct sink_item *item,
		     const char *reason, struct errmsg *err)
{
	_cleanup_free_ char *line = NULL;
	char path[PATH_MAX];
	unsigned int tries = TRIES;
	struct stat st;
	size_t len;
	int rc;
	int n;

	n = snprintf(path, sizeof(path), "%s/%s.dead", dir, sink);
	if (n < 0 || (size_t)n >= sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: path too long", dir);
	rc = format_line(sink, item, reason, &line, &len);
	if (rc < 0)
		return errmsg_errno(err, rc, "%s: cannot append", path);
	if (stat(path, &st) == 0 && (uint64_t)st.st_size + len > DEADLETTER_FILE_MAX)
		rotate(path);
	while (((rc = append_line(dir, path, line, len)) > 0 || rc == -EWOULDBLOCK) && --tries)
		(void)nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	if (rc > 0)
		rc = -EBUSY; /* somebody takes it again and again; the sink's next try is later */
	return rc < 0 ? errmsg_errno(err, rc, "%s: cannot append", path) : 0;
}
