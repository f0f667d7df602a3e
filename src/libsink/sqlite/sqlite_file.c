/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/sqlite/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "src/libemission/emission.h"
#include "src/libstore/store_db.h"
#include "src/libutil/localfs.h"
#include "src/libutil/util.h"

#define FILE_MODE 0640
#define APPLICATION_ID 1667589490 /* "ceer": marks files of this sink; the store has another number */

/*
 * The tables of the newest schema; what brings each older schema to the next one; the
 * views of the newest schema.
 */
static const char schema_tables[] =
#include "src/libsink/sqlite/sqlite_0001-schema.inc"
	;
static const char schema_origin[] =
#include "src/libsink/sqlite/sqlite_0002-origin.inc"
	;
static const char schema_unknown[] =
#include "src/libsink/sqlite/sqlite_0003-unknown.inc"
	;
static const char *const schema_steps[SQLITE_FILE_SCHEMA] = { [1] = schema_origin, [2] = schema_unknown };
static const char schema_views[] =
#include "src/libsink/sqlite/sqlite_views.inc"
	;

/* Gives the folder of PATH; "" if PATH has no slash. */
static void folder_of(const char *path, char *ret, size_t size)
{
	char *slash;

	(void)snprintf(ret, size, "%s", path);
	slash = strrchr(ret, '/');
	if (slash)
		slash[slash == ret] = '\0';
	else
		*ret = '\0';
}

int sqlite_file_check_disk(const struct settings *s, struct errmsg *err)
{
	char folder[SETTINGS_PATH_MAX];

	folder_of(s->sqlite_file, folder, sizeof(folder));
	return *folder ? localfs_check(folder, "SqliteFile", err) :
			 errmsg_set(err, -EINVAL, "SqliteFile is not set");
}

int sqlite_file_schema(sqlite3 *db, const char *path, int64_t *ret, struct errmsg *err)
{
	int64_t application = 0;
	int64_t tables = 0;
	int64_t schema = 0;
	int rc = store_db_number(db, "PRAGMA application_id", path, &application, err);

	if (rc == 0)
		rc = store_db_number(db, "PRAGMA user_version", path, &schema, err);
	if (rc == 0)
		rc = store_db_number(db, "SELECT COUNT(*) FROM sqlite_master", path, &tables, err);
	if (rc < 0)
		return rc;
	if (application != APPLICATION_ID && (application || schema || tables))
		return errmsg_set(err, -EPROTO, "%s: is another program's database", path);
	*ret = schema;
	return 0;
}

/* --- a new database -------------------------------------------------------------------------- */

struct fill {
	sqlite3 *db;
	sqlite3_stmt *stmt;
	const char *path;
};

