/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlrow.h - makes rows of the tables job and step from a record: the columns, and the value of each.
 * Whole numbers are numbers. Other values (grams and seconds as exact decimals, UTC times) are text,
 * which the server converts in strict mode. NULL is unknown.
 */
#ifndef CEEMS_SQLROW_H
#define CEEMS_SQLROW_H

#include <stdbool.h>
#include <stddef.h>

#include "src/librecord/record.h"

enum sqlrow_type {
	SQLROW_TEXT,
	SQLROW_JSON, /* a text of ours, long and known to be UTF-8 */
	SQLROW_UNSIGNED,
	SQLROW_SIGNED,
};

struct sqlrow_cell {
	union {
		const char *text; /* borrowed: the record's, the item's or the rows' own */
		uint64_t number;  /* SQLROW_SIGNED: of an int64_t */
	} v;
	uint32_t len; /* of a text */
	bool is_null;
};

#define SQLROW_COLUMNS_MAX 192

/* A set of columns. */
struct sqlrow_set {
	uint64_t bit[SQLROW_COLUMNS_MAX / 64];
};

/* Rows of one table, one behind the other, ncols() cells each. */
struct sqlrow {
	struct sqlrow_cell *cell;
	size_t nrows;
	size_t room;
	struct sqlrow_block *block; /* memory of texts that were made here; does not move */
};

enum sqlrow_table {
	SQLROW_JOB,
	SQLROW_STEP,
};

/* --- sqlrow_table.c ----------------------------------------------------------------------- */

size_t sqlrow_ncols(enum sqlrow_table t);
const char *sqlrow_column(enum sqlrow_table t, size_t i);
enum sqlrow_type sqlrow_type(enum sqlrow_table t, size_t i);

/*
 * The columns for which rows [first, first + n) have values, and always those of the key. An insert
 * without the other columns is several times faster, because most metric values of most steps are unknown.
 */
void sqlrow_used(const struct sqlrow *rows, enum sqlrow_table t, size_t first, size_t n,
		 struct sqlrow_set *ret);
bool sqlrow_set_has(const struct sqlrow_set *set, size_t i);

enum sqlrow_dialect {
	SQLROW_MARIADB, /* ON DUPLICATE KEY UPDATE */
	SQLROW_SQLITE,	/* ON CONFLICT (...) DO UPDATE SET */
};

/*
 * "INSERT INTO job (...) VALUES (...)" with the columns of SET. If the row exists, the statement updates it, and sets all
 * other columns to NULL. malloc'ed; NULL: out of memory.
 */
char *sqlrow_upsert(enum sqlrow_table t, enum sqlrow_dialect dialect, const struct sqlrow_set *set);
/* All columns. */
void sqlrow_set_all(enum sqlrow_table t, struct sqlrow_set *ret);

/* --- sqlrow.c ----------------------------------------------------------------------------- */

/* Adds the row of the job; KEY and JSON are those of the sink's item. -ENOMEM. */
int sqlrow_add_job(struct sqlrow *rows, const char *key, size_t key_len, const char *json,
		   size_t json_len, const struct record *r);
/* Adds a row for each step of the job R; KEY is the job's. */
int sqlrow_add_steps(struct sqlrow *rows, const char *key, size_t key_len,
		     const struct record *r);

/*
 * The offset of the comma before the last member of JSON, if that member is "steps"; otherwise JSON_LEN - 1, the
 * offset of the last brace.
 */
size_t sqlrow_json_without_steps(const char *json, size_t json_len);

/* The day of the record's submit_time, counted as SQL's TO_DAYS() does. */
uint32_t sqlrow_submit_day(const struct record *r);

/* Forgets the rows, keeps the memory. */
void sqlrow_clear(struct sqlrow *rows);
void sqlrow_fini(struct sqlrow *rows);

#endif
