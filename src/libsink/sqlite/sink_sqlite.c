/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink_sqlite.c - stores records as rows of the tables job and step in SqliteFile, as in MariaDB. A batch is
 * one transaction. If SQLite rejects a row, only its record is rolled back and refused. A repeated record
 * writes the same values into the same rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "src/librecord/record.h"
#include "src/libsink/sink.h"
#include "src/libsink/sqlite/sqlite_file.h"
#include "src/libsink/sqlite/sqlite_maintain.h"
#include "src/libsink/sqlite/sqlite_walk.h"
#include "src/libsink/sqlrow.h"
#include "src/libstore/store_db.h"
#include "src/libutil/clock.h"

#define SQLITE_BATCH 500

struct sink {
	const struct settings *settings;
	const char *path;
	sqlite3 *db; /* NULL: not open */
	dev_t dev;   /* of the file that is open */
	ino_t ino;
	sqlite3_stmt *upsert[2]; /* by enum sqlrow_table */
	sqlite3_stmt *open_day;
	struct sqlrow rows[2];
};

static void sqlite_disconnect(struct sink *k)
{
	(void)sqlite3_finalize(k->upsert[SQLROW_JOB]);
	(void)sqlite3_finalize(k->upsert[SQLROW_STEP]);
	(void)sqlite3_finalize(k->open_day);
	k->upsert[SQLROW_JOB] = k->upsert[SQLROW_STEP] = k->open_day = NULL;
	(void)sqlite3_close(k->db); /* rolls an open transaction back */
	k->db = NULL;
}

static void sqlite_close(struct sink *k)
{
	if (!k)
		return;
	sqlite_disconnect(k);
	sqlrow_fini(&k->rows[SQLROW_JOB]);
	sqlrow_fini(&k->rows[SQLROW_STEP]);
	free(k);
}

static int sqlite_open(const struct settings *s, struct sink **ret, struct errmsg *err)
{
	struct sink *k;

	if (!s->sqlite_file[0])
		return errmsg_set(err, -EINVAL, "SqliteFile is not set");
	k = calloc(1, sizeof(*k));
	if (!k)
		return errmsg_set(err, -ENOMEM, "out of memory");
	k->settings = s;
	k->path = s->sqlite_file;
	*ret = k;
	return 0;
}

/* --- the connection ------------------------------------------------------------------------------ */

