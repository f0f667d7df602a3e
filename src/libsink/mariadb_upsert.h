/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mariadb_upsert.h - writes rows of one table to the server with array-bound prepared statements. Each set of
 * columns that have values needs a statement of its own; the last few statements are kept.
 */
#ifndef CEEMS_MARIADB_UPSERT_H
#define CEEMS_MARIADB_UPSERT_H

#include "src/libsink/mariadb_client.h"
#include "src/libsink/sqlrow.h"

#define UPSERT_ROWS_MAX 500
#define UPSERT_CACHED 8

struct mariadb_upsert {
	enum sqlrow_table table;
	struct {
		struct sqlrow_set set;
		MYSQL_STMT *stmt; /* NULL: free */
		uint64_t used;
	} cached[UPSERT_CACHED];
	uint64_t uses;
	/* the arrays that libmariadb binds; each column has one stretch, with an element for each row */
	MYSQL_BIND *bind;
	union upsert_value *value;
	unsigned long *len;
	char *indicator;
};

int mariadb_upsert_init(struct mariadb_upsert *u, enum sqlrow_table t);
void mariadb_upsert_fini(struct mariadb_upsert *u);

/* Forgets the statements. Call it before their connection is closed. */
void mariadb_upsert_reset(struct mariadb_upsert *u);

/*
 * Binds rows [first, first + n) of ROWS, n <= UPSERT_ROWS_MAX, to a statement that is then ready to be
 * executed. The statement borrows the texts of ROWS until it was executed. -EIO: the server's message is in ERR.
 */
int mariadb_upsert_bind(struct mariadb_upsert *u, MYSQL *m, const struct sqlrow *rows, size_t first,
			size_t n, MYSQL_STMT **ret, struct errmsg *err);

#endif
