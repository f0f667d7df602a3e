/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/push_queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define SUFFIX ".part"
#define DROPPED "dropped" /* the file with the number of dropped parts */
/* The characters that a name or a label of a series may have in all versions of Pyroscope. */
#define SAFE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

struct push_queue {
	char dir[PATH_MAX - PUSH_NAME_MAX];
	uint64_t max;
	int fd; /* of DIR; locked while parts are counted and added */
	unsigned int added;
};

int push_queue_open(const char *dir, uint64_t max, struct push_queue **ret, struct errmsg *err)
{
	struct push_queue *q = calloc(1, sizeof(*q));
	struct stat st;
	int rc;

	if (!q || (size_t)snprintf(q->dir, sizeof(q->dir), "%s", dir) >= sizeof(q->dir)) {
		free(q);
		return errmsg_errno(err, -ENOMEM, "%s", dir);
	}
	q->max = max;
	q->fd = -1;
	rc = fileio_mkdir_p(dir, 0700, err);
	if (rc == 0)
		q->fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (rc == 0 && (q->fd < 0 || fstat(q->fd, &st) < 0))
		rc = errmsg_errno(err, -errno, "%s", dir);
	else if (rc == 0 && (st.st_uid != geteuid() || st.st_mode & 022))
		rc = errmsg_set(err, -EPERM, "%s: belongs to another user, or others can write in it", dir);
	if (rc < 0) {
		push_queue_close(q);
		return rc;
	}
	*ret = q;
	return 0;
}

void push_queue_close(struct push_queue *q)
{
	if (!q)
		return;
	if (q->fd >= 0)
		(void)close(q->fd);
	free(q);
}

static void queue_path(const struct push_queue *q, const char *name, char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "%s/%s", q->dir, name);
}

static bool ends_with(const char *name, const char *end)
{
	const size_t len = strlen(name), end_len = strlen(end);

	return len > end_len && !strcmp(name + len - end_len, end);
}

static int is_part(const struct dirent *d)
{
	return strlen(d->d_name) < PUSH_NAME_MAX && ends_with(d->d_name, SUFFIX);
}

/* --- the writing side ----------------------------------------------------------------------- */

/*
 * Adds the bytes of all parts to *RET, each part rounded up to a page as file systems do. Call it with the
 * lock: a part that is not complete was then left by a killed writer, and is removed.
 */
