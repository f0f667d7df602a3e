/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/sqlite/sqlite_walk.h"

#include <errno.h>

#include "src/libsink/sqlite/sqlite_file.h"
#include "src/libstore/store_db.h"

static int open_filled(const struct settings *s, sqlite3 **ret, struct errmsg *err)
{
	sqlite3 *db = NULL;
	int64_t schema = 0;
	int rc = sqlite_file_open_read(s, &db, err);

	if (rc == 0)
		rc = sqlite_file_schema(db, s->sqlite_file, &schema, err);
	if (rc == 0 && !schema)
		rc = errmsg_set(err, -EPROTO, "%s: is empty; the sink sqlite fills it", s->sqlite_file);
	if (rc < 0) {
		(void)sqlite3_close(db);
		return rc;
	}
	*ret = db;
	return 0;
}

static int walk_rows(sqlite3 *db, const char *path, sqlite3_stmt *stmt, const struct db_walk *w,
		     struct errmsg *err)
{
	int result;
	int rc = 0;

	while (rc == 0 && (result = sqlite3_step(stmt)) != SQLITE_DONE) {
		struct db_walk_row row;

		if (result != SQLITE_ROW)
			return store_db_error(db, result, path, err);
		row.json = (const char *)sqlite3_column_text(stmt, 0);
		row.len = (size_t)sqlite3_column_bytes(stmt, 0);
		row.cpu_us = (const char *)sqlite3_column_text(stmt, 1);
		rc = row.json ? w->each(w->ctx, &row, err) : errmsg_set(err, -ENOMEM, "out of memory");
	}
	return rc;
}

int sqlite_walk(const struct settings *s, const struct db_walk *w, struct errmsg *err)
{
	char sql[DB_WALK_SQL_MAX];
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int result;
	int rc = open_filled(s, &db, err);

	if (rc < 0)
		return rc;
	result = sqlite3_prepare_v2(db, db_walk_jobs(w, sql), -1, &stmt, NULL);
	rc = result == SQLITE_OK ? walk_rows(db, s->sqlite_file, stmt, w, err) :
				   store_db_error(db, result, s->sqlite_file, err);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(db);
	return rc;
}

int sqlite_gone(const struct settings *s, uint64_t from, uint64_t to, uint64_t *ret, struct errmsg *err)
{
	char sql[DB_WALK_SQL_MAX];
	sqlite3 *db = NULL;
	int64_t n = 0;
	int rc = open_filled(s, &db, err);

	if (rc == 0)
		rc = store_db_number(db, db_walk_gone(from, to, sql), s->sqlite_file, &n, err);
	if (rc == 0)
		*ret = (uint64_t)n;
	(void)sqlite3_close(db);
	return rc;
}
