/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mariadb_upsert.h - binds rows of one table to prepared statements that insert or update many rows at once.
 * Each set of columns that have values needs its own statement. The last UPSERT_CACHED statements are kept.
 */
#ifndef CEEMS_MARIADB_UPSERT_H
#define CEEMS_MARIADB_UPSERT_H

#include "src/libsink/mariadb/mariadb_client.h"
#include "src/libsink/sqlrow.h"
#include "src/libutil/must_check.h"

#define UPSERT_ROWS_MAX 500
#define UPSERT_CACHED 8

struct mariadb_upsert {
	enum sqlrow_table table;
	struct {
		struct sqlrow_set set;
		MYSQL_STMT *stmt; /* NULL: none */
		uint64_t used;	  /* value of `uses` when it was last used */
	} cached[UPSERT_CACHED];
	uint64_t uses; /* how often a statement was used */
	/* The arrays that libmariadb reads: for each column, as many elements in a row as there are rows. */
	MYSQL_BIND *bind;
	union upsert_value *value;
	unsigned long *len;
	char *indicator;
};

int mariadb_upsert_init(struct mariadb_upsert *u, enum sqlrow_table t);
void mariadb_upsert_fini(struct mariadb_upsert *u);

/* Closes the statements. Call it before their connection is closed. */
void mariadb_upsert_reset(struct mariadb_upsert *u);

/*
 * Binds rows [first, first + n) of ROWS to a statement for the caller to execute; n <= UPSERT_ROWS_MAX. The
 * statement belongs to U, and borrows the texts of ROWS until it was executed. -EIO: ERR has the server's
 * message. -ENOMEM.
 */
int mariadb_upsert_bind(struct mariadb_upsert *u, MYSQL *m, const struct sqlrow *rows, size_t first, size_t n,
			MYSQL_STMT **ret, struct errmsg *err) _must_check_;

#endif
