/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cells.h - prints a table. For people, it is aligned, and values are masked and rounded. For programs,
 * values are exact and separated by '|', or written as CSV or JSON. A row is kept as text, about 200 bytes
 * for a job.
 */
#ifndef CEEMS_CMD_CELLS_H
#define CEEMS_CMD_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cells_format {
	CELLS_TABLE,
	CELLS_PARSABLE, /* like sacct -P; a | in a text is masked */
	CELLS_CSV,	/* RFC 4180, except that lines end with LF, not CRLF */
	CELLS_JSON,	/* an array of objects */
};

#define CELLS_WIDTH_MAX 200
#define CELLS_SHOWN_MAX 64

struct cells_column {
	const char *title; /* of CELLS_TABLE */
	const char *key;   /* name of the column in the other formats */
	size_t width;	   /* most characters of a text, 1 to CELLS_WIDTH_MAX */
	bool is_fixed;	   /* the column is WIDTH wide even if all texts are shorter */
	bool is_left;	   /* texts are at the left of the column */
	bool if_any;	   /* CELLS_TABLE leaves the column out if no row has a value */
};

/* One value of a row. */
struct cell {
	enum { CELL_UNKNOWN, CELL_TEXT, CELL_DECIMAL, CELL_RATIO } kind;
	const char *text;	     /* CELL_TEXT; borrowed */
	uint64_t number, scale;	     /* CELL_DECIMAL: number / scale, a power of ten */
	double ratio;		     /* CELL_RATIO */
	char shown[CELLS_SHOWN_MAX]; /* CELLS_TABLE prints this text; empty: it prints the value */
};

/* Returns the number of a cell, for a rank. NAN: it has none. */
double cell_rank(const struct cell *cell);

void cell_count(struct cell *cell, uint64_t n);
void cell_wh(struct cell *cell, uint64_t uj);

struct cells;

/*
 * Makes a table of N columns. COLUMN must outlive it. At most TOP rows are kept; 0: all. NULL: out
 * of memory.
 */
struct cells *cells_create(const struct cells_column *column, size_t n, enum cells_format format, size_t top);
void cells_destroy(struct cells *c);

/*
 * Adds a row. Rows are printed by RANK, the lowest first and NAN last; rows of equal rank in the
 * order of their addition. -ENOMEM.
 */
int cells_add(struct cells *c, double rank, const struct cell *cell);

/* Sorts the rows and prints them. -ENOMEM. */
int cells_print(struct cells *c, FILE *out, bool header);

#endif
