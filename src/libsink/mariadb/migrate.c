/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/mariadb/migrate.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mysqld_error.h>

#include "src/libemission/emission.h"
#include "src/libsink/mariadb/db_factor.h"
#include "src/libsink/mariadb/db_partition.h"
#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libutil/clock.h"
#include "src/libutil/fileio.h"

#define FILE_MAX (1u << 20)
/* In the files of the schema: compares byte by byte, and blanks at the end count. */
#define COLLATION "utf8mb4_nopad_bin"
/* An ALTER TABLE on millions of rows may take long. */
#define STATEMENT_TIMEOUT_NS (3600 * NSEC_PER_SEC)

struct migrate_run {
	MYSQL *m;
	const struct db_options *options;
	const char *database;
	uint64_t version; /* schema version of the database; 0: it is empty or, in a dry run, missing */
	bool is_missing;
	char *sql[MARIADB_SCHEMA]; /* owned */
	char *views;		   /* owned */
};

#define report(r, ...) db_report((r)->options->report, (r)->options->ctx, __VA_ARGS__)

static int migrate_read_file(const char *pattern, char **ret, struct errmsg *err)
{
	glob_t found;
	size_t len;
	int rc;

	if (glob(pattern, GLOB_NOESCAPE, NULL, &found) || found.gl_pathc != 1)
		rc = errmsg_set(err, -ENOENT, "%s: not one such file", pattern);
	else
		rc = fileio_read_alloc(found.gl_pathv[0], FILE_MAX, ret, &len, err);
	globfree(&found);
	return rc;
}

/*
 * Reads the files DIR/NNNN-what.sql of all versions, and the views, before any is applied, so that a wrong
 * folder changes nothing.
 */
static int migrate_read_files(struct migrate_run *r, const char *dir, struct errmsg *err)
{
	char pattern[PATH_MAX];
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < MARIADB_SCHEMA; i++) {
		(void)snprintf(pattern, sizeof(pattern), "%s/%04zu-*.sql", dir, i + 1);
		rc = migrate_read_file(pattern, &r->sql[i], err);
	}
	if (rc == 0) {
		(void)snprintf(pattern, sizeof(pattern), "%s/views.sql", dir);
		rc = migrate_read_file(pattern, &r->views, err);
	}
	return rc;
}

/*
 * MySQL has another name for the collation that compares texts byte by byte. It is shorter, and a blank
 * fills TEXT.
 */
static void migrate_name_collation(const struct migrate_run *r, char *text)
{
	static const char mysql[] = "utf8mb4_0900_bin ";
	char *at;

	while (!mariadb_client_is_mariadb(r->m) && (at = strstr(text, COLLATION)))
		memcpy(at, mysql, sizeof(mysql) - 1);
}

/*
 * Returns the next statement at *TEXT, and moves *TEXT behind it. A statement ends with a ";" at the end of
 * a line. Lines of comment before it are skipped. NULL: there is none.
 */
static char *migrate_next(char **text)
{
	char *sql = *text;
	char *end;

	while (*sql == '\n' || !strncmp(sql, "--", 2)) {
		sql += strcspn(sql, "\n");
		sql += *sql == '\n';
	}
	if (!*sql)
		return NULL;
	end = strstr(sql, ";\n");
	*text = end ? end + 2 : sql + strlen(sql);
	if (end)
		*end = '\0';
	return sql;
}

/* Sets *RET if SQL adds a column that its table has. MySQL has no ADD COLUMN IF NOT EXISTS. */
static int migrate_has_column(struct migrate_run *r, const char *sql, bool *ret, struct errmsg *err)
{
	char table[65], column[65], look[320];
	uint64_t n = 0;
	int rc;

	*ret = false;
	if (sscanf(sql, "ALTER TABLE %64[a-z0-9_] ADD COLUMN %64[a-z0-9_]", table, column) != 2)
		return 0;
	(void)snprintf(look, sizeof(look),
		       "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND "
		       "TABLE_NAME = '%s' AND COLUMN_NAME = '%s'",
		       table, column);
	rc = mariadb_client_number(r->m, look, &n, err);
	*ret = n > 0;
	return rc;
}

/* Runs the statements of a file. Those that were run before, until one failed, can be run again. */
static int migrate_run_file(struct migrate_run *r, char *text, struct errmsg *err)
{
	bool has_column = false;
	char *sql;
	int rc = 0;

	migrate_name_collation(r, text);
	while (rc == 0 && (sql = migrate_next(&text))) {
		rc = migrate_has_column(r, sql, &has_column, err);
		if (rc == 0 && !has_column)
			rc = mariadb_client_query(r->m, sql, err);
	}
	return rc;
}

