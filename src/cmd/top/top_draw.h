/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_draw.h - makes the lines of a screen of `ceems top`, of any width and height. It uses no terminal.
 */
#ifndef CEEMS_CMD_TOP_DRAW_H
#define CEEMS_CMD_TOP_DRAW_H

#include "src/cmd/top/top.h"
#include "src/libutil/must_check.h"

enum top_style {
	TOP_PLAIN,
	TOP_HEAD,     /* the first lines: what is shown, and sums */
	TOP_NOTE,     /* what is missing and why */
	TOP_TITLES,   /* titles of the columns */
	TOP_SELECTED, /* the row that is marked */
	TOP_KEYS,     /* the last line: keys, or the filter */
};

/*
 * Return a column to sort by: by its name for --sort, or by its key, an upper-case
 * letter. NULL: there is none.
 */
struct top_column;
const struct top_column *top_column_find(const char *name);
const struct top_column *top_column_of_key(int key);
/* Returns the column to the left (STEP -1) or right (1) of the column by which rows are sorted. */
struct top_view;
const struct top_column *top_column_next(const struct top_frame *f, const struct top_view *v, int step);
/* Writes the names of all columns to BUF, for messages: "power, cpu, ...". Returns BUF. */
const char *top_column_names(char *buf, size_t size);

#define TOP_FILTER_MAX 64

struct top_view {
	size_t width, height;	       /* HEIGHT 0: all rows, and no line of keys */
	const struct top_column *sort; /* column to sort by; NULL: power */
	bool reverse;
	char filter[TOP_FILTER_MAX]; /* only rows that contain this text are shown; empty: all rows */
	bool is_typing;		     /* the user is typing the filter, which the last line shows */
	bool is_help;
	char selected[TOP_TEXT_MAX]; /* id of the row that is marked; empty: none */
	size_t first;		     /* index of the row at the top, in the order of top_order() */
};

struct top_lines {
	struct top_line {
		char *text; /* owned; masked, at most WIDTH columns */
		enum top_style style;
	} * line; /* owned */
	size_t n;
};
void top_lines_free(struct top_lines *l);

/*
 * Returns the indices of the rows that pass the filter, sorted; the caller frees them. NULL: out of
 * memory.
 */
size_t *top_order(const struct top_frame *f, const struct top_view *v, size_t *ret_n);

/* Returns how many rows of F fit on a screen of V->height lines. */
size_t top_rows_shown(const struct top_frame *f, const struct top_view *v);

/* Makes the lines of the screen. Free RET with top_lines_free(). -ENOMEM. */
int top_draw(const struct top_frame *f, const struct top_view *v, struct top_lines *ret) _must_check_;

#endif
