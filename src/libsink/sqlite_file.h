/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlite_file.h - SqliteFile: the tables and views of the sink mariadb in one file (sqlite.awk makes them of its schema).
 * WAL mode, synchronous=FULL: what was committed is on the disk, and readers do not wait. The file is of mode 0640.
 */
#ifndef CEEMS_SQLITE_FILE_H
#define CEEMS_SQLITE_FILE_H

#include <sqlite3.h>

#include "src/libcore/settings.h"
#include "src/libsink/sink.h"

#define SQLITE_FILE_SCHEMA 1 /* PRAGMA user_version */

/*
 * Opens it for writing; one that is not there is made, an older schema is brought up to date. -EREMOTE: it is on a
 * network file system, where WAL destroys it; -EPROTO: it is another program's. A later schema is no error: what it
 * added stays empty.
 */
int sqlite_file_open(const struct settings *s, sqlite3 **ret, struct errmsg *err);
/* To read it. -ENOENT: it is not there. */
int sqlite_file_open_read(const struct settings *s, sqlite3 **ret, struct errmsg *err);
/* 0: it is empty. -EPROTO as above. */
int sqlite_file_schema(sqlite3 *db, const char *path, int64_t *ret, struct errmsg *err);
/* -EREMOTE as above. */
int sqlite_file_check_disk(const struct settings *s, struct errmsg *err);

#endif
