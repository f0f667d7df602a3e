/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_row.h - writes samples of a step as rows of CSV (RFC 4180). The columns follow from the
 * metric table. A counter has its sum since the step began, and its rate since its last reading.
 * The unit is in the name: cpu_energy_j and cpu_power_w, read_bytes and read_bytes_per_s. A value
 * that was not read for a row is an empty field.
 */
#ifndef CEEMS_TRACE_ROW_H
#define CEEMS_TRACE_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libtrace/trace_sample.h"

/* The size of the longest header, which is longer than any row. */
#define TRACE_ROW_MAX 16384
#define TRACE_COLUMN_MAX 64

/* The first columns, which tools find by these names. */
#define TRACE_COLUMN_NODE "node"
#define TRACE_COLUMN_TIME "time_utc"
#define TRACE_COLUMN_MONO "monotonic_s"
#define TRACE_COLUMN_EVENT "event" /* one of those below, or nothing */
#define TRACE_COLUMN_DROPPED "dropped_samples" /* up to that row, as the next */
#define TRACE_COLUMN_MISSED "missed_samples"

#define TRACE_EVENT_START "start"
#define TRACE_EVENT_END "end"	  /* the row after the step's last tick, whose sums are those of sacct */
#define TRACE_EVENT_LIMIT "limit" /* the file got too long */

struct trace_row {
	struct trace_start start;
	bool is_column[METRIC_N];
	bool has_last[METRIC_N]; /* the next two are known */
	uint64_t last[METRIC_N];
	uint64_t last_ns[METRIC_N];
};

void trace_row_init(struct trace_row *r, const struct trace_start *start);

/*
 * Write the names of a metric's columns: "energy_j", and for its rate "power_w"; "": it has no
 * rate.
 */
void trace_row_column(enum metric m, char name[TRACE_COLUMN_MAX]);
void trace_row_rate(enum metric m, char name[TRACE_COLUMN_MAX]);

/* Each writes one line into BUF (TRACE_ROW_MAX) and returns its length. */
size_t trace_row_header(const struct trace_row *r, char *buf);
/* Writes the row of the step's begin, when the energy was 0. */
size_t trace_row_begin(struct trace_row *r, const struct trace_sample *s, char *buf);
/* EVENT may be empty. */
size_t trace_row_put(struct trace_row *r, const struct trace_sample *s, const char *event, char *buf);

#endif
