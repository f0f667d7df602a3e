/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_grid.h - combines the traces of a job's nodes and steps to one series with equal intervals.
 * Sums stay exact: the rates of all intervals, each times its length, add up to the last sum.
 */
#ifndef CEEMS_TRACE_GRID_H
#define CEEMS_TRACE_GRID_H

#include "src/libtrace/trace_table.h"

/* More intervals are refused. */
#define TRACE_GRID_ROWS 10000000

struct trace_grid {
	struct trace_column *column;
	size_t ncolumns;
	uint64_t begin_ns, end_ns; /* since 1970 */
	uint64_t every_ns;	   /* the last interval may be shorter */
	size_t nrows;
	double *value; /* [nrows][ncolumns]; NAN: not known */
};

/*
 * Lists the columns of TABLE[n], each once. METRICS limits them to these names of columns or
 * metrics, comma-separated; NULL: all. The caller frees *RET. -ENOENT: a name is unknown, and ERR
 * lists the known ones.
 */
int trace_columns_pick(const struct trace_table *table, size_t n, const char *metrics, struct trace_column **ret,
		       size_t *ret_n, struct errmsg *err);

/* Makes the grid, which owns COLUMN on success. -ERANGE: more than TRACE_GRID_ROWS; -ENOMEM. */
int trace_grid_make(const struct trace_table *table, size_t n, struct trace_column *column, size_t ncolumns,
		    uint64_t every_ns, struct trace_grid *ret, struct errmsg *err);
void trace_grid_fini(struct trace_grid *g);

/* When row I begins and ends. */
uint64_t trace_grid_begin(const struct trace_grid *g, size_t i);
uint64_t trace_grid_end(const struct trace_grid *g, size_t i);

/* The times of the first and the last row of TABLE[n]. */
void trace_grid_span(const struct trace_table *table, size_t n, uint64_t *ret_begin_ns, uint64_t *ret_end_ns);

#endif
