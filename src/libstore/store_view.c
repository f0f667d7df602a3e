/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstore/store_view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>

#include "src/libstore/store_db.h"

struct store_view {
	char path[PATH_MAX];
	sqlite3 *db;
	sqlite3_stmt *records; /* kept prepared: sinks use it all the time */
};

#define PICK "(?2 = 0 OR (1 << kind) & ?2) AND (?3 IS NULL OR key = ?3 OR instr(key, ?3 || '#') = 1) "

static const char sql_records[] = "SELECT seq, kind, time, key, json, NULL FROM record "
				  "WHERE seq > ?1 AND " PICK "ORDER BY seq";
static const char sql_refused[] =
	"SELECT r.seq, kind, time, key, json, reason FROM refused f JOIN record r ON r.seq = f.seq "
	"WHERE f.sink = ?4 AND f.seq > ?1 AND " PICK "ORDER BY f.seq";

/* --- open and close ----------------------------------------------------------------------------- */

int store_view_open(const char *dir, bool writable, struct store_view **ret, struct errmsg *err)
{
	struct store_view *v = calloc(1, sizeof(*v));
	int rc;

	if (!v)
		return errmsg_set(err, -ENOMEM, "out of memory");
	rc = store_db_path(dir, v->path, sizeof(v->path), err);
	/* SQLite's error for a missing file does not name the file */
	if (rc == 0 && access(v->path, R_OK) < 0)
		rc = errmsg_errno(err, -errno, "%s", v->path);
	if (rc == 0)
		rc = store_db_open(v->path, writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, &v->db,
				   err);
	if (rc == 0)
		rc = store_db_check_layout(v->db, v->path, err);
	if (rc == 1)
		rc = errmsg_set(err, -ENOENT, "%s: has no tables yet", v->path);
	if (rc < 0) {
		store_view_close(v);
		return rc;
	}
	*ret = v;
	return 0;
}

void store_view_close(struct store_view *v)
{
	if (!v)
		return;
	(void)sqlite3_finalize(v->records);
	(void)sqlite3_close(v->db);
	free(v);
}

/* --- statements --------------------------------------------------------------------------------- */

static int view_error(const struct store_view *v, int result, struct errmsg *err)
{
	return store_db_error(v->db, result, v->path, err);
}

static int view_prepare(const struct store_view *v, const char *sql, sqlite3_stmt **ret, struct errmsg *err)
{
	int result = sqlite3_prepare_v2(v->db, sql, -1, ret, NULL);

	return result == SQLITE_OK ? 0 : view_error(v, result, err);
}

static uint64_t view_column(sqlite3_stmt *stmt, int i)
{
	int64_t n = sqlite3_column_int64(stmt, i);

	return n > 0 ? (uint64_t)n : 0;
}

/* Reads one row of numbers; NULL, or no row, gives 0. */
static int view_row(const struct store_view *v, sqlite3_stmt *stmt, uint64_t *ret, int n, struct errmsg *err)
{
	int result = sqlite3_step(stmt);
	int i;

	for (i = 0; i < n; i++)
		ret[i] = result == SQLITE_ROW ? view_column(stmt, i) : 0;
	return result == SQLITE_ROW || result == SQLITE_DONE ? 0 : view_error(v, result, err);
}

/* --- records ------------------------------------------------------------------------------------ */

/* Whether KEY, "cluster/jobid,submit,restarts/offset" maybe with "#part", has this JOB_ID. */
static bool view_is_job(const char *key, uint64_t job_id)
{
	const char *slash = strchr(key, '/');
	char *end;

	if (!slash || slash[1] < '0' || slash[1] > '9')
		return false;
	return strtoull(slash + 1, &end, 10) == job_id && *end == ',';
}

