/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/librecord/screen_text.h"
#include "src/libutil/text.h"

/* Size of a chart in units of the SVG, which the page stretches to its place. */
#define CHART_WIDTH 100.0
#define CHART_HEIGHT 100.0
#define COLUMN_GAP 0.18 /* part of a column's place that stays empty */

static const char common_css[] =
#include "src/cmd/page_css.h"
	;

void html_begin(FILE *out, const char *title, const char *css)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n",
	      out);
	html_element(out, "title", NULL, "%s", title);
	(void)fprintf(out, "<style>\n%s%s</style>\n</head>\n<body>\n<header>\n", common_css, css);
}

void html_main(FILE *out)
{
	fputs("</header>\n<main>\n", out);
}

void html_end(FILE *out, const char *foot)
{
	fputs("</main>\n<footer>", out);
	html_text(out, foot);
	fputs("</footer>\n</body>\n</html>\n", out);
}

void html_text(FILE *out, const char *text)
{
	char masked[256];

	/* mask the text in pieces, which must not end within a UTF-8 character */
	while (*text) {
		size_t len = strlen(text);
		size_t cut = len < sizeof(masked) - 1 ? len : sizeof(masked) - 1;
		const char *p;

		while (cut < len && cut > 1 && ((unsigned char)text[cut] & 0xc0) == 0x80)
			cut--;
		memcpy(masked, text, cut);
		masked[cut] = '\0';
		text += cut;
		for (p = text_mask(masked, masked, sizeof(masked)); *p; p++)
			switch (*p) {
			case '&':
				fputs("&amp;", out);
				break;
			case '<':
				fputs("&lt;", out);
				break;
			case '>':
				fputs("&gt;", out);
				break;
			case '"':
				fputs("&quot;", out);
				break;
			case '\'':
				fputs("&#39;", out);
				break;
			default:
				(void)fputc(*p, out);
			}
	}
}

void html_element(FILE *out, const char *name, const char *class, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)fprintf(out, "<%s%s%s%s>", name, class ? " class=\"" : "", class ? class : "",
		      class ? "\"" : "");
	html_text(out, text);
	(void)fprintf(out, "</%s>\n", name);
}

void html_table_begin(FILE *out, const char *name, const char *caption, const char *const *title, size_t n)
{
	size_t i;

	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", out);
	html_text(out, name);
	fputs("\">\n<table>\n", out);
	if (caption)
		html_element(out, "caption", NULL, "%s", caption);
	fputs("<thead><tr>", out);
	for (i = 0; i < n; i++) {
		bool is_number = title[i][0] == '#';

		if (is_number && !title[i][1]) {
			fputs("<td></td>", out);
			continue;
		}
		(void)fprintf(out, "<th scope=\"col\"%s>", is_number ? " class=\"number\"" : "");
		html_text(out, title[i] + is_number);
		fputs("</th>", out);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
}

void html_table_end(FILE *out)
{
	fputs("</tbody>\n</table>\n</div>\n", out);
}

void html_number(FILE *out, const char *text)
{
	html_element(out, "td", "number", "%s", text);
}

void html_row_head(FILE *out, const char *text, const char *link, const char *note)
{
	fputs("<th scope=\"row\">", out);
	if (link) {
		fputs("<a href=\"", out);
		html_text(out, link);
		fputs("\">", out);
	}
	html_text(out, text);
	fputs(link ? "</a>" : "", out);
	html_text(out, note);
	fputs("</th>", out);
}

void html_tile(FILE *out, const char *label, const char *value, const char *note)
{
	fputs("<div class=\"tile\">", out);
	html_element(out, "dt", NULL, "%s", label);
	html_element(out, "dd", "value", "%s", value);
	if (*note)
		html_element(out, "dd", "note", "%s", note);
	fputs("</div>\n", out);
}

void html_bar(FILE *out, double share, const char *class)
{
	double full = share > 1 ? 1 : share > 0 ? share : 0;

	(void)fprintf(out,
		      "<td class=\"bar\"><svg class=\"share\" viewBox=\"0 0 100 10\" "
		      "preserveAspectRatio=\"none\" aria-hidden=\"true\">"
		      "<rect class=\"track\" width=\"100\" height=\"10\"/><rect class=\"%s\" width=\"%.2f\" "
		      "height=\"10\"/></svg></td>",
		      class, 100 * full);
}

/* Returns the smallest round number that is not below V and whose half is round, too. */
static double round_up(double v)
{
	static const double steps[] = { 1, 1.5, 2, 3, 4, 6, 8 };
	double unit = 1;
	size_t i;

	if (!(v > 0))
		return 1;
	while (unit > v)
		unit /= 10;
	while (unit * 10 <= v)
		unit *= 10;
	for (i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i] * unit >= v)
			return steps[i] * unit;
	return 10 * unit;
}

static void put_rect(FILE *out, const char *class, double x, double width, double from, double to)
{
	if (to > from)
		(void)fprintf(out,
			      "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>",
			      class, x, CHART_HEIGHT - to, width, to - from);
}

static void put_column(FILE *out, const struct html_column *c, double top, double x, double place)
{
	double whole = c->whole / top * CHART_HEIGHT;
	double part = c->part / top * CHART_HEIGHT;

	fputs("<g><title>", out);
	html_text(out, c->title);
	fputs("</title>", out);
	/*
	 * a transparent column of the full height shows the tooltip, so that short
	 * columns are easy to point at
	 */
	(void)fprintf(out, "<rect class=\"place\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"100\"/>", x,
		      place);
	if (c->whole < 0)
		put_rect(out, "unknown", x + place * COLUMN_GAP / 2, place * (1 - COLUMN_GAP), 0,
			 CHART_HEIGHT);
	put_rect(out, "lost", x + place * COLUMN_GAP / 2, place * (1 - COLUMN_GAP), 0, part);
	put_rect(out, "used", x + place * COLUMN_GAP / 2, place * (1 - COLUMN_GAP), part > 0 ? part : 0,
		 whole);
	fputs("</g>\n", out);
}

void html_chart(FILE *out, const char *name, const struct html_column *column, size_t n,
		const char *(*value)(double v, char *buf))
{
	char text[SCREEN_TEXT_MAX];
	double top = 0;
	size_t i;

	for (i = 0; i < n; i++)
		top = column[i].whole > top ? column[i].whole : top;
	top = round_up(top);
	fputs("<div class=\"chart\">\n<div class=\"marks\" aria-hidden=\"true\">", out);
	for (i = 0; i <= 2; i++)
		html_element(out, "span", NULL, "%s", value(top * (2 - (double)i) / 2, text));
	fputs("</div>\n<svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
	      out);
	html_text(out, name);
	fputs("\">\n<path class=\"grid\" d=\"M0 0H100M0 50H100M0 100H100\"/>\n", out);
	for (i = 0; i < n; i++)
		put_column(out, &column[i], top, CHART_WIDTH * (double)i / (double)n,
			   CHART_WIDTH / (double)n);
	(void)fprintf(out, "</svg>\n<div class=\"days%s\" aria-hidden=\"true\">", n > 14 ? " many" : "");
	for (i = 0; i < n; i++)
		html_element(out, "span", NULL, "%s", column[i].label);
	fputs("</div>\n</div>\n", out);
}