static int sqlite_prepare(struct sink *k, const char *sql, sqlite3_stmt **ret, struct errmsg *err)
{
	int result = sqlite3_prepare_v3(k->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

	return result == SQLITE_OK ? 0 : store_db_error(k->db, result, k->path, err);
}

static int sqlite_prepare_upsert(struct sink *k, enum sqlrow_table t, struct errmsg *err)
{
	_cleanup_free_ char *sql = NULL;
	struct sqlrow_set all;

	sqlrow_set_all(t, &all);
	sql = sqlrow_upsert(t, SQLROW_SQLITE, &all);
	return sql ? sqlite_prepare(k, sql, &k->upsert[t], err) : errmsg_set(err, -ENOMEM, "out of memory");
}

static int sqlite_connect(struct sink *k, struct errmsg *err)
{
	struct stat st;
	int rc = sqlite_file_open(k->settings, &k->db, err);

	if (rc == 0 && stat(k->path, &st) < 0)
		rc = errmsg_errno(err, -errno, "%s", k->path);
	if (rc == 0)
		rc = sqlite_prepare_upsert(k, SQLROW_JOB, err);
	if (rc == 0)
		rc = sqlite_prepare_upsert(k, SQLROW_STEP, err);
	if (rc == 0)
		rc = sqlite_prepare(k, "INSERT OR IGNORE INTO usage_open VALUES (date(?1, 'unixepoch'))",
				    &k->open_day, err);
	if (rc < 0)
		return rc;
	k->dev = st.st_dev;
	k->ino = st.st_ino;
	return 0;
}

/* Opens the file again if the path is another file by now: rows in the old file would be lost. */
static int sqlite_ensure_open(struct sink *k, uint64_t timeout_ns, struct errmsg *err)
{
	struct stat st;
	int rc = 0;

	if (k->db && (stat(k->path, &st) < 0 || st.st_dev != k->dev || st.st_ino != k->ino))
		sqlite_disconnect(k);
	if (!k->db)
		rc = sqlite_connect(k, err);
	if (rc == 0)
		(void)sqlite3_busy_timeout(k->db, (int)(timeout_ns / 2 / NSEC_PER_MSEC));
	return rc;
}

/* --- one record ---------------------------------------------------------------------------------- */

static void sqlite_bind(sqlite3_stmt *stmt, int at, enum sqlrow_type type, const struct sqlrow_cell *cell)
{
	if (cell->is_null)
		(void)sqlite3_bind_null(stmt, at);
	else if (type == SQLROW_TEXT || type == SQLROW_JSON)
		(void)sqlite3_bind_text(stmt, at, cell->v.text, (int)cell->len, SQLITE_STATIC);
	else if (type == SQLROW_UNSIGNED && cell->v.number > INT64_MAX)
		(void)sqlite3_bind_double(stmt, at, (double)cell->v.number);
	else
		(void)sqlite3_bind_int64(stmt, at, (int64_t)cell->v.number);
}

/* Runs a statement. -EINVAL, -EMSGSIZE: SQLite rejects the row. */
static int sqlite_step(struct sink *k, sqlite3_stmt *stmt, struct errmsg *err)
{
	int result = sqlite3_step(stmt);
	int rc = result == SQLITE_DONE ? 0 : store_db_error(k->db, result, k->path, err);

	(void)sqlite3_reset(stmt);
	return rc;
}

static int sqlite_put_rows(struct sink *k, enum sqlrow_table t, struct errmsg *err)
{
	const struct sqlrow_cell *cell = k->rows[t].cell;
	size_t ncols = sqlrow_ncols(t);
	size_t row, i;
	int rc = 0;

	for (row = 0; rc == 0 && row < k->rows[t].nrows; row++) {
		for (i = 0; i < ncols; i++, cell++)
			sqlite_bind(k->upsert[t], (int)i + 1, sqlrow_type(t, i), cell);
		rc = sqlite_step(k, k->upsert[t], err);
	}
	return rc;
}

static int sqlite_put_record(struct sink *k, const struct sink_item *item, const struct record *r,
			     const char *job_key, struct errmsg *err)
{
	int rc = 0;

	sqlrow_clear(&k->rows[SQLROW_JOB]);
	sqlrow_clear(&k->rows[SQLROW_STEP]);
	if (item->kind == STORE_RECORD) {
		/* mark the day open: its sums in usage_day become invalid */
		(void)sqlite3_bind_int64(k->open_day, 1, (int64_t)r->submit);
		rc = sqlite_step(k, k->open_day, err);
		if (rc == 0 && sqlrow_add_job(&k->rows[SQLROW_JOB], item->key, item->key_len, item->json,
					      item->json_len, r) < 0)
			rc = errmsg_set(err, -ENOMEM, "out of memory");
	}
	if (rc == 0 && sqlrow_add_steps(&k->rows[SQLROW_STEP], job_key, strlen(job_key), r) < 0)
		rc = errmsg_set(err, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = sqlite_put_rows(k, SQLROW_JOB, err);
	if (rc == 0)
		rc = sqlite_put_rows(k, SQLROW_STEP, err);
	return rc;
}

static int sqlite_parse(const struct sink_item *item, struct record **ret, char *job_key, struct errmsg *err)
{
	if (item->kind == STORE_STEPS)
		return record_from_steps_json(item->json, item->json_len, ret, job_key, err);
	(void)snprintf(job_key, RECORD_KEY_MAX, "%.*s", (int)item->key_len, item->key);
	return record_from_json(item->json, item->json_len, ret, err);
}

/*
 * Stores one item and sets its result. An error of the record makes it refused; -errno
 * is an error of the file.
 */
static int sqlite_take(struct sink *k, struct sink_item *item, enum sink_result *result, struct errmsg *err)
{
	struct record *record = NULL;
	struct errmsg why = { 0 };
	char job_key[RECORD_KEY_MAX];
	int rc;

	if (sqlite_parse(item, &record, job_key, &why) < 0) {
		sink_refuse(item, result, why.text);
		return 0;
	}
	rc = store_db_exec(k->db, "SAVEPOINT one", k->path, err);
	if (rc == 0)
		rc = sqlite_put_record(k, item, record, job_key, &why);
	record_destroy(record);
	if (rc == 0) {
		*result = SINK_ACKED;
		return store_db_exec(k->db, "RELEASE one", k->path, err);
	}
	if (rc != -EINVAL && rc != -EMSGSIZE) {
		*err = *why.text ? why : *err;
		return rc;
	}
	sink_refuse(item, result, why.text);
	return store_db_exec(k->db, "ROLLBACK TO one; RELEASE one", k->path, err);
}

/* --- delivery ------------------------------------------------------------------------------------ */

static int sqlite_store(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			uint64_t timeout_ns, struct errmsg *err)
{
	uint64_t deadline_ns = clock_mono_ns() + timeout_ns;
	size_t i;
	int rc = sqlite_ensure_open(k, timeout_ns, err);

	if (rc == 0)
		rc = store_db_exec(k->db, "BEGIN IMMEDIATE", k->path, err);
	/* when time is over, the other items stay SINK_RETRY; at least one is stored */
	for (i = 0; rc == 0 && i < n && (!i || clock_mono_ns() < deadline_ns); i++)
		rc = sqlite_take(k, &item[i], &result[i], err);
	return rc == 0 ? store_db_exec(k->db, "COMMIT", k->path, err) : rc;
}

static int sqlite_deliver(struct sink *k, struct sink_item *item, size_t n, enum sink_result *result,
			  uint64_t timeout_ns, struct errmsg *err)
{
	struct errmsg why = { 0 };
	size_t i;

	for (i = 0; i < n; i++)
		result[i] = SINK_RETRY;
	if (sqlite_store(k, item, n, result, timeout_ns, &why) == 0)
		return 0;
	for (i = 0; i < n; i++)
		result[i] = SINK_RETRY;
	sqlite_disconnect(k);
	if (err)
		*err = why;
	return -EAGAIN;
}

static const struct sink_db db = { .migrate = sqlite_migrate_run,
				   .maintain = sqlite_maintain_run,
				   .status = sqlite_status,
				   .walk = sqlite_walk,
				   .gone = sqlite_gone,
				   .file = SINK_SETTING("SqliteFile", sqlite_file) };

const struct sink_ops sink_sqlite = {
	.name = "sqlite",
	.kinds = STORE_MASK(STORE_RECORD) | STORE_MASK(STORE_STEPS),
	.max_batch = SQLITE_BATCH,
	.open = sqlite_open,
	.deliver = sqlite_deliver,
	.close = sqlite_close,
	.output = SINK_SETTING("SqliteFile", sqlite_file),
	.check = sqlite_check,
	.db = &db,
};
