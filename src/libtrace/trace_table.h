/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_table.h - a trace as read from its file (trace_row.h): the numbers in its rows, by column.
 */
#ifndef CEEMS_TRACE_TABLE_H
#define CEEMS_TRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libtrace/trace_row.h"
#include "src/libutil/errmsg.h"

/* How the values of several nodes, or in one interval, are combined. */
enum trace_kind {
	TRACE_SUM,   /* sum since the step began: added up over nodes, linear between two rows */
	TRACE_RATE,  /* rate of a sum, per second */
	TRACE_LEVEL, /* value at one moment: added up over nodes */
	TRACE_PEAK,  /* largest value: the largest over nodes */
};

struct trace_column {
	char name[TRACE_COLUMN_MAX];
	enum trace_kind kind;
	enum metric metric; /* METRIC_N: the column belongs to no metric */
};

struct trace_table {
	char job[24], step[16]; /* such as "5_3" and "batch"; set by the caller */
	char node[TRACE_NODE_MAX];
	struct trace_column *column;
	size_t ncolumns;
	/* time of each row, ns since 1970: wall clock of the first row, plus the monotonic clock */
	uint64_t *t_ns;
	double *value; /* [nrows][ncolumns]; NAN: unknown */
	size_t nrows;
	uint64_t dropped, missed; /* samples: trace_sample.h; an old trace does not say what was missed: 0 */
	bool is_whole;		  /* it has the last row, that of the step's end */
};

/*
 * Reads a trace from TEXT (LEN bytes and a NUL), which is changed; free *RET with
 * trace_table_fini(). FILE is for messages. An incomplete last line is ignored, as the file may
 * still be written. -EINVAL: ERR has "FILE:LINE:COLUMN: REASON"; -ENOMEM.
 */
int trace_table_parse(const char *file, char *text, size_t len, struct trace_table *ret,
		      struct errmsg *err) _must_check_;
void trace_table_fini(struct trace_table *t);

/* Returns the index of the column NAME; -1: there is none. */
int trace_table_find(const struct trace_table *t, const char *name);

#endif
