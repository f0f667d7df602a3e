/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_column.h - the columns of `ceems top`; the rows are in top_column.def.
 */
#ifndef CEEMS_CMD_TOP_COLUMN_H
#define CEEMS_CMD_TOP_COLUMN_H

#include "src/cmd/top/top.h"
#include "src/libcore/metric.h"

#define TOP_CELL_MAX 64

enum top_column_id {
#define COLUMN(id, ...) TOP_COLUMN_##id,
#define VALUE(id, ...) TOP_COLUMN_##id,
#include "src/cmd/top/top_column.def"
	TOP_COLUMN_N
};

enum top_column_flags {
	TOP_LEFT = 1 << 0,   /* the text is at the left of the column */
	TOP_GROWS = 1 << 1,  /* gets the rest of the screen's width, if its texts need it */
	TOP_ALWAYS = 1 << 2, /* is shown even if no row has a value */
};

/* How a value is read from the counters of a job or step. */
enum top_from {
	TOP_FROM_OTHER, /* code sets it (top_rates.c) */
	TOP_FROM_RATE,	/* growth of a metric per second */
	TOP_FROM_TOTAL, /* a metric, since the job's start */
};

struct top_column {
	const char *title;
	const char *name; /* for --sort */
	int key;	  /* the key that sorts by this column: an upper-case letter; 0: none */
	const char *help; /* "sort by HELP" */
	size_t width;
	unsigned int rank;  /* on a narrow screen, the columns with the highest rank are left out first */
	unsigned int flags; /* enum top_column_flags */

	size_t text; /* offset of a text in struct top_row; 0: the column is a number */
	double (*set)(const struct top_row *r); /* NAN: not known. NULL: the column shows its own value */
	void (*show)(double v, char *buf);	/* writes a number; BUF has TOP_CELL_MAX bytes */

	/* VALUE: */
	enum top_value value;  /* COLUMN: TOP_N */
	const char *json;      /* its name in JSON */
	bool is_part_of_power; /* its total is the mean that is weighted by power, not the sum */
	enum top_from from;
	enum metric metric;
	double unit;	   /* what of the metric counts as 1; 0: as in JSON, such as 10^9 of a time in ns */
	const char *gauge; /* Prometheus's series of the value; NULL: that of the metric */
};
extern const struct top_column top_column_table[TOP_COLUMN_N];

/* Returns the column that has VALUE. */
const struct top_column *top_column_of(enum top_value value);
/* Returns how much of the metric counts as 1. */
double top_column_unit(const struct top_column *c);

/*
 * Return the value of row R. NULL: the column is a number; NAN: the number is not known,
 * or the column is a text.
 */
const char *top_column_text(const struct top_column *c, const struct top_row *r);
double top_column_number(const struct top_column *c, const struct top_row *r);

/* Writes V bytes, such as "999", "1.5K" or "12.3M", in powers of 1024. */
void top_show_bytes(double v, char *buf);

#endif
