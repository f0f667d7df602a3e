/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mysql_upsert.h - for MySQL, which has no arrays of parameters: a statement that inserts or updates many
 * rows at once, with the values as literals in its text. MariaDB gets arrays (mariadb_upsert.h): parsing
 * literals doubles the server's work.
 */
#ifndef CEEMS_MYSQL_UPSERT_H
#define CEEMS_MYSQL_UPSERT_H

#include "src/libsink/sqlrow.h"
#include "src/libutil/errmsg.h"
#include "src/libutil/must_check.h"

/*
 * Makes the statement for the rows of ROWS from FIRST on, as many as fit into about MAX bytes. The
 * session's character set must be utf8mb4, its SQL mode without NO_BACKSLASH_ESCAPES and ANSI_QUOTES. *RET
 * is the statement of *RET_LEN bytes; the caller frees it. *RET_N is the number of its rows. -EINVAL: not
 * one row fits. -ENOMEM.
 */
int mysql_upsert(enum sqlrow_table t, const struct sqlrow *rows, size_t first, uint64_t max, char **ret,
		 size_t *ret_len, size_t *ret_n, struct errmsg *err) _must_check_;

#endif
