/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html.h - writes HTML pages, each in one file. A page loads nothing from elsewhere, and only the page of
 * `ceems flame` has a script. A page is dark or light as the browser is set, and can be printed.
 */
#ifndef CEEMS_CMD_HTML_H
#define CEEMS_CMD_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "src/libutil/util.h"

/* Begins a page. TITLE is escaped; CSS is the page's own, or "". The <header> stays open for headings. */
void html_begin(FILE *out, const char *title, const char *css);
/* Ends the <header> and begins the page's content. */
void html_main(FILE *out);
void html_end(FILE *out, const char *foot);

/* Writes TEXT masked (text_mask()) and escaped, for content and for attributes in double quotes. */
void html_text(FILE *out, const char *text);
/* Writes an element with this text. Its only attribute is CLASS, which may be NULL. */
void html_element(FILE *out, const char *name, const char *class, const char *fmt, ...) _printf_(4, 5);

/*
 * Begins a table with N titles. A '#' before a title marks a column of numbers and is not shown; "#" alone
 * is a column without a title. NAME is for those who cannot see the table; CAPTION may be NULL.
 */
void html_table_begin(FILE *out, const char *name, const char *caption, const char *const *title, size_t n);
void html_table_end(FILE *out);
/*
 * Write a cell: a number or another short text; the row's name with LINK, which may be NULL, and then NOTE.
 */
void html_number(FILE *out, const char *text);
void html_row_head(FILE *out, const char *text, const char *link, const char *note);
/*
 * Writes a cell with a bar as long as SHARE (0 to 1) of the cell. It is decoration, so the number must stand
 * beside it. CLASS as in html_chart.
 */
void html_bar(FILE *out, double share, const char *class);

/*
 * Writes a number for the top of a page: its label, its value, and a smaller line below, which may
 * be empty.
 */
void html_tile(FILE *out, const char *label, const char *value, const char *note);

/*
 * A column of a chart: its total, and the part of it that is marked. A negative total is unknown.
 */
struct html_column {
	char label[16], title[96]; /* the text below the column; the text shown when pointed at */
	double whole, part;
};
/*
 * Writes a column chart. VALUE makes the labels of the axis. NAME describes the chart to those who
 * cannot see it; put the same numbers in a table.
 */
void html_chart(FILE *out, const char *name, const struct html_column *column, size_t n,
		const char *(*value)(double v, char *buf));

#endif
