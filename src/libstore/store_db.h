/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_db.h - SQLite connections and errors, shared by store.c, store_open.c and store_view.c.
 */
#ifndef CEEMS_STORE_DB_H
#define CEEMS_STORE_DB_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "src/libutil/errmsg.h"

#define STORE_DB_BUSY_MS 10000 /* how long to wait for SQLite's lock */
/*
 * Cache of a connection in KiB. The recorder has a connection for itself and one per sink, and SQLite's
 * 2,000 KiB each would fill for hours.
 */
#define STORE_DB_CACHE_KIB "512"

/*
 * Converts SQLite's RESULT to -errno, and writes "PATH: why" to ERR. Uses the errno of the file
 * system if SQLite has it.
 */
int store_db_error(sqlite3 *db, int result, const char *path, struct errmsg *err);

/* Writes "DIR/store.db" to BUF. -ENAMETOOLONG. */
int store_db_path(const char *dir, char *buf, size_t size, struct errmsg *err) _must_check_;

/* Runs SQL that returns no rows. */
int store_db_exec(sqlite3 *db, const char *sql, const char *path, struct errmsg *err);
/* Returns the first column of the first row of SQL as a number; 0: no row. */
int store_db_number(sqlite3 *db, const char *sql, const char *path, int64_t *ret,
		    struct errmsg *err) _must_check_;

/*
 * Opens the file with SQLITE_OPEN_ FLAGS, STORE_DB_BUSY_MS and STORE_DB_CACHE_KIB. Reads no row: damage
 * behind the list of tables shows only at the first query.
 */
int store_db_open(const char *path, int flags, sqlite3 **ret, struct errmsg *err) _must_check_;

/*
 * Checks that the file has our layout. 0: yes; 1: it is empty; -EPROTO: it has another layout, or
 * is another program's.
 */
int store_db_check_layout(sqlite3 *db, const char *path, struct errmsg *err);

#endif
