/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_grid.h - combines the traces of a job's nodes and steps into one series with equal
 * intervals. Sums stay exact: for each metric, rate times length added up over all intervals is the
 * metric's sum at the end of the traces.
 */
#ifndef CEEMS_TRACE_GRID_H
#define CEEMS_TRACE_GRID_H

#include "src/libtrace/trace_table.h"
#include "src/libutil/must_check.h"

/* A grid with more rows is refused. */
#define TRACE_GRID_ROWS 10000000

struct trace_grid {
	struct trace_column *column;
	size_t ncolumns;
	uint64_t begin_ns, end_ns; /* nanoseconds since 1970 */
	uint64_t every_ns;	   /* length of an interval; the last one may be shorter */
	size_t nrows;
	double *value; /* [nrows][ncolumns]; NAN: unknown */
};

/*
 * Lists the columns of TABLE[n], each once. METRICS selects some by the names of columns or
 * metrics, separated by commas; NULL: all. The caller frees *RET. -ENOENT: a name is unknown (ERR
 * lists the known names); -EINVAL: METRICS has no name; -ENOMEM.
 */
int trace_columns_pick(const struct trace_table *table, size_t n, const char *metrics,
		       struct trace_column **ret, size_t *ret_n, struct errmsg *err) _must_check_;

/*
 * Makes the grid of TABLE[n] with intervals of EVERY_NS. On success the grid owns COLUMN. -ERANGE:
 * more than TRACE_GRID_ROWS rows; -ENOMEM.
 */
int trace_grid_make(const struct trace_table *table, size_t n, struct trace_column *column, size_t ncolumns,
		    uint64_t every_ns, struct trace_grid *ret, struct errmsg *err) _must_check_;
void trace_grid_fini(struct trace_grid *g);

/* Return when row I begins and ends. */
uint64_t trace_grid_begin(const struct trace_grid *g, size_t i);
uint64_t trace_grid_end(const struct trace_grid *g, size_t i);

/* Returns the times of the first and the last row in TABLE[n]. */
void trace_grid_span(const struct trace_table *table, size_t n, uint64_t *ret_begin_ns, uint64_t *ret_end_ns);

#endif
