/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlite_file.h - opens SqliteFile, one file with the tables and views of the sink mariadb; sqlite.awk makes
 * its schema from that sink's. In WAL mode with synchronous=FULL, committed rows are on the disk and readers
 * do not wait. The file has mode 0640.
 */
#ifndef CEEMS_SQLITE_FILE_H
#define CEEMS_SQLITE_FILE_H

#include <sqlite3.h>

#include "src/libcore/settings.h"
#include "src/libsink/sink.h"
#include "src/libutil/must_check.h"

#define SQLITE_FILE_SCHEMA 3 /* PRAGMA user_version */

/*
 * Opens the file for writing. Makes the file if it does not exist, and brings an older schema up to date.
 * -EREMOTE: it is on a network file system, where WAL destroys it; -EPROTO: it is another program's. A later
 * schema is no error: its new columns stay empty.
 */
int sqlite_file_open(const struct settings *s, sqlite3 **ret, struct errmsg *err) _must_check_;
/* Opens the file for reading. -ENOENT: it does not exist. */
int sqlite_file_open_read(const struct settings *s, sqlite3 **ret, struct errmsg *err) _must_check_;
/* Gives the version of the schema in DB; 0: the file is empty. -EPROTO: it is another program's. */
int sqlite_file_schema(sqlite3 *db, const char *path, int64_t *ret, struct errmsg *err) _must_check_;
/* Checks where SqliteFile is. -EREMOTE: on a network file system. -EINVAL: SqliteFile is not set. */
int sqlite_file_check_disk(const struct settings *s, struct errmsg *err);

#endif
