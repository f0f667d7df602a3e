/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sqlrow.h - makes rows of the tables job and step from a record. Whole numbers are passed to the database as
 * numbers. Other values are passed as text: grams and seconds as exact decimals, and times in UTC. NULL means
 * that a value is unknown.
 */
#ifndef CEEMS_SQLROW_H
#define CEEMS_SQLROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "src/librecord/record.h"

enum sqlrow_type {
	SQLROW_TEXT,
	SQLROW_JSON, /* a long text that we made, and so UTF-8 */
	SQLROW_UNSIGNED,
	SQLROW_SIGNED,
};

struct sqlrow_cell {
	union {
		const char *text; /* borrowed from the record, the item, or sqlrow.block */
		uint64_t number;  /* SQLROW_SIGNED: an int64_t converted to uint64_t */
	} v;
	uint32_t len; /* bytes of text */
	bool is_null;
};

#define SQLROW_COLUMNS_MAX 192

/* A set of columns. */
struct sqlrow_set {
	uint64_t bit[SQLROW_COLUMNS_MAX / 64];
};

/* Rows of one table. */
struct sqlrow {
	struct sqlrow_cell *cell; /* row after row, each of sqlrow_ncols() cells */
	size_t nrows;
	size_t room;		    /* rows for which there is memory */
	struct sqlrow_block *block; /* memory of texts that were made here */
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
 * Finds the columns in which any of the rows [first, first + n) has a value; the key's columns always count.
 * An insert of these columns only is several times faster, because most steps lack most metric values.
 */
void sqlrow_used(const struct sqlrow *rows, enum sqlrow_table t, size_t first, size_t n,
		 struct sqlrow_set *ret);
bool sqlrow_set_has(const struct sqlrow_set *set, size_t i);

enum sqlrow_dialect {
	SQLROW_MARIADB, /* also MySQL: ON DUPLICATE KEY UPDATE */
	SQLROW_SQLITE,	/* ON CONFLICT (...) DO UPDATE SET */
};

/*
 * Writes the begin of an INSERT statement with the columns of SET, up to VALUES. The caller writes the
 * rows.
 */
void sqlrow_put_insert(FILE *f, enum sqlrow_table t, const struct sqlrow_set *set);
/*
 * Writes what comes after the rows: if there is a row with the same key, it is updated. The columns of SET
 * get the new values, its other columns NULL.
 */
void sqlrow_put_update(FILE *f, enum sqlrow_table t, enum sqlrow_dialect dialect,
		       const struct sqlrow_set *set);
/*
 * Returns the whole statement for one row, a "?" for each column of SET. The caller frees the text. NULL:
 * out of memory.
 */
char *sqlrow_upsert(enum sqlrow_table t, enum sqlrow_dialect dialect, const struct sqlrow_set *set);
/* Gives the set of all columns. */
void sqlrow_set_all(enum sqlrow_table t, struct sqlrow_set *ret);

/* --- sqlrow.c ----------------------------------------------------------------------------- */

/*
 * Adds the row of job R. KEY and JSON are those of the sink's item. They and R are borrowed until
 * sqlrow_clear(). -ENOMEM.
 */
int sqlrow_add_job(struct sqlrow *rows, const char *key, size_t key_len, const char *json, size_t json_len,
		   const struct record *r);
/* Adds a row for each step of R, whose record key is KEY. Borrows KEY and R until sqlrow_clear(). -ENOMEM. */
int sqlrow_add_steps(struct sqlrow *rows, const char *key, size_t key_len, const struct record *r);

/*
 * Returns how many bytes of JSON, a record, come before its last member "steps" and the comma there; a '}'
 * completes them to a record without steps. If "steps" is not the last member, returns JSON_LEN - 1.
 */
size_t sqlrow_json_without_steps(const char *json, size_t json_len);

/* Returns the day of the record's submit_time as a number, as TO_DAYS() of SQL does. */
uint32_t sqlrow_submit_day(const struct record *r);

/* Removes all rows and keeps memory for the next ones. */
void sqlrow_clear(struct sqlrow *rows);
void sqlrow_fini(struct sqlrow *rows);

#endif
