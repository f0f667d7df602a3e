/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_svg.c - draws as SVG; see trace_draw.h. */
#include <math.h>
#include <string.h>

#include "src/libtrace/trace_axis.h"
#include "src/libtrace/trace_draw.h"
#include "src/libutil/clock.h"

/* Sizes in pixels. */
#define WIDTH 960
#define LEFT 96
#define RIGHT 24
#define TOP 56
#define PANEL 168  /* height of a panel, with its title and time axis */
#define HEIGHT 104 /* height of a panel's curve */
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)
#define TICKS 8

static const char head[] =
	"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
	"role=\"img\">\n"
	"<style>\n" /* no CSS variables: some viewers do not support them */
	"text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:17px;font-weight:600}"
	".name{font-weight:600}\n"
	".paper{fill:#ffffff}.soft{fill:#59636e}.grid{stroke:#d8dee4;fill:none}\n"
	".line{stroke:#0a6ebd;stroke-width:1.5;stroke-linejoin:round;fill:none}.fill{fill:#0a6ebd;"
	"fill-opacity:.15}\n"
	"@media (prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.soft{fill:#9198a1}"
	".grid{stroke:#30363d}.line{stroke:#58a6ff}.fill{fill:#58a6ff;fill-opacity:.2}}\n"
	"</style>\n";

/*
 * Writes TEXT escaped for XML. Characters other than printable ASCII become '?': names come from
 * users' files.
 */
static void svg_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '<')
			(void)fputs("&lt;", out);
		else if (c == '>')
			(void)fputs("&gt;", out);
		else if (c == '&')
			(void)fputs("&amp;", out);
		else if (c >= 0x20 && c < 0x7f)
			(void)fputc(c, out);
		else
			(void)fputc('?', out);
	}
}

static double svg_x(const struct trace_grid *g, uint64_t t_ns)
{
	return LEFT + (double)(t_ns - g->begin_ns) / (double)(g->end_ns - g->begin_ns) * PLOT_WIDTH;
}

/*
 * Draws the curve of rows FROM to UNTIL - 1, all of them known, as steps: one step per row.
 * IS_AREA: closes the curve at BASE, to be filled.
 */
static void svg_path(const struct trace_grid *g, size_t column, const struct trace_axis *a, size_t from,
		     size_t until, double base, bool is_area, FILE *out)
{
	size_t i;

	(void)fprintf(out, "<path class=\"%s\" d=\"", is_area ? "fill" : "line");
	for (i = from; i < until; i++) {
		const double v = g->value[i * g->ncolumns + column];
		const double y = base - (v > 0 ? v / a->top * HEIGHT : 0);

		if (i == from && is_area)
			(void)fprintf(out, "M%.1f %.1fV%.1f", svg_x(g, trace_grid_begin(g, i)), base, y);
		else if (i == from)
			(void)fprintf(out, "M%.1f %.1f", svg_x(g, trace_grid_begin(g, i)), y);
		else
			(void)fprintf(out, "V%.1f", y);
		(void)fprintf(out, "H%.1f", svg_x(g, trace_grid_end(g, i)));
	}
	if (is_area)
		(void)fprintf(out, "V%.1fZ", base);
	(void)fputs("\"/>\n", out);
}

/* Draws the curve of a column, with gaps where values are unknown. */
static void svg_curve(const struct trace_grid *g, size_t column, const struct trace_axis *a, double base,
		      FILE *out)
{
	size_t from = 0, until;

	while (from < g->nrows) {
		if (isnan(g->value[from * g->ncolumns + column])) {
			from++;
			continue;
		}
		for (until = from; until < g->nrows && !isnan(g->value[until * g->ncolumns + column]);
		     until++)
			;
		svg_path(g, column, a, from, until, base, /* is_area= */ true, out);
		svg_path(g, column, a, from, until, base, /* is_area= */ false, out);
		from = until;
	}
}

static void svg_time_axis(const struct trace_grid *g, double base, FILE *out)
{
	const double seconds = (double)(g->end_ns - g->begin_ns) / NSEC_PER_SEC;
	const double tick = trace_axis_tick(seconds, TICKS);
	char text[TRACE_AXIS_TEXT];
	double t;

	for (t = 0; t <= seconds; t += tick) {
		const double x = LEFT + t / seconds * PLOT_WIDTH;

		(void)fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fv4\"/>", x, base);
		(void)fprintf(out,
			      "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
			      x, base + 18, trace_axis_time(t, text));
	}
}

static void svg_value_axis(const struct trace_axis *a, double base, FILE *out)
{
	char text[TRACE_AXIS_TEXT];
	unsigned int i;

	for (i = 0; i <= 2; i++) {
		const double y = base - i * HEIGHT / 2.0;

		(void)fprintf(out, "<path class=\"grid\" d=\"M%d %.1fh%d\"/>", LEFT, y, PLOT_WIDTH);
		(void)fprintf(out, "<text class=\"soft\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			      LEFT - 8, y + 4, trace_axis_value(a->column, a->top * i / 2, text));
	}
}

static void svg_panel(const struct trace_grid *g, size_t column, const struct trace_axis *a, unsigned int nth,
		      FILE *out)
{
	const double base = TOP + nth * PANEL + 28 + HEIGHT;
	char title[64], max[TRACE_AXIS_TEXT], mean[TRACE_AXIS_TEXT];

	trace_axis_title(a->column, title, sizeof(title));
	(void)fprintf(out, "<text class=\"name\" x=\"%d\" y=\"%.1f\">", LEFT, base - HEIGHT - 10);
	svg_text(title, out);
	(void)fprintf(
		out,
		"</text><text class=\"soft\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">max %s, %s %s</text>\n",
		WIDTH - RIGHT, base - HEIGHT - 10, trace_axis_value(a->column, a->max, max),
		trace_axis_mean_name(a->column), trace_axis_value(a->column, a->mean, mean));
	svg_value_axis(a, base, out);
	svg_time_axis(g, base, out);
	svg_curve(g, column, a, base, out);
}

bool trace_svg_draw(const struct trace_grid *g, const char *title, FILE *out)
{
	struct trace_axis a;
	unsigned int n = 0;
	size_t k;
	int height;

	for (k = 0; k < g->ncolumns; k++)
		n += trace_axis_make(g, k, &a);
	height = TOP + (int)n * PANEL;
	(void)fprintf(out, head, WIDTH, height, WIDTH, height);
	(void)fputs("<title>", out);
	svg_text(title, out);
	(void)fprintf(out, "</title>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
	(void)fprintf(out, "<text class=\"title\" x=\"%d\" y=\"34\">", LEFT);
	svg_text(title, out);
	(void)fputs("</text>\n", out);
	for (k = 0, n = 0; k < g->ncolumns; k++)
		if (trace_axis_make(g, k, &a))
			svg_panel(g, k, &a, n++, out);
	(void)fputs("</svg>\n", out);
	return n > 0;
}
