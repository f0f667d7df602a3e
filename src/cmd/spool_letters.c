/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool_letters.c - delivers a sink's dead letters again. The file is taken by renaming it, so that
 * slurmctld begins a new one; what is refused again goes there before the taken file is deleted.
 * After a crash the taken file is there for the next replay: some letters may then be doubled,
 * none is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>

#include <jansson.h>

#include "src/cmd/cmd.h"
#include "src/cmd/spool_replay.h"
#include "src/librecord/record.h"
#include "src/libsink/deadletter.h"
#include "src/libutil/fileio.h"

#define TAKEN 2 /* of the files, the first; in the order they were written */
static const char *const suffix[LETTER_FILES] = { DEADLETTER_TAKEN ".1", DEADLETTER_TAKEN, ".dead.1",
						  ".dead" };

bool letter_file(const char *dir, const char *sink, unsigned int i, char *path, size_t size)
{
	int n = snprintf(path, size, "%s/%s%s", dir, sink, suffix[i]);

	return n > 0 && (size_t)n < size;
}

void letter_clear(struct letter *l)
{
	free(l->key);
	free(l->json);
	*l = (struct letter){ 0 };
}

static bool read_letter(const char *line, size_t len, struct letter *ret)
{
	json_t *o = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
	const json_t *record = json_object_get(o, "record");
	const char *kind = json_string_value(json_object_get(o, "kind"));
	const char *key = json_string_value(json_object_get(o, "key"));
	char own_key[RECORD_KEY_MAX + 24];
	bool good = false;

	if (key && json_is_string(record)) {
		ret->json_len = json_string_length(record);
		ret->kind = kind ? spool_kind_by_name(kind) : SPOOL_RECORD;
		/* before letters had kinds: what the record says it is */
		if (!kind)
			(void)spool_pick_identify(json_string_value(record), ret->json_len,
						  &ret->kind, own_key, sizeof(own_key));
		ret->key = strdup(key);
		ret->json = malloc(ret->json_len + 1);
		good = ret->kind && ret->key && ret->json;
		if (good)
			memcpy(ret->json, json_string_value(record), ret->json_len);
	}
	json_decref(o);
	if (!good)
		letter_clear(ret);
	return good;
}

int letter_next(FILE *f, char **line, size_t *room, struct letter *ret)
{
	ssize_t len = getline(line, room, f);

	*ret = (struct letter){ 0 };
	if (len < 0)
		return ferror(f) ? -EIO : 0;
	return read_letter(*line, (size_t)len, ret) ? 1 : -EINVAL;
}

/* A line that is no letter is kept beside them, as it is. */
static int keep_bad(const struct replay *r, const char *line, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%s.bad", r->dir, r->ops->name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", path);
	rc = fileio_write_full(fd, line, strlen(line));
	if (rc == 0 && !strchr(line, '\n'))
		rc = fileio_write_full(fd, "\n", 1);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	(void)cmd_error("a line that is no dead letter is now in %s", path);
	return rc < 0 ? errmsg_errno(err, rc, "%s: cannot append", path) : 0;
}

