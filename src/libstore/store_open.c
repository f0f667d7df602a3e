/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_open.c - opens the store: takes its lock, opens or creates its file, sets a corrupt file
 * aside.
 */
#include "src/libstore/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "src/libstore/store.h"
#include "src/libutil/fileio.h"
#include "src/libutil/localfs.h"
#include "src/libutil/thread.h"

static uint64_t store_wall_clock(void)
{
	return (uint64_t)time(NULL);
}

/* --- the lock ----------------------------------------------------------------------------------- */

static int store_lock_failed(const char *dir, int fd, struct errmsg *err)
{
	char pid[24] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? (size_t)n : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	return errmsg_set(err, -EBUSY, "%s belongs to another ceems-recorder (pid %s): stop that one", dir,
			  pid[0] ? pid : "unknown");
}

static int store_take_lock(const char *dir, int *ret_fd, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	char pid[24];
	int n = snprintf(path, sizeof(path), "%s/lock", dir);

	if (n < 0 || (size_t)n >= sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s: cannot open", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? store_lock_failed(dir, fd, err) :
					      errmsg_errno(err, -errno, "%s: cannot lock", path);
	/* the pid is only informative: a full disk must not prevent the start */
	n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, pid, (size_t)n, 0);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* --- the file ----------------------------------------------------------------------------------- */

/*
 * Creates the file before SQLite does: SQLite would apply the umask. SQLite's other files get the
 * mode of this one.
 */
static int store_make_file(const char *path, struct errmsg *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return errno == EEXIST ? 0 : errmsg_errno(err, -errno, "%s: cannot create", path);
	(void)close(fd);
	return 0;
}

static int store_make_tables(sqlite3 *db, const char *path, struct errmsg *err)
{
	char layout[96];
	int rc;

	(void)snprintf(layout, sizeof(layout), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		       STORE_APPLICATION_ID, STORE_LAYOUT);
	rc = store_db_exec(db, "BEGIN IMMEDIATE;" STORE_SQL_TABLES, path, err);
	if (rc == 0)
		rc = store_db_exec(db, layout, path, err);
	return rc;
}

static int store_use_wal(sqlite3 *db, const char *path, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int result = sqlite3_prepare_v2(db, "PRAGMA journal_mode = WAL", -1, &stmt, NULL);
	int rc = 0;

	if (result == SQLITE_OK)
		result = sqlite3_step(stmt);
	if (result != SQLITE_ROW)
		rc = store_db_error(db, result, path, err);
	else if (strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") != 0)
		rc = errmsg_set(err, -ENOTSUP, "%s: SQLite's WAL does not work there", path);
	(void)sqlite3_finalize(stmt);
	return rc;
}

/* Reads every page, so that corruption is found at the start and not at a job's end. */
static int store_check_pages(sqlite3 *db, const char *path, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int result = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
	int rc = 0;

	if (result == SQLITE_OK)
		result = sqlite3_step(stmt);
	if (result != SQLITE_ROW)
		rc = store_db_error(db, result, path, err);
	else if (strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
		rc = errmsg_set(err, -EUCLEAN, "%s: %s", path, (const char *)sqlite3_column_text(stmt, 0));
	(void)sqlite3_finalize(stmt);
	return rc;
}

static int store_open_file(const char *path, sqlite3 **ret, bool *ret_new, struct errmsg *err)
{
	sqlite3 *db = NULL;
	int rc = store_make_file(path, err);
	int layout = 0;

	if (rc == 0)
		rc = store_db_open(path, SQLITE_OPEN_READWRITE, &db, err);
	if (rc == 0)
		rc = layout = store_db_check_layout(db, path, err);
	if (layout == 1)
		rc = store_db_exec(db, STORE_SQL_FILE, path, err);
	else if (rc == 0)
		rc = store_check_pages(db, path, err);
	if (rc == 0)
		rc = store_use_wal(db, path, err);
	if (rc == 0)
		rc = store_db_exec(db, STORE_SQL_CONNECTION, path, err);
	if (rc == 0 && layout == 1)
		rc = store_make_tables(db, path, err);
	if (rc < 0) {
		(void)sqlite3_close(db);
		return rc;
	}
	*ret = db;
	*ret_new = layout == 1;
	return 0;
}

static int store_rename(const char *path, const char *suffix, const char *to, struct errmsg *err)
{
	char from[PATH_MAX + 8];
	char aside[PATH_MAX + 40];

	(void)snprintf(from, sizeof(from), "%s%s", path, suffix);
	(void)snprintf(aside, sizeof(aside), "%s%s", to, suffix);
	if (rename(from, aside) < 0 && errno != ENOENT)
		return errmsg_errno(err, -errno, "%s: cannot rename", from);
	return 0;
}

static int store_set_aside(const char *path, const char *why, uint64_t now, struct errmsg *err)
{
	char aside[PATH_MAX + 32];
	time_t t = (time_t)now;
	char stamp[24] = "";
	struct tm tm;
	int rc;

	if (gmtime_r(&t, &tm))
		(void)strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	(void)snprintf(aside, sizeof(aside), "%s.corrupt-%s", path, stamp);
	/* rename the log too: it has committed rows, and SQLite finds it by the name of the file */
	rc = store_rename(path, "-wal", aside, err);
	if (rc == 0)
		rc = store_rename(path, "", aside, err);
	if (rc < 0)
		return rc;
	(void)snprintf(aside, sizeof(aside), "%s-shm", path);
	(void)unlink(aside);
	logger_error("ceems: store: %s; set aside as %s.corrupt-%s, a new file is begun; slurmdbd is asked "
		     "for the jobs, and `sqlite3 FILE .recover` shows what was not delivered",
		     why, path, stamp);
	return 0;
}

static int store_open_db(struct store *s, struct errmsg *err)
{
	struct errmsg why = { 0 };
	int rc = store_open_file(s->path, &s->db, &s->is_new, &why);

	if (rc == -EUCLEAN) {
		rc = store_set_aside(s->path, why.text, s->now(), err);
		if (rc == 0)
			rc = store_open_file(s->path, &s->db, &s->is_new, err);
	} else if (rc < 0 && err) {
		*err = why;
	}
	return rc;
}

/* --- open and close ----------------------------------------------------------------------------- */

static int store_init(struct store *s)
{
	s->lock_fd = -1;
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_mutex_init(&s->wait_lock, NULL);
	return thread_cond_init(&s->has_records);
}

static int store_read_last_seq(struct store *s, struct errmsg *err)
{
	int rc = 0;
	sqlite3_stmt *stmt = store_stmt(s, STMT_LAST_SEQ, &rc, err);

	if (!stmt)
		return rc;
	rc = store_step(s, stmt, err);
	if (rc > 0)
		s->last_seq = (uint64_t)sqlite3_column_int64(stmt, 0);
	(void)sqlite3_reset(stmt);
	return rc < 0 ? rc : 0;
}

static int store_open_all(struct store *s, const char *dir, struct errmsg *err)
{
	int rc = localfs_check(dir, "StoreDir", err);

	/* not before: on a network file system, mkdir() may hang */
	if (rc == -ENOENT) {
		rc = fileio_mkdir_p(dir, 0700, err);
		if (rc == 0)
			rc = localfs_check(dir, "StoreDir", err);
	}
	if (rc == 0)
		rc = store_db_path(dir, s->path, sizeof(s->path), err);
	if (rc == 0)
		rc = store_take_lock(dir, &s->lock_fd, err);
	if (rc == 0)
		rc = store_open_db(s, err);
	if (rc == 0)
		rc = store_read_last_seq(s, err);
	return rc;
}

int store_open(const struct store_options *o, struct store **ret, struct errmsg *err)
{
	struct store *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return errmsg_set(err, -ENOMEM, "out of memory");
	s->now = o->now ? o->now : store_wall_clock;
	s->max_bytes = o->max_bytes;
	rc = store_init(s);
	if (rc < 0) {
		free(s);
		return errmsg_set(err, rc, "out of memory");
	}
	rc = store_open_all(s, o->dir, err);
	if (rc < 0) {
		store_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void store_close(struct store *s)
{
	struct errmsg err = { 0 };
	char why[PATH_MAX + 64];
	size_t i;

	if (!s)
		return;
	for (i = 0; i < STMT_N; i++)
		(void)sqlite3_finalize(s->stmt[i]);
	(void)sqlite3_close(s->db);
	if (s->is_corrupt) {
		(void)snprintf(why, sizeof(why), "%s is corrupt", s->path);
		if (store_set_aside(s->path, why, s->now(), &err) < 0)
			logger_error("ceems: store: %s", err.text);
	}
	if (s->lock_fd >= 0)
		(void)close(s->lock_fd);
	(void)pthread_cond_destroy(&s->has_records);
	(void)pthread_mutex_destroy(&s->wait_lock);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

bool store_is_new(const struct store *s)
{
	return s->is_new;
}
