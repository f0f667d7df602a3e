/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_table.h - a trace that was read from its file (trace_row.h): the numbers of its rows, by
 * column.
 */
#ifndef CEEMS_TRACE_TABLE_H
#define CEEMS_TRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libtrace/trace_row.h"
#include "src/libutil/errmsg.h"

/* How the values of several nodes, or of an interval, are combined. */
enum trace_kind {
	TRACE_SUM,   /* sum since the step began: added over nodes; linear between two rows */
	TRACE_RATE,  /* the rate of a sum, per second */
	TRACE_LEVEL, /* of the moment: nodes add up */
	TRACE_PEAK,  /* the largest counts */
};

struct trace_column {
	char name[TRACE_COLUMN_MAX];
	enum trace_kind kind;
	enum metric metric; /* METRIC_N: it is of none */
};

struct trace_table {
	char job[24], step[16]; /* "5_3" and "batch"; set by the caller */
	char node[TRACE_NODE_MAX];
	struct trace_column *column;
	size_t ncolumns;
	uint64_t *t_ns; /* time of each row: nanoseconds since 1970, by the wall clock of the first row and the
			   monotonic clock */
	double *value;	/* [nrows][ncolumns]; NAN: not known */
	size_t nrows;
	uint64_t dropped, missed; /* samples: trace_sample.h; an old trace does not say what was missed: 0 */
	bool is_whole; /* it has the last row, that of the step's end */
};

/*
 * Reads TEXT (LEN bytes and a NUL), and changes it. FILE is for messages. An incomplete last line
 * is ignored: the file is being written. -EINVAL: "FILE:LINE:COLUMN: REASON"; -ENOMEM.
 */
int trace_table_parse(const char *file, char *text, size_t len, struct trace_table *ret, struct errmsg *err);
void trace_table_fini(struct trace_table *t);

/* The number of the column with that name; -1: none. */
int trace_table_find(const struct trace_table *t, const char *name);

#endif