static int sync_dir(const char *dir)
{
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Puts what F holds from AT on in the place of PATH. */
static int keep_rest(const char *dir, const char *path, FILE *f, off_t at, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char tmp[PATH_MAX];
	char buf[65536];
	size_t n;
	int rc = 0;

	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= sizeof(tmp))
		return errmsg_set(err, -ENAMETOOLONG, "%s: path too long", path);
	(void)unlink(tmp);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot create", tmp);
	if (fseeko(f, at, SEEK_SET) < 0)
		rc = -errno;
	while (rc == 0 && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		rc = fileio_write_full(fd, buf, n);
	if (rc == 0 && (ferror(f) || fsync(fd) < 0 || rename(tmp, path) < 0))
		rc = errno ? -errno : -EIO;
	if (rc == 0)
		rc = sync_dir(dir);
	if (rc < 0) {
		(void)unlink(tmp);
		return errmsg_errno(err, rc, "%s: stays as it was, its letters are repeated", path);
	}
	return 0;
}

static int add_letter(struct replay *r, const struct letter *l, struct errmsg *err)
{
	struct sink_item item = { .kind = l->kind,
				  .key = l->key,
				  .key_len = strlen(l->key),
				  .json = l->json,
				  .json_len = l->json_len };

	if (r->ops->kinds & SPOOL_MASK(l->kind))
		return replay_add(r, l->kind, l->key, item.key_len, l->json, l->json_len, err);
	r->refused++; /* a topic that is not set any more, say */
	return deadletter_write(r->dir, r->ops->name,
				&(struct deadletter){ &item, "the sink does not take its kind" }, 1,
				err);
}

/* All of F. *RET_DONE: what is before that offset needs no other try. */
static int deliver_file(struct replay *r, FILE *f, off_t *ret_done, struct errmsg *err)
{
	_cleanup_free_ char *line = NULL;
	struct letter l;
	size_t room = 0;
	int rc = 0;
	int got;

	*ret_done = 0;
	while (rc == 0) {
		uint64_t flushed = r->flushed;
		off_t start = ftello(f);

		got = letter_next(f, &line, &room, &l);
		if (got == 0)
			break;
		if (got == -EINVAL) {
			rc = keep_bad(r, line, err);
			continue;
		}
		if (got < 0)
			return errmsg_errno(err, got, "cannot read dead letters");
		rc = add_letter(r, &l, err);
		if (rc == 0 && r->flushed != flushed)
			*ret_done = start;
		letter_clear(&l);
	}
	if (rc == 0)
		rc = replay_flush(r, err);
	if (rc == 0)
		*ret_done = ftello(f);
	return rc;
}

static uint64_t count_letters(FILE *f, off_t at)
{
	uint64_t n = 0;
	int c;

	if (fseeko(f, at, SEEK_SET) < 0)
		return 0;
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	return n;
}

static void count_file(struct replay *r, const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	if (f)
		r->left += count_letters(f, 0);
}

static int deliver_taken(struct replay *r, const char *path, struct errmsg *err)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	struct errmsg rest_err = { 0 };
	uint64_t left = r->left;
	off_t done;
	int rc;

	if (!f)
		return errno == ENOENT ? 0 : errmsg_errno(err, -errno, "%s: cannot open", path);
	rc = deliver_file(r, f, &done, err);
	if (rc == 0) /* what slurmctld wrote to it late it wrote to the new file, too */
		return unlink(path) < 0 ? errmsg_errno(err, -errno, "%s: cannot delete", path) : 0;
	r->left = left + count_letters(f, done);
	if (done && keep_rest(r->dir, path, f, done, &rest_err) < 0)
		(void)cmd_error("%s", rest_err.text);
	return rc;
}

/* One replay at a time: its own lock, the spool's is slurmctld's. */
static int lock_letters(const struct replay *r, int *ret_fd, struct errmsg *err)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s.replay", r->dir, r->ops->name) >=
	    sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: path too long", r->dir);
	*ret_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*ret_fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", path);
	if (flock(*ret_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return errmsg_set(err, -EBUSY, "%s: another replay of %s is running", r->dir,
				  r->ops->name);
	return 0;
}

int replay_letters(struct replay *r, struct errmsg *err)
{
	_cleanup_close_ int lock_fd = -1;
	char path[LETTER_FILES][PATH_MAX];
	unsigned int i;
	int rc = lock_letters(r, &lock_fd, err);

	for (i = 0; rc == 0 && i < LETTER_FILES; i++)
		if (!letter_file(r->dir, r->ops->name, i, path[i], PATH_MAX))
			rc = errmsg_set(err, -ENAMETOOLONG, "%s: path too long", r->dir);
	if (rc < 0)
		return rc;
	r->keep_refused = true;
	for (i = 0; i < TAKEN && rc == 0; i++) {
		const char *untaken = path[TAKEN + i];

		/* what an interrupted replay left keeps its name until it is done */
		if (access(path[i], F_OK) < 0 && rename(untaken, path[i]) < 0 && errno != ENOENT)
			rc = errmsg_errno(err, -errno, "%s: cannot rename", untaken);
		else if (access(untaken, F_OK) == 0)
			(void)cmd_error("%s is left for the next replay: an earlier one was "
					"interrupted and comes first", untaken);
	}
	for (i = 0; i < TAKEN; i++) {
		if (rc == 0)
			rc = deliver_taken(r, path[i], err);
		else
			count_file(r, path[i]);
	}
	return rc;
}
