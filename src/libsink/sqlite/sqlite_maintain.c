/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/sqlite/sqlite_maintain.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libsink/sqlite/sqlite_file.h"
#include "src/libstore/store_db.h"
#include "src/libutil/clock.h"

#define DAY_SIZE 16 /* for a day such as "2026-11-25" */
#define OPEN_SECONDS (2 * 86400)

/* --- schema -------------------------------------------------------------------------------------- */

int sqlite_migrate_run(const struct settings *s, const struct db_options *options, struct errmsg *err)
{
	const char *path = s->sqlite_file;
	sqlite3 *db = NULL;
	int64_t schema = 0;
	int rc = sqlite_file_open_read(s, &db, err);

	if (rc == 0)
		rc = sqlite_file_schema(db, path, &schema, err);
	(void)sqlite3_close(db);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	if (schema > SQLITE_FILE_SCHEMA)
		return errmsg_set(err, -EPROTO,
				  "%s has schema %" PRId64 " of a later version, this one knows %d: nothing "
				  "is changed; run that version's ceems",
				  path, schema, SQLITE_FILE_SCHEMA);
	if (schema == SQLITE_FILE_SCHEMA) {
		db_report(options->report, options->ctx, "%s has schema %d", path, SQLITE_FILE_SCHEMA);
		return 0;
	}
	db_report(options->report, options->ctx, "%s schema %d to %s",
		  options->dry_run ? "would apply" : "applying", SQLITE_FILE_SCHEMA, path);
	if (options->dry_run)
		return 0;
	db = NULL;
	rc = sqlite_file_open(s, &db, err);
	(void)sqlite3_close(db);
	return rc;
}

/* --- maintenance --------------------------------------------------------------------------------- */

struct sqlite_maintain_run {
	sqlite3 *db;
	const char *path;
	const struct db_options *options;
	uint64_t now;
};

/* Gives the first value of the first row of SQL, with ARG as ?1. RET is "" if there is no row. */
static int maintain_text(const struct sqlite_maintain_run *r, const char *sql, const char *arg, char *ret,
			 size_t size, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int result = sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL);
	int rc = 0;

	if (result == SQLITE_OK) {
		(void)sqlite3_bind_text(stmt, 1, arg, -1, SQLITE_STATIC);
		result = sqlite3_step(stmt);
	}
	ret[0] = '\0';
	if (result == SQLITE_ROW)
		(void)snprintf(ret, size, "%s",
			       sqlite3_column_text(stmt, 0) ? (const char *)sqlite3_column_text(stmt, 0) :
							      "");
	else if (result != SQLITE_DONE)
		rc = store_db_error(r->db, result, r->path, err);
	(void)sqlite3_finalize(stmt);
	return rc;
}

/* Runs the statements in SQL, with DAY as ?1 in each, in one transaction. */
static int maintain_day(const struct sqlite_maintain_run *r, const char *sql, const char *day,
			struct errmsg *err)
{
	int rc = store_db_exec(r->db, "BEGIN IMMEDIATE", r->path, err);

