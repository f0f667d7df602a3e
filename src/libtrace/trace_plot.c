/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_plot.c - draws for a terminal; see trace_draw.h. */
#include <math.h>
#include <string.h>

#include "src/libtrace/trace_axis.h"
#include "src/libtrace/trace_draw.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define ROWS 5
#define LABEL 10 /* columns left of the axis */
#define TICKS 5

struct plot_style {
	const char *block[9]; /* from empty to full, in eighths */
	const char *axis, *corner, *line;
};

static const struct plot_style ascii = {
	{ " ", ".", ".", ".", ":", ":", ":", "#", "#" },
	"|",
	"+",
	"-",
};
static const struct plot_style utf8 = {
	{ " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588" },
	"\u2502",
	"\u2514",
	"\u2500",
};

/*
 * Returns the character in ROW (0 is the lowest) of a bar of VALUE. A known value above 0 is always
 * visible.
 */
static const char *plot_cell(const struct plot_style *s, double value, double top, unsigned int row)
{
	double eighths;

	if (isnan(value) || value <= 0)
		return s->block[0];
	eighths = value / top * ROWS * 8 - row * 8;
	if (row == 0 && eighths < 1)
		return s->block[1];
	return s->block[eighths >= 8 ? 8 : eighths <= 0 ? 0 : (unsigned int)(eighths + 0.5)];
}

static void plot_axis(const struct trace_grid *g, const struct plot_style *s, FILE *out)
{
	const double seconds = (double)(g->end_ns - g->begin_ns) / NSEC_PER_SEC;
	const double tick = trace_axis_tick(seconds, TICKS);
	char line[TRACE_PLOT_BINS + TRACE_AXIS_TEXT + 1];
	char text[TRACE_AXIS_TEXT];
	unsigned int i, used = 0;
	double t;

	(void)fprintf(out, "%*s%s", LABEL, "0 ", s->corner);
	for (i = 0; i < g->nrows; i++)
		(void)fputs(s->line, out);
	line[0] = '\0';
	for (t = 0; t <= seconds; t += tick) {
		const unsigned int at = (unsigned int)(t / seconds * (double)g->nrows);

		(void)trace_axis_time(t, text);
		if (at < used || at + strlen(text) > TRACE_PLOT_BINS)
			continue;
		(void)snprintf(line + used, sizeof(line) - used, "%*s%s", (int)(at - used), "", text);
		used = at + (unsigned int)strlen(text);
	}
	(void)fprintf(out, "\n%*s%s\n", LABEL + 1, "", line);
}

static void plot_panel(const struct trace_grid *g, size_t column, const struct trace_axis *a,
		       const struct plot_style *s, FILE *out)
{
	char title[64], max[TRACE_AXIS_TEXT], mean[TRACE_AXIS_TEXT], top[TRACE_AXIS_TEXT];
	unsigned int row;
	size_t i;

	trace_axis_title(a->column, title, sizeof(title));
	(void)trace_axis_value(a->column, a->max, max);
	(void)trace_axis_value(a->column, a->mean, mean);
	(void)fprintf(out, "\n%s: max %s, %s %s\n", title, max, trace_axis_mean_name(a->column), mean);
	for (row = ROWS; row-- > 0;) {
		(void)fprintf(out, "%*s %s", LABEL - 1,
			      row == ROWS - 1 ? trace_axis_value(a->column, a->top, top) : "", s->axis);
		for (i = 0; i < g->nrows; i++)
			(void)fputs(plot_cell(s, g->value[i * g->ncolumns + column], a->top, row), out);
		(void)fputc('\n', out);
	}
	plot_axis(g, s, out);
}

bool trace_plot_draw(const struct trace_grid *g, const char *title, bool is_utf8, FILE *out)
{
	const struct plot_style *s = is_utf8 ? &utf8 : &ascii;
	struct trace_axis a;
	bool any = false;
	size_t k;

	(void)fprintf(out, "%s\n", title);
	for (k = 0; k < g->ncolumns; k++) {
		if (!trace_axis_make(g, k, &a))
			continue;
		plot_panel(g, k, &a, s, out);
		any = true;
	}
	return any;
}
