/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_row.h - writes samples of a step as rows of CSV (RFC 4180). The metric table gives the
 * columns. A counter has two columns: its sum since the step began, and its rate since its last
 * reading. The unit is in the name: cpu_energy_j and cpu_power_w, read_bytes and read_bytes_per_s.
 * A value that was not read for a row is an empty field.
 */
#ifndef CEEMS_TRACE_ROW_H
#define CEEMS_TRACE_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libtrace/trace_sample.h"

/* Longest line, which is the header, in bytes. */
#define TRACE_ROW_MAX 16384
#define TRACE_COLUMN_MAX 64

/* Names of the first columns; tools rely on them. */
#define TRACE_COLUMN_NODE "node"
#define TRACE_COLUMN_TIME "time_utc"
#define TRACE_COLUMN_MONO "monotonic_s"
#define TRACE_COLUMN_EVENT "event"	       /* a TRACE_EVENT_ or empty */
#define TRACE_COLUMN_DROPPED "dropped_samples" /* samples dropped up to this row */
#define TRACE_COLUMN_MISSED "missed_samples"

#define TRACE_EVENT_START "start"
/* the row after the step's last tick; its sums are those in sacct */
#define TRACE_EVENT_END "end"
#define TRACE_EVENT_LIMIT "limit" /* the file has reached its size limit */

struct trace_row {
	struct trace_start start;
	bool is_column[METRIC_N];
	bool has_last[METRIC_N]; /* last and last_ns are known */
	uint64_t last[METRIC_N];
	uint64_t last_ns[METRIC_N];
};

/* Chooses the columns by what START says: the groups asked for, and whether there are GPUs. */
void trace_row_init(struct trace_row *r, const struct trace_start *start);

/*
 * Write the names of a metric's two columns, sum or value ("energy_j") and rate ("power_w"). The
 * rate's name is "" if the metric has no rate.
 */
void trace_row_column(enum metric m, char name[TRACE_COLUMN_MAX]);
void trace_row_rate(enum metric m, char name[TRACE_COLUMN_MAX]);

/* Each of these writes one line into BUF (TRACE_ROW_MAX bytes) and returns its length. */
size_t trace_row_header(const struct trace_row *r, char *buf);
/* Writes the row of the step's start, when its energy was 0. */
size_t trace_row_begin(struct trace_row *r, const struct trace_sample *s, char *buf);
/* Writes the row of a sample. EVENT is a TRACE_EVENT_ or "". */
size_t trace_row_put(struct trace_row *r, const struct trace_sample *s, const char *event, char *buf);

#endif