static int fill_factor(void *ctx, const struct emission_factor *f, const char *iso3, struct errmsg *err)
{
	struct fill *fill = ctx;
	int result;

	(void)iso3;
	(void)sqlite3_bind_text(fill->stmt, 1, emission_kind_name(f->kind), -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(fill->stmt, 2, f->region, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(fill->stmt, 3, f->year);
	(void)sqlite3_bind_double(fill->stmt, 4, (double)f->mg_per_kwh / 1000);
	(void)sqlite3_bind_text(fill->stmt, 5, f->source, -1, SQLITE_STATIC);
	result = sqlite3_step(fill->stmt);
	(void)sqlite3_reset(fill->stmt);
	return result == SQLITE_DONE ? 0 : store_db_error(fill->db, result, fill->path, err);
}

/* Fills the table emission_factor. Errors are ignored, since each job has its own factor. */
static void fill_factors(sqlite3 *db, const struct settings *s)
{
	const char *file = s->emission_factor_file[0] ? s->emission_factor_file : emission_default_file();
	struct fill fill = { .db = db, .path = s->sqlite_file };
	struct emission_factor world;

	if (sqlite3_prepare_v2(
		    db,
		    "INSERT OR REPLACE INTO emission_factor (kind, region, year, g_per_kwh, source) "
		    "VALUES (?1, ?2, ?3, ?4, ?5)",
		    -1, &fill.stmt, NULL) != SQLITE_OK)
		return;
	emission_world(&world);
	if (fill_factor(&fill, &world, "", NULL) == 0)
		(void)emission_foreach(file, fill_factor, &fill, NULL);
	(void)sqlite3_finalize(fill.stmt);
}

/*
 * Migrates in one transaction, so that readers see the old schema or the new one. FROM 0: the file is empty.
 */
static int file_migrate(sqlite3 *db, const struct settings *s, int64_t from, struct errmsg *err)
{
	const char *path = s->sqlite_file;
	char sql[192];
	int rc = from ? 0 : store_db_exec(db, schema_tables, path, err);

	while (rc == 0 && from && from < SQLITE_FILE_SCHEMA)
		rc = store_db_exec(db, schema_steps[from++], path, err);
	(void)snprintf(sql, sizeof(sql),
		       "INSERT INTO schema_version (version) VALUES (%d);"
		       "PRAGMA user_version = %d; PRAGMA application_id = %d",
		       SQLITE_FILE_SCHEMA, SQLITE_FILE_SCHEMA, APPLICATION_ID);
	if (rc == 0)
		rc = store_db_exec(db, schema_views, path, err);
	if (rc == 0)
		rc = store_db_exec(db, sql, path, err);
	if (rc == 0)
		fill_factors(db, s);
	return rc;
}

static int file_migrate_if_old(sqlite3 *db, const struct settings *s, struct errmsg *err)
{
	const char *path = s->sqlite_file;
	int64_t schema = 0;
	int rc = sqlite_file_schema(db, path, &schema, err);

	if (rc < 0 || schema >= SQLITE_FILE_SCHEMA)
		return rc;
	rc = store_db_exec(db, "BEGIN IMMEDIATE", path, err);
	if (rc == 0)
		/* another process may have migrated it meanwhile */
		rc = sqlite_file_schema(db, path, &schema, err);
	if (rc == 0)
		rc = file_migrate(db, s, schema, err);
	if (rc == 0)
		return store_db_exec(db, "COMMIT", path, err);
	(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* --- the file ------------------------------------------------------------------------------------ */

/*
 * Makes the file with FILE_MODE; SQLite would use mode 0644. An existing file is not opened here, because
 * closing it would drop the locks that SQLite holds on it in this process. If root makes the file (`ceems db
 * migrate`), it belongs to the owner of its folder, as whom the recorder runs.
 */
static int make_file(const char *path, struct errmsg *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	char folder[SETTINGS_PATH_MAX];
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return errno == EEXIST ? 0 : errmsg_errno(err, -errno, "%s: cannot make", path);
	folder_of(path, folder, sizeof(folder));
	if (geteuid() == 0 && (stat(folder, &st) < 0 || fchown(fd, st.st_uid, st.st_gid) < 0))
		rc = errmsg_errno(err, -errno, "%s: cannot give it to the owner of its folder", path);
	(void)close(fd);
	return rc;
}

int sqlite_file_open(const struct settings *s, sqlite3 **ret, struct errmsg *err)
{
	static const char pragmas[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
				      "PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864;";
	const char *path = s->sqlite_file;
	sqlite3 *db = NULL;
	int keep_wal = 1;
	int rc = sqlite_file_check_disk(s, err);

	if (rc == 0)
		rc = make_file(path, err);
	if (rc == 0)
		rc = store_db_open(path, SQLITE_OPEN_READWRITE, &db, err);
	if (rc < 0)
		return rc;
	/* keep the files -wal and -shm: readers without write permission cannot make them */
	(void)sqlite3_file_control(db, NULL, SQLITE_FCNTL_PERSIST_WAL, &keep_wal);
	rc = store_db_exec(db, pragmas, path, err);
	if (rc == 0)
		rc = file_migrate_if_old(db, s, err);
	if (rc < 0) {
		(void)sqlite3_close(db);
		return rc;
	}
	*ret = db;
	return 0;
}

int sqlite_file_open_read(const struct settings *s, sqlite3 **ret, struct errmsg *err)
{
	if (access(s->sqlite_file, R_OK) < 0)
		return errmsg_errno(err, -errno, "%s", s->sqlite_file);
	return store_db_open(s->sqlite_file, SQLITE_OPEN_READONLY, ret, err);
}