static int migrate_use_database(struct migrate_run *r, struct errmsg *err)
{
	char sql[256];

	if (strchr(r->database, '`'))
		return errmsg_set(err, -EINVAL, "'%s' is not a name for a database", r->database);
	if (mysql_select_db(r->m, r->database) == 0)
		return 0;
	if (mysql_errno(r->m) != ER_BAD_DB_ERROR)
		return errmsg_set(err, -EIO, "%s: %s", r->database, mysql_error(r->m));
	report(r, "%s database %s", r->options->dry_run ? "would create" : "creating", r->database);
	r->is_missing = r->options->dry_run;
	if (r->is_missing)
		return 0;
	(void)snprintf(sql, sizeof(sql),
		       "CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4 "
		       "COLLATE " COLLATION,
		       r->database);
	migrate_name_collation(r, sql);
	if (mariadb_client_query(r->m, sql, err) < 0 || mysql_select_db(r->m, r->database))
		return errmsg_set(err, -EIO, "cannot create database %s: %s", r->database, mysql_error(r->m));
	return 0;
}

static int migrate_apply(struct migrate_run *r, struct errmsg *err)
{
	struct errmsg why = { 0 };
	char sql[96];
	int rc = r->is_missing ? 0 : mariadb_client_schema(r->m, &r->version, err);

	if (rc == 0 && r->version > MARIADB_SCHEMA)
		rc = errmsg_set(err, -EPROTO,
				"database %s has schema %" PRIu64 " of a later version, "
				"this one knows %d: nothing is changed; run that version's ceems",
				r->database, r->version, MARIADB_SCHEMA);
	else if (rc == 0 && r->version == MARIADB_SCHEMA)
		report(r, "database %s has schema %d", r->database, MARIADB_SCHEMA);
	while (rc == 0 && r->version < MARIADB_SCHEMA) {
		r->version++;
		report(r, "%s schema %" PRIu64, r->options->dry_run ? "would apply" : "applying", r->version);
		if (r->options->dry_run)
			continue;
		(void)snprintf(sql, sizeof(sql), "INSERT INTO schema_version (version) VALUES (%" PRIu64 ")",
			       r->version);
		rc = migrate_run_file(r, r->sql[r->version - 1], &why);
		/* before the last version counts as applied, so that a failure here is repeated, too */
		if (rc == 0 && r->version == MARIADB_SCHEMA)
			rc = migrate_run_file(r, r->views, &why);
		if (rc == 0)
			rc = mariadb_client_query(r->m, sql, &why);
		if (rc < 0)
			rc = errmsg_set(err, rc, "schema %" PRIu64 ": %s", r->version, why.text);
	}
	return rc;
}

static int migrate_make_partitions(struct migrate_run *r, struct errmsg *err)
{
	static const char *const tables[] = { "job", "step" };
	const char *verb = r->options->dry_run ? "would make" : "made";
	size_t added;
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < ARRAY_SIZE(tables); i++) {
		rc = db_partition_ensure(r->m, tables[i], clock_wall_ns() / NSEC_PER_SEC, r->options->dry_run,
					 &added, err);
		if (rc == 0 && added)
			report(r, "%s %zu partitions of %s", verb, added, tables[i]);
	}
	return rc;
}

/* Fills the table emission_factor. A failure is only reported, since each job has its own factor. */
static void migrate_fill_factors(struct migrate_run *r, const char *path)
{
	struct errmsg why = { 0 };
	size_t changed = 0;

	if (db_factor_fill(r->m, path, &changed, &why) < 0)
		report(r, "no emission factors: %s", why.text);
	else if (changed)
		report(r, "%zu emission factors from %s", changed, path);
}

int migrate_run(const struct settings *s, const struct db_options *options, struct errmsg *err)
{
	struct migrate_run r = { .options = options, .database = s->mariadb_database };
	char server[MARIADB_CLIENT_SERVER_MAX];
	size_t i;
	int rc;

	rc = migrate_read_files(&r, options->sql_dir ? options->sql_dir : CEEMS_SQL_DIR, err);
	if (rc == 0)
		rc = mariadb_client_open(options->defaults_file ? options->defaults_file :
								  s->mariadb_defaults_file,
					 NULL, STATEMENT_TIMEOUT_NS, 0, 0, &r.m, err);
	if (rc == 0)
		rc = mariadb_client_server(r.m, server, err);
	if (rc == 0)
		rc = migrate_use_database(&r, err);
	if (rc == 0 && !options->dry_run)
		rc = mariadb_client_lock_schema(r.m, err);
	if (rc == 0)
		rc = migrate_apply(&r, err);
	if (rc == 0 && !r.is_missing)
		rc = migrate_make_partitions(&r, err);
	if (rc == 0 && !options->dry_run)
		migrate_fill_factors(&r, s->emission_factor_file[0] ? s->emission_factor_file :
								      emission_default_file());
	mariadb_client_close(r.m);
	for (i = 0; i < MARIADB_SCHEMA; i++)
		free(r.sql[i]);
	free(r.views);
	return rc;
}
