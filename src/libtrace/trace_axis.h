/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_axis.h - functions for both drawings of a trace: round ends of axes, and values and times
 * for people.
 */
#ifndef CEEMS_TRACE_AXIS_H
#define CEEMS_TRACE_AXIS_H

#include "src/libtrace/trace_grid.h"

#define TRACE_AXIS_TEXT 24

/* A column of a grid. */
struct trace_axis {
	const struct trace_column *column;
	double max;
	double mean; /* mean over time; for a sum, its last value */
	double top;  /* round, not below max, above 0 */
};
/* False: nothing of it is known. */
bool trace_axis_make(const struct trace_grid *g, size_t column, struct trace_axis *ret);

/* "1.5 kW", "2.0 GiB/s", "12.3 M/s", "0.5" */
const char *trace_axis_value(const struct trace_column *c, double value, char buf[TRACE_AXIS_TEXT]);
/* "0", "90 s", "5 min", "1 h 30 min" */
const char *trace_axis_time(double seconds, char buf[TRACE_AXIS_TEXT]);
/* The distance of ticks on an axis of SECONDS with at most N ticks. */
double trace_axis_tick(double seconds, unsigned int n);

/* What trace_axis.mean is: "mean" or "last". */
const char *trace_axis_mean_name(const struct trace_column *c);

/* Writes the title of a column: "power", "CPUs in use", "read". */
void trace_axis_title(const struct trace_column *c, char *buf, size_t size);

#endif