static int queue_size(const struct push_queue *q, uint64_t *ret)
{
	DIR *dir = opendir(q->dir);
	struct dirent *d;
	struct stat st;

	if (!dir)
		return -errno;
	while ((d = readdir(dir)))
		if (ends_with(d->d_name, SUFFIX FILEIO_TMP))
			(void)unlinkat(q->fd, d->d_name, 0);
		else if (is_part(d) && fstatat(q->fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			*ret += ((uint64_t)st.st_size + 4095) & ~UINT64_C(4095);
	(void)closedir(dir);
	return 0;
}

static uint64_t dropped_read(const struct push_queue *q)
{
	char path[PATH_MAX], text[32];
	uint64_t n;

	queue_path(q, DROPPED, path);
	return fileio_read_line("", path, text, sizeof(text)) == 0 && parse_u64(text, &n) == 0 ? n : 0;
}

static void dropped_write(const struct push_queue *q, uint64_t n)
{
	char path[PATH_MAX], text[32];
	const int len = snprintf(text, sizeof(text), "%" PRIu64 "\n", n);

	queue_path(q, DROPPED, path);
	(void)fileio_write_atomic(path, text, (size_t)len, 0600, NULL);
}

/* Writes PART to a new file, whose name has the time, so that names sort by age. */
static int queue_write(struct push_queue *q, const struct push_part *part, struct errmsg *err)
{
	_cleanup_free_ char *data = malloc(PUSH_SERIES_MAX + 64 + part->len);
	char path[PATH_MAX], name[PUSH_NAME_MAX];
	int head;

	if (!data)
		return errmsg_errno(err, -ENOMEM, "%s", q->dir);
	head = snprintf(data, PUSH_SERIES_MAX + 64, "%s %" PRIu64 " %" PRIu64 "\n", part->series,
			part->from_ns, part->until_ns);
	memcpy(data + head, part->data, part->len);
	(void)snprintf(name, sizeof(name), "%020" PRIu64 "-%d-%u" SUFFIX, clock_wall_ns(), (int)getpid(),
		       q->added++);
	queue_path(q, name, path);
	return fileio_write_atomic(path, data, (size_t)head + part->len, 0600, err);
}

int push_queue_put(struct push_queue *q, const struct push_part *part, struct errmsg *err)
{
	uint64_t size = 0;
	int rc;

	if (flock(q->fd, LOCK_EX) < 0)
		return errmsg_errno(err, -errno, "%s", q->dir);
	rc = queue_size(q, &size);
	if (rc < 0) {
		(void)errmsg_errno(err, rc, "%s", q->dir);
	} else if (part->len > PUSH_PART_MAX || size + part->len > q->max) {
		rc = errmsg_set(err, -ENOSPC, "%s: the queue is full", q->dir);
		dropped_write(q, dropped_read(q) + 1);
	} else {
		rc = queue_write(q, part, err);
	}
	(void)flock(q->fd, LOCK_UN);
	return rc;
}

/* --- the sending side ----------------------------------------------------------------------- */

uint64_t push_queue_take_dropped(struct push_queue *q)
{
	uint64_t n;

	if (flock(q->fd, LOCK_EX) < 0)
		return 0;
	n = dropped_read(q);
	if (n)
		(void)unlinkat(q->fd, DROPPED, 0);
	(void)flock(q->fd, LOCK_UN);
	return n;
}

int push_queue_list(struct push_queue *q, size_t max, char (**ret)[PUSH_NAME_MAX])
{
	char(*list)[PUSH_NAME_MAX];
	struct dirent **d;
	int n = scandir(q->dir, &d, is_part, alphasort), i;

	if (n < 0)
		return -errno;
	list = calloc(max + 1, sizeof(*list));
	for (i = 0; i < n; i++) {
		if (list && (size_t)i < max)
			(void)snprintf(list[i], sizeof(list[i]), "%s", d[i]->d_name);
		free(d[i]);
	}
	free(d);
	if (!list)
		return -ENOMEM;
	*ret = list;
	return (size_t)n < max ? n : (int)max;
}

/* Reads the first line of TEXT[len]. False: it is not what queue_write() writes. */
static bool parse_head(char *text, size_t len, struct push_part *ret)
{
	char *end = memchr(text, '\n', len), *from, *until;

	if (!end)
		return false;
	*end = '\0';
	from = strchr(text, ' ');
	until = from ? strchr(from + 1, ' ') : NULL;
	if (!until || (size_t)(from - text) >= sizeof(ret->series))
		return false;
	*from = *until = '\0';
	(void)snprintf(ret->series, sizeof(ret->series), "%s", text);
	ret->data = end + 1;
	ret->len = len - (size_t)(end + 1 - text);
	return parse_u64(from + 1, &ret->from_ns) == 0 && parse_u64(until + 1, &ret->until_ns) == 0 &&
	       ret->len;
}

int push_queue_read(struct push_queue *q, const char *name, struct push_part *ret, char **buf,
		    struct errmsg *err)
{
	char path[PATH_MAX];
	char *text;
	size_t len;
	int rc;

	queue_path(q, name, path);
	rc = fileio_read_alloc(path, PUSH_PART_MAX + PUSH_SERIES_MAX + 64, &text, &len, err);
	if (rc < 0)
		return rc == -EFBIG ? -EINVAL : rc;
	if (!parse_head(text, len, ret)) {
		free(text);
		return errmsg_set(err, -EINVAL, "%s: not a part of a profile, or damaged", path);
	}
	*buf = text;
	return 0;
}

void push_queue_remove(struct push_queue *q, const char *name)
{
	(void)unlinkat(q->fd, name, 0);
}

/* --- names ---------------------------------------------------------------------------------- */

bool push_series(const char *job_id, const char *cluster, const char *node, const char *step,
		 const char *user, char ret[PUSH_SERIES_MAX])
{
	const struct {
		const char *before, *text;
	} parts[] = { { "", job_id },	  { "{cluster=", cluster }, { ",node=", node },
		      { ",step=", step }, { ",user=", user },	    { "}", "" } };
	size_t used = 0, i;
	const char *c;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (used + strlen(parts[i].before) + strlen(parts[i].text) >= PUSH_SERIES_MAX)
			return false;
		used += (size_t)snprintf(ret + used, PUSH_SERIES_MAX - used, "%s", parts[i].before);
		for (c = parts[i].text; *c; c++)
			ret[used++] = strchr(SAFE, *c) ? *c : '_';
		ret[used] = '\0';
	}
	return true;
}
