/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_db.h - what store.c and store_view.c share of SQLite: connections, errors.
 */
#ifndef CEEMS_STORE_DB_H
#define CEEMS_STORE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "src/libutil/errmsg.h"

#define STORE_DB_BUSY_MS 10000

/* -errno of SQLite's result, with "PATH: why" in ERR; what the file system said, where it did. */
int store_db_error(sqlite3 *db, int result, const char *path, struct errmsg *err);

/* "DIR/store.db"; -ENAMETOOLONG. */
int store_db_path(const char *dir, char *buf, size_t size, struct errmsg *err);

int store_db_exec(sqlite3 *db, const char *sql, const char *path, struct errmsg *err);
/* The first column of the first row of SQL, as a number. */
int store_db_number(sqlite3 *db, const char *sql, const char *path, int64_t *ret,
		    struct errmsg *err);

/*
 * Opens the file with SQLITE_OPEN_ FLAGS and a wait for locks; no table is looked at. A file that cannot be
 * read may show only then.
 */
int store_db_open(const char *path, int flags, sqlite3 **ret, struct errmsg *err);

/* 0: it has our layout; 1: it is empty; -EPROTO: another layout or another program's. */
int store_db_check_layout(sqlite3 *db, const char *path, struct errmsg *err);

#endif
