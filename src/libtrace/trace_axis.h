/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_axis.h - functions that both drawings of a trace use: round ends of axes, and values and
 * times for people.
 */
#ifndef CEEMS_TRACE_AXIS_H
#define CEEMS_TRACE_AXIS_H

#include "src/libtrace/trace_grid.h"
#include "src/libutil/must_check.h"

#define TRACE_AXIS_TEXT 24

/* The values of one column of a grid, summed up for its axis. */
struct trace_axis {
	const struct trace_column *column;
	double max;
	double mean; /* mean over time; the last value for a sum or a peak */
	double top;  /* end of the axis: a round number, at least max, above 0 */
};
/* Computes the axis of a column. False: the column has no known value. */
bool trace_axis_make(const struct trace_grid *g, size_t column, struct trace_axis *ret) _must_check_;

/* Writes a value with its unit: "1.5 kW", "2.0 GiB/s", "12.3 M/s", "0.5". Returns BUF. */
const char *trace_axis_value(const struct trace_column *c, double value, char buf[TRACE_AXIS_TEXT]);
/* Writes a time: "0", "90 s", "5 min", "1 h 30". Returns BUF. */
const char *trace_axis_time(double seconds, char buf[TRACE_AXIS_TEXT]);
/* Returns the distance between ticks, in seconds, for an axis of SECONDS with at most N ticks. */
double trace_axis_tick(double seconds, unsigned int n);

/* Returns what trace_axis.mean is for column C: "mean" or "last". */
const char *trace_axis_mean_name(const struct trace_column *c);

/* Writes the title of a column: "power", "CPUs in use", "read". */
void trace_axis_title(const struct trace_column *c, char *buf, size_t size);

#endif
