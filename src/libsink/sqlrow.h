/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlrow.h - a record as rows of the tables job and step: which columns there are and what goes
 * into them. All values are texts, which the server converts in strict mode: whole joules as sacct
 * has them, grams and seconds as exact decimals, UTC times. NULL is unknown.
 */
#ifndef CEEMS_SQLROW_H
#define CEEMS_SQLROW_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libjob/record.h"

struct sqlrow_cell {
	const char *text; /* NULL: NULL. Borrowed: the record's, the item's or the rows' own */
	size_t len;
};

/* Rows of one table, one behind the other, ncols() cells each. */
struct sqlrow {
	struct sqlrow_cell *cell;
	size_t nrows;
	size_t room;
	char **chunk; /* memory of formatted numbers; does not move */
	size_t nchunks;
	size_t chunk_used;
	char **escaped; /* texts that are not UTF-8, as JSON has them */
	size_t nescaped;
};

enum sqlrow_table {
	SQLROW_JOB,
	SQLROW_STEP,
};

size_t sqlrow_ncols(enum sqlrow_table t);
/* Name of column I, in RET of SIZE bytes (64 is enough). */
void sqlrow_column(enum sqlrow_table t, size_t i, char *ret, size_t size);
/* "INSERT INTO job (...) VALUES (...) ON DUPLICATE KEY UPDATE ..."; malloc'ed, NULL: no memory. */
char *sqlrow_upsert(enum sqlrow_table t);

/* Adds the job's row; KEY and JSON as they were told to the sink. -ENOMEM. */
int sqlrow_add_job(struct sqlrow *rows, const char *key, size_t key_len, const char *json,
		   size_t json_len, const struct record *r);
/* Adds a row for each of its steps. */
int sqlrow_add_steps(struct sqlrow *rows, const char *key, size_t key_len,
		     const struct record *r);

/* Forgets the rows, keeps the memory. */
void sqlrow_clear(struct sqlrow *rows);
void sqlrow_fini(struct sqlrow *rows);

#endif
