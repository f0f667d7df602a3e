/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlrow.h - a record as rows of the tables job and step: which columns there are and what goes
 * into them. Whole numbers are numbers; the rest is text, which the server converts in strict
 * mode: grams and seconds as exact decimals, UTC times. NULL is unknown.
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
 * The columns that rows [first, first + n) have values for; the key's are always in. An insert
 * without the others is some times faster: most figures of most steps are not known.
 */
void sqlrow_used(const struct sqlrow *rows, enum sqlrow_table t, size_t first, size_t n,
		 struct sqlrow_set *ret);
bool sqlrow_set_has(const struct sqlrow_set *set, size_t i);

enum sqlrow_dialect {
	SQLROW_MARIADB, /* ON DUPLICATE KEY UPDATE */
	SQLROW_SQLITE,	/* ON CONFLICT (...) DO UPDATE SET */
};

/*
 * "INSERT INTO job (...) VALUES (...)" with the columns of SET, and the update of a row that is there, which gets NULL
 * in all others. malloc'ed, NULL: no memory.
 */
char *sqlrow_upsert(enum sqlrow_table t, enum sqlrow_dialect dialect, const struct sqlrow_set *set);
/* All columns. */
void sqlrow_set_all(enum sqlrow_table t, struct sqlrow_set *ret);

/* --- sqlrow.c ----------------------------------------------------------------------------- */

/* Adds the job's row; KEY and JSON as they were told to the sink. -ENOMEM. */
int sqlrow_add_job(struct sqlrow *rows, const char *key, size_t key_len, const char *json,
		   size_t json_len, const struct record *r);
/* Adds a row for each of its steps; KEY is the job's. */
int sqlrow_add_steps(struct sqlrow *rows, const char *key, size_t key_len,
		     const struct record *r);

/*
 * Where the last member "steps" of JSON begins, at its comma; JSON_LEN - 1 (the last brace) when
 * there is none, or when it is not the last.
 */
size_t sqlrow_json_without_steps(const char *json, size_t json_len);

/* The day of its submit_time, counted as SQL's TO_DAYS() does. */
uint32_t sqlrow_submit_day(const struct record *r);

/* Forgets the rows, keeps the memory. */
void sqlrow_clear(struct sqlrow *rows);
void sqlrow_fini(struct sqlrow *rows);

#endif
