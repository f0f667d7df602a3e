/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstore/store_db.h"

#include <errno.h>
#include <inttypes.h>

#include "src/libstore/store.h"
#include "src/libstore/store_sql.h"

static int system_errno(sqlite3 *db, int otherwise)
{
	int e = db ? sqlite3_system_errno(db) : 0;

	return e > 0 ? -e : otherwise;
}

static int store_db_errno(sqlite3 *db, int result)
{
	int rc;

	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_TOOBIG:
		return -EMSGSIZE;
	case SQLITE_CANTOPEN:
		return system_errno(db, -EACCES);
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_IOERR:
		rc = system_errno(db, -EIO);
		return rc == -ENOSPC || rc == -EDQUOT ? -ENOSPC : rc == -EROFS ? rc : -EIO;
	default:
		return -EINVAL;
	}
}

int store_db_error(sqlite3 *db, int result, const char *path, struct errmsg *err)
{
	int rc = store_db_errno(db, result);
	const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(result);

	if (rc == -EBUSY)
		why = "another program holds its lock (sqlite3?)";
	else if (rc == -ENOSPC)
		why = "no space left on its disk";
	return errmsg_set(err, rc, "%s: %s", path, why);
}

int store_db_path(const char *dir, char *buf, size_t size, struct errmsg *err)
{
	int n = snprintf(buf, size, "%s/" STORE_FILE, dir);

	return n < 0 || (size_t)n >= size ? errmsg_set(err, -ENAMETOOLONG, "%s: the path is too long", dir) :
					    0;
}

int store_db_exec(sqlite3 *db, const char *sql, const char *path, struct errmsg *err)
{
	int result = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return result == SQLITE_OK ? 0 : store_db_error(db, result, path, err);
}

int store_db_number(sqlite3 *db, const char *sql, const char *path, int64_t *ret, struct errmsg *err)
{
	sqlite3_stmt *stmt = NULL;
	int result = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	int rc = 0;

	if (result == SQLITE_OK)
		result = sqlite3_step(stmt);
	if (result == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	else if (result == SQLITE_DONE)
		*ret = 0;
	else
		rc = store_db_error(db, result, path, err);
	(void)sqlite3_finalize(stmt);
	return rc;
}

int store_db_open(const char *path, int flags, sqlite3 **ret, struct errmsg *err)
{
	sqlite3 *db = NULL;
	int result;
	int rc;

	if (!sqlite3_threadsafe())
		return errmsg_set(err, -ENOTSUP, "libsqlite3 was built without threads");
	result = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
	if (result != SQLITE_OK) {
		rc = store_db_error(db, result, path, err);
		(void)sqlite3_close(db);
		return rc;
	}
	(void)sqlite3_extended_result_codes(db, 1);
	(void)sqlite3_busy_timeout(db, STORE_DB_BUSY_MS);
	rc = store_db_exec(db, "PRAGMA cache_size = -" STORE_DB_CACHE_KIB, path, err);
	if (rc < 0) {
		(void)sqlite3_close(db);
		return rc;
	}
	*ret = db;
	return 0;
}

int store_db_check_layout(sqlite3 *db, const char *path, struct errmsg *err)
{
	int64_t application = 0;
	int64_t layout = 0;
	int64_t tables = 0;
	int rc = store_db_number(db, "PRAGMA application_id", path, &application, err);

	if (rc == 0)
		rc = store_db_number(db, "PRAGMA user_version", path, &layout, err);
	if (rc == 0)
		rc = store_db_number(db, "SELECT COUNT(*) FROM sqlite_master", path, &tables, err);
	if (rc < 0)
		return rc;
	if (!application && !layout && !tables)
		return 1;
	if (application != STORE_APPLICATION_ID)
		return errmsg_set(err, -EPROTO, "%s: is another program's database", path);
	if (layout != STORE_LAYOUT)
		return errmsg_set(err, -EPROTO,
				  "%s: has layout %" PRId64 ", this version of "
				  "slurm-ceems knows %d: install the version that wrote it, or move "
				  "the file away",
				  path, layout, STORE_LAYOUT);
	return 0;
}