	while (rc == 0 && *sql) {
		sqlite3_stmt *stmt = NULL;
		int result = sqlite3_prepare_v2(r->db, sql, -1, &stmt, &sql);

		if (result == SQLITE_OK && stmt) {
			(void)sqlite3_bind_text(stmt, 1, day, -1, SQLITE_STATIC);
			result = sqlite3_step(stmt);
		}
		if (result != SQLITE_OK && result != SQLITE_DONE)
			rc = store_db_error(r->db, result, r->path, err);
		(void)sqlite3_finalize(stmt);
	}
	if (rc == 0)
		return store_db_exec(r->db, "COMMIT", r->path, err);
	(void)sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* Sums up a day, as maintain_close_day() of db_maintain.c does. */
#define CLOSE_DAY                                                                                  \
	"DELETE FROM usage_day WHERE archived_id = 0 AND submit_day = ?1;"                         \
	"INSERT INTO usage_day SELECT NULL, 0, u.* FROM usage_of_open AS u WHERE submit_day = ?1;" \
	"DELETE FROM usage_open WHERE submit_day = ?1;"
#define OF_DAY "submit_time >= ?1 AND submit_time < date(?1, '+1 day')"
/*
 * Sums up a day and deletes its jobs. If records come for it later, the day gets another row in `archived`.
 */
#define DROP_DAY                                                                                            \
	"INSERT OR IGNORE INTO usage_open VALUES (?1);" CLOSE_DAY                                           \
	"INSERT INTO archived (partition_of, state, jobs)"                                                  \
	" SELECT ?1, 'gone', COUNT(*) FROM job WHERE " OF_DAY ";"                                           \
	"UPDATE usage_day SET archived_id = last_insert_rowid() WHERE archived_id = 0 AND submit_day = ?1;" \
	"DELETE FROM step WHERE record_key IN (SELECT record_key FROM job WHERE " OF_DAY ");"               \
	"DELETE FROM job WHERE " OF_DAY ";"

/*
 * Runs SQL for each day before LIMIT that the query NEXT finds. With dry_run, only reports
 * whether there are such days.
 */
static int maintain_days(const struct sqlite_maintain_run *r, const char *next, const char *limit,
			 const char *sql, const char *what, struct errmsg *err)
{
	char day[DAY_SIZE];
	uint64_t n = 0;
	int rc;

	while ((rc = maintain_text(r, next, limit, day, sizeof(day), err)) == 0 && *day &&
	       !r->options->dry_run) {
		rc = maintain_day(r, sql, day, err);
		if (rc < 0)
			return rc;
		n++;
	}
	if (rc == 0 && *day)
		db_report(r->options->report, r->options->ctx, "days would be %s", what);
	else if (n)
		db_report(r->options->report, r->options->ctx, "%s %" PRIu64 " days", what, n);
	return rc;
}

static int maintain_before(const struct sqlite_maintain_run *r, uint64_t age_s, char *ret, struct errmsg *err)
{
	char seconds[24];

	(void)snprintf(seconds, sizeof(seconds), "%" PRIu64, r->now > age_s ? r->now - age_s : 0);
	return maintain_text(r, "SELECT date(?1, 'unixepoch')", seconds, ret, DAY_SIZE, err);
}

static int maintain_all(const struct sqlite_maintain_run *r, struct errmsg *err)
{
	uint64_t retention_s = r->options->retention_ns / NSEC_PER_SEC;
	char limit[DAY_SIZE];
	int rc = maintain_before(r, OPEN_SECONDS, limit, err);

	if (rc == 0)
		rc = maintain_days(r, "SELECT MIN(submit_day) FROM usage_open WHERE submit_day < ?1", limit,
				   CLOSE_DAY, "summed up", err);
	if (rc == 0 && retention_s)
		rc = maintain_before(r, retention_s, limit, err);
	if (rc == 0 && retention_s)
		rc = maintain_days(
			r,
			"SELECT date(submit_time) FROM job WHERE submit_time < ?1 GROUP BY date(submit_time) "
			"HAVING MAX(IFNULL(end_time, '9')) < ?1 ORDER BY 1 LIMIT 1",
			limit, DROP_DAY, "archived", err);
	return rc;
}

int sqlite_maintain_run(const struct settings *s, const struct db_options *options, struct errmsg *err)
{
	struct sqlite_maintain_run r = { .path = s->sqlite_file,
					 .options = options,
					 .now = options->now ? options->now :
							       clock_wall_ns() / NSEC_PER_SEC };
	int64_t schema = 0;
	int rc = access(s->sqlite_file, F_OK) < 0 ? errmsg_errno(err, -errno, "%s", s->sqlite_file) : 0;

	if (rc == 0)
		rc = sqlite_file_open(s, &r.db, err);
	if (rc == 0)
		rc = sqlite_file_schema(r.db, r.path, &schema, err);
	if (rc == 0 && schema > SQLITE_FILE_SCHEMA)
		rc = errmsg_set(err, -EPROTO,
				"%s has schema %" PRId64 " of a later version: run that version's ceems",
				r.path, schema);
	if (rc == 0)
		rc = maintain_all(&r, err);
	(void)sqlite3_close(r.db);
	return rc;
}

/* --- status and check ---------------------------------------------------------------------------- */

int sqlite_status(const struct settings *s, const char *defaults_file, db_report_fn report, void *ctx,
		  struct errmsg *err)
{
	static const struct db_status_row row[] = {
		DB_STATUS_JOBS,
		DB_STATUS_ARCHIVED,
		{ "size, MiB",
		  "SELECT page_count * page_size / 1048576 FROM pragma_page_count, pragma_page_size" },
	};
	struct sqlite_maintain_run r = { .path = s->sqlite_file };
	int64_t schema = 0;
	char text[64];
	size_t i;
	int rc = sqlite_file_open_read(s, &r.db, err);

	(void)defaults_file;
	if (rc == 0)
		rc = sqlite_file_schema(r.db, r.path, &schema, err);
	if (rc == 0)
		rc = db_report_schema(report, ctx, r.path, (uint64_t)schema, SQLITE_FILE_SCHEMA, err);
	for (i = 0; rc == 0 && i < ARRAY_SIZE(row); i++) {
		rc = maintain_text(&r, row[i].sql, NULL, text, sizeof(text), err);
		if (rc == 0)
			db_report(report, ctx, "%-32s %s", row[i].what, *text ? text : "n/a");
	}
	(void)sqlite3_close(r.db);
	return rc;
}

void sqlite_check(const struct settings *s, sink_tell_fn *tell, void *ctx)
{
	struct errmsg err = { 0 };
	struct errmsg text;
	sqlite3 *db = NULL;
	int64_t schema = 0;
	int rc = sqlite_file_check_disk(s, &err);

	if (rc == -EREMOTE) {
		tell(ctx, SINK_WRONG, SETTING_sqlite_file, "SqliteFile=<a file on a local disk>", err.text);
		return;
	}
	if (rc == 0)
		rc = sqlite_file_open_read(s, &db, &err);
	if (rc == 0)
		rc = sqlite_file_schema(db, s->sqlite_file, &schema, &err);
	(void)sqlite3_close(db);
	if (rc == -ENOENT) {
		(void)errmsg_set(&text, 0, "the recorder creates %s with the first record", s->sqlite_file);
		tell(ctx, SINK_GOOD, SETTING_N, NULL, text.text);
	} else if (rc == -EPROTO || rc == -EUCLEAN) {
		tell(ctx, SINK_WRONG, SETTING_N,
		     "move the file away: a new one is made, and ceems store replay fills it", err.text);
	} else if (rc < 0) {
		tell(ctx, SINK_WARN, SETTING_N, "run ceems check as SlurmUser or root", err.text);
	} else {
		(void)errmsg_set(&text, 0, "%s, schema %" PRId64, s->sqlite_file, schema);
		tell(ctx, schema > SQLITE_FILE_SCHEMA ? SINK_WARN : SINK_GOOD, SETTING_N,
		     schema > SQLITE_FILE_SCHEMA ? "install the version that made the schema" : NULL,
		     text.text);
	}
}