static int view_walk(const struct store_view *v, const struct store_pick *pick, sqlite3_stmt *stmt,
		     store_row_fn *fn, void *ctx, struct errmsg *err)
{
	size_t rows = 0;
	size_t bytes = 0;
	int result;

	while ((result = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_row row = {
			.seq = view_column(stmt, 0),
			.kind = (enum store_kind)sqlite3_column_int(stmt, 1),
			.time = view_column(stmt, 2),
			.key = (const char *)sqlite3_column_text(stmt, 3),
			.key_len = (size_t)sqlite3_column_bytes(stmt, 3),
			.json = (const char *)sqlite3_column_text(stmt, 4),
			.json_len = (size_t)sqlite3_column_bytes(stmt, 4),
			.reason = (const char *)sqlite3_column_text(stmt, 5),
		};
		int rc;

		if (!row.key || !row.json)
			return errmsg_set(err, -ENOMEM, "out of memory");
		if (pick->job_id && !view_is_job(row.key, pick->job_id))
			continue;
		rc = fn(ctx, &row);
		if (rc < 0)
			return rc;
		rows++;
		bytes += row.key_len + row.json_len;
		if ((pick->max_rows && rows >= pick->max_rows) ||
		    (pick->max_bytes && bytes >= pick->max_bytes))
			return 1;
	}
	return result == SQLITE_DONE ? 0 : view_error(v, result, err);
}

int store_view_records(struct store_view *v, const struct store_pick *pick, store_row_fn *fn, void *ctx,
		       struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = 0;

	if (pick->refused)
		rc = view_prepare(v, sql_refused, &stmt, err);
	else if (!v->records)
		rc = view_prepare(v, sql_records, &v->records, err);
	if (rc < 0)
		return rc;
	if (!pick->refused)
		stmt = v->records;
	(void)sqlite3_bind_int64(stmt, 1, (int64_t)pick->after);
	(void)sqlite3_bind_int(stmt, 2, (int)pick->kinds);
	(void)sqlite3_bind_text(stmt, 3, pick->key, -1, SQLITE_STATIC);
	if (pick->refused)
		(void)sqlite3_bind_text(stmt, 4, pick->refused, -1, SQLITE_STATIC);
	rc = view_walk(v, pick, stmt, fn, ctx, err);
	/* ends the read transaction */
	if (pick->refused)
		(void)sqlite3_finalize(stmt);
	else
		(void)sqlite3_reset(stmt);
	return rc;
}

/* --- sinks -------------------------------------------------------------------------------------- */

int store_view_cursor(struct store_view *v, const char *sink, uint64_t *ret, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = view_prepare(v, "SELECT seq FROM sink WHERE name = ?1", &stmt, err);

	if (rc == 0) {
		(void)sqlite3_bind_text(stmt, 1, sink, -1, SQLITE_STATIC);
		rc = view_row(v, stmt, ret, 1, err);
	}
	(void)sqlite3_finalize(stmt);
	return rc;
}

/* Runs SQL with SINK as ?1 and KINDS as ?2, and reads its row into N[SIZE]. */
static int view_sink_row(struct store_view *v, const char *sql, const char *sink, unsigned int kinds,
			 uint64_t *n, size_t size, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = view_prepare(v, sql, &stmt, err);

	if (rc == 0) {
		(void)sqlite3_bind_text(stmt, 1, sink, -1, SQLITE_STATIC);
		(void)sqlite3_bind_int(stmt, 2, (int)kinds);
		rc = view_row(v, stmt, n, size, err);
	}
	(void)sqlite3_finalize(stmt);
	return rc;
}

int store_view_sink(struct store_view *v, const char *sink, unsigned int kinds, struct store_sink_status *ret,
		    struct errmsg *err)
{
	uint64_t n[5];
	int rc = view_sink_row(v,
			       "WITH c (seq) AS (SELECT IFNULL(MAX(seq), 0) FROM sink WHERE name = ?1) "
			       "SELECT (SELECT seq FROM c), COUNT(*), SUM(length(key) + "
			       "length(CAST(json AS BLOB))), MIN(time), "
			       "(SELECT COUNT(*) FROM refused WHERE sink = ?1) "
			       "FROM record WHERE seq > (SELECT seq FROM c) AND (1 << kind) & ?2",
			       sink, kinds, n, ARRAY_SIZE(n), err);

	if (rc < 0)
		return rc;
	*ret = (struct store_sink_status){
		.seq = n[0], .waiting = n[1], .waiting_bytes = n[2], .oldest = n[3], .refused = n[4]
	};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", sink);
	return 0;
}

int store_view_sinks(struct store_view *v, store_sink_fn *fn, void *ctx, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = view_prepare(v, "SELECT name FROM sink ORDER BY name", &stmt, err);
	int result = SQLITE_DONE;

	while (rc == 0 && (result = sqlite3_step(stmt)) == SQLITE_ROW)
		rc = fn(ctx, (const char *)sqlite3_column_text(stmt, 0));
	if (rc == 0 && result != SQLITE_DONE)
		rc = view_error(v, result, err);
	(void)sqlite3_finalize(stmt);
	return rc;
}

int store_view_status(struct store_view *v, uint64_t now, struct store_status *ret, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	uint64_t n[7];
	uint64_t page[4] = { 0 };
	static const char *const pragma[] = { "PRAGMA page_size", "PRAGMA page_count",
					      "PRAGMA freelist_count", "PRAGMA user_version" };
	size_t i;
	int rc = view_prepare(v,
			      "SELECT SUM(state = 1), SUM(state = 2), SUM(state = 3), "
			      "SUM(next_try <= ?1), MIN(next_try), "
			      "(SELECT COUNT(*) FROM record), "
			      "(SELECT SUM(length(key) + length(CAST(json AS BLOB))) FROM record) FROM job",
			      &stmt, err);

	if (rc == 0) {
		(void)sqlite3_bind_int64(stmt, 1, (int64_t)now);
		rc = view_row(v, stmt, n, ARRAY_SIZE(n), err);
	}
	(void)sqlite3_finalize(stmt);
	for (i = 0; i < ARRAY_SIZE(pragma) && rc == 0; i++) {
		int64_t value = 0;

		rc = store_db_number(v->db, pragma[i], v->path, &value, err);
		page[i] = (uint64_t)value;
	}
	if (rc < 0)
		return rc;
	*ret = (struct store_status){ .jobs = { 0, n[0], n[1], n[2] },
				      .overdue = n[3],
				      .oldest_due = n[3] ? n[4] : 0,
				      .records = n[5],
				      .record_bytes = n[6],
				      .used_bytes = (page[1] - page[2]) * page[0],
				      .file_bytes = page[1] * page[0],
				      .layout = page[3] };
	return 0;
}

/*
 * Counting the rows would read an index of all. Numbers are used in order and records go from the lowest,
 * except those that some sink refused. So from the first that nobody refused on, each number has a row, and
 * below it each refused one.
 */
int store_view_counts(struct store_view *v, struct store_counts *ret, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	uint64_t n[6];
	int rc = view_prepare(v,
			      "WITH f (seq) AS (SELECT IFNULL((SELECT seq FROM record WHERE NOT EXISTS ("
			      "SELECT 1 FROM refused WHERE refused.seq = record.seq) ORDER BY seq LIMIT 1), "
			      "(SELECT IFNULL(MAX(seq), 0) + 1 FROM record))) "
			      "SELECT (SELECT COUNT(*) FROM job WHERE state = 1), "
			      "(SELECT COUNT(*) FROM job WHERE state = 2), "
			      "(SELECT COUNT(*) FROM job WHERE state = 3), "
			      "(SELECT MIN(ended) FROM job WHERE state = 1 AND ended > 0), "
			      "(SELECT IFNULL(MAX(seq), 0) + 1 FROM record) - (SELECT seq FROM f) + "
			      "(SELECT COUNT(DISTINCT seq) FROM refused WHERE seq < (SELECT seq FROM f)), "
			      "(SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)",
			      &stmt, err);

	if (rc == 0)
		rc = view_row(v, stmt, n, ARRAY_SIZE(n), err);
	(void)sqlite3_finalize(stmt);
	if (rc == 0)
		*ret = (struct store_counts){ .jobs = { 0, n[0], n[1], n[2] },
					      .oldest_end = n[3],
					      .records = n[4],
					      .file_bytes = n[5] };
	return rc;
}

/* Numbers have no gaps, so a difference of numbers counts records; COUNT(*) would read them all. */
int store_view_sink_lag(struct store_view *v, const char *sink, unsigned int kinds,
			struct store_sink_lag *ret, struct errmsg *err)
{
	uint64_t n[3];
	int rc = view_sink_row(
		v,
		"WITH c (seq) AS (SELECT MAX(IFNULL((SELECT seq FROM sink WHERE name = ?1), 0), "
		"IFNULL((SELECT MIN(seq) - 1 FROM record), 0))) "
		"SELECT IFNULL((SELECT MAX(seq) FROM record), 0) - (SELECT seq FROM c), "
		"(SELECT time FROM record WHERE seq > (SELECT seq FROM c) AND (1 << kind) & ?2 "
		"ORDER BY seq LIMIT 1), "
		"(SELECT COUNT(*) FROM refused WHERE sink = ?1)",
		sink, kinds, n, ARRAY_SIZE(n), err);

	if (rc == 0)
		*ret = (struct store_sink_lag){ .waiting = n[1] ? n[0] : 0, .oldest = n[1], .refused = n[2] };
	return rc;
}

int store_view_meta(struct store_view *v, const char *name, void *buf, size_t size, size_t *ret_len,
		    struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = view_prepare(v, "SELECT value FROM meta WHERE name = ?1", &stmt, err);
	int result;
	size_t len;

	if (rc < 0)
		return rc;
	(void)sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	result = sqlite3_step(stmt);
	if (result == SQLITE_ROW) {
		const void *data = sqlite3_column_blob(stmt, 0);

		len = (size_t)sqlite3_column_bytes(stmt, 0);
		rc = len > size ? errmsg_set(err, -EMSGSIZE, "meta %s has %zu bytes", name, len) : 1;
		if (rc > 0) {
			if (len)
				memcpy(buf, data, len);
			*ret_len = len;
		}
	} else if (result != SQLITE_DONE) {
		rc = view_error(v, result, err);
	}
	(void)sqlite3_finalize(stmt);
	return rc;
}

int store_view_has_writer(const char *dir, struct errmsg *err)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/lock", dir);

	if (n < 0 || (size_t)n >= sizeof(path))
		return errmsg_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errmsg_errno(err, -errno, "%s", path);
	/*
	 * the lock is held only for a moment; if a recorder starts just then, systemd starts it
	 * again
	 */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 1 : errmsg_errno(err, -errno, "%s", path);
	return 0;
}

int store_view_refused_drop(struct store_view *v, const char *sink, uint64_t seq, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = view_prepare(v, "DELETE FROM refused WHERE sink = ?1 AND seq = ?2", &stmt, err);

	if (rc == 0) {
		(void)sqlite3_bind_text(stmt, 1, sink, -1, SQLITE_STATIC);
		(void)sqlite3_bind_int64(stmt, 2, (int64_t)seq);
		rc = view_row(v, stmt, NULL, 0, err);
	}
	(void)sqlite3_finalize(stmt);
	return rc;
}
