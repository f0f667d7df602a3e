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
#include "src/libutil/utf8.h"

#define TRIES 10
#define NAP_NS 5000000

static void put_string(FILE *f, const char *text, size_t len)
{
	const char *p = text;
	size_t n;

	(void)fputc('"', f);
	for (; len; p += n, len -= n) {
		n = utf8_sequence(p, len);
		if (!n) {
			n = 1;
			(void)fputs("\\ufffd", f);
		} else if (*p == '"' || *p == '\\') {
			(void)fprintf(f, "\\%c", *p);
		} else if ((unsigned char)*p < 0x20 || *p == 0x7f) {
			(void)fprintf(f, "\\u%04x", *p);
		} else {
			(void)fwrite(p, 1, n, f);
		}
	}
	(void)fputc('"', f);
}

static void put_letter(FILE *f, const char *sink, const struct deadletter *l)
{
	(void)fprintf(f, "{\"time\":%lld,\"sink\":", (long long)time(NULL));
	put_string(f, sink, strlen(sink));
	(void)fprintf(f, ",\"kind\":\"%s\",\"key\":", spool_kind_name(l->item->kind));
	put_string(f, l->item->key, l->item->key_len);
	(void)fputs(",\"reason\":", f);
	put_string(f, l->reason, strlen(l->reason));
	(void)fputs(",\"record\":", f);
	put_string(f, l->item->json, l->item->json_len);
	(void)fputs("}\n", f);
}

static int format_lines(const char *sink, const struct deadletter *letter, size_t n, char **ret,
			size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	bool failed;
	size_t i;

	if (!f)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		put_letter(f, sink, &letter[i]);
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
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
static int append(const char *dir, const char *path, const char *lines, size_t len)
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
	rc = fileio_write_full(fd, lines, len);
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

int deadletter_write(const char *dir, const char *sink, const struct deadletter *letter, size_t n_letters,
		     struct errmsg *err)
{
	_cleanup_free_ char *lines = NULL;
	char path[PATH_MAX];
	unsigned int tries = TRIES;
	struct stat st;
	size_t len;
	int rc;
	int n;

	n = snprintf(path, sizeof(path), "%s/%s.dead", dir, sink);
	if (n < 0 || (size_t)n >= sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: path too long", dir);
	rc = format_lines(sink, letter, n_letters, &lines, &len);
	if (rc < 0)
		return errmsg_errno(err, rc, "%s: cannot append", path);
	if (stat(path, &st) == 0 && (uint64_t)st.st_size + len > DEADLETTER_FILE_MAX)
		rotate(path);
	while (((rc = append(dir, path, lines, len)) > 0 || rc == -EWOULDBLOCK) && --tries)
		(void)nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	if (rc > 0)
		rc = -EBUSY; /* somebody takes it again and again; the sink's next try is later */
	return rc < 0 ? errmsg_errno(err, rc, "%s: cannot append", path) : 0;
}
