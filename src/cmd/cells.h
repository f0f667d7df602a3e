/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cells.h - prints a table for people (aligned, masked, rounded) or for programs (separated by |, CSV or JSON; exact). A
 * row is kept as the text that will be printed, which takes some 200 bytes for a job.
 */
#ifndef CEEMS_CMD_CELLS_H
#define CEEMS_CMD_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cells_format {
	CELLS_TABLE,
	CELLS_PARSABLE, /* sacct's -P: the separator in a text is masked */
	CELLS_CSV,	/* RFC 4180, except that lines end with LF, not CRLF */
	CELLS_JSON,	/* an array of objects */
};

#define CELLS_WIDTH_MAX 200
#define CELLS_SHOWN_MAX 64

struct cells_column {
	const char *title; /* for people */
	const char *key;   /* for programs */
	size_t width;	   /* columns at most; 1 to CELLS_WIDTH_MAX */
	bool is_fixed;	   /* they are taken even where less is needed */
	bool is_left;
	bool if_any;	   /* not shown to people if no row has a value */
};

/* What a row has in a column. */
struct cell {
	enum { CELL_UNKNOWN, CELL_TEXT, CELL_DECIMAL, CELL_RATIO } kind;
	const char *text;	     /* CELL_TEXT; borrowed */
	uint64_t number, scale;	     /* CELL_DECIMAL: number / scale, a power of ten */
	double ratio;		     /* CELL_RATIO */
	char shown[CELLS_SHOWN_MAX]; /* to people; empty: TEXT is */
};

struct cells;

/* A table of N columns; COLUMN must outlive it. At most TOP rows are kept; 0: all. NULL: out of memory. */
struct cells *cells_create(const struct cells_column *column, size_t n, enum cells_format format, size_t top);
void cells_destroy(struct cells *c);

/* Rows with a lower RANK come first; rows of equal rank in the order in which they were added; NAN last. -ENOMEM. */
int cells_add(struct cells *c, double rank, const struct cell *cell);

/* Sorts the rows and prints them. -ENOMEM. */
int cells_print(struct cells *c, FILE *out, bool header);

#endif
