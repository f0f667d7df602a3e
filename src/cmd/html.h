/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html.h - writes HTML pages of one file each. A page has no script and loads nothing from elsewhere. It is dark or light
 * as its viewer is set, and can be printed.
 */
#ifndef CEEMS_CMD_HTML_H
#define CEEMS_CMD_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "src/libutil/util.h"

/* TITLE is escaped. The page's head is open then: headings follow. */
void html_begin(FILE *out, const char *title);
/* Closes the page's head: what follows is its content. */
void html_main(FILE *out);
void html_end(FILE *out, const char *foot);

/* TEXT masked (text_mask()) and escaped, for content and for attributes in double quotes. */
void html_text(FILE *out, const char *text);
/* Writes a whole element with this text. Its only attribute is CLASS, which may be NULL. */
void html_element(FILE *out, const char *name, const char *class, const char *fmt, ...) _printf_(4, 5);

/* A number of a page's head: its label, value and a smaller line below it, which may be empty. */
void html_tile(FILE *out, const char *label, const char *value, const char *note);

/* A bar of SHARE, 0 to 1, of its cell; CLASS as in html_chart. Decoration: the number stands beside it. */
void html_share(FILE *out, double share, const char *class);

/* A column of a chart: its whole value, and the part of it that is marked. A negative whole is unknown. */
struct html_column {
	char label[16], title[96]; /* below it; what a pointer sees */
	double whole, part;
};
/*
 * Columns side by side, each MARK of the axis labelled by VALUE. NAME says to those who do not see it what it shows; the
 * same numbers should stand in a table.
 */
void html_chart(FILE *out, const char *name, const struct html_column *column, size_t n,
		const char *(*value)(double v, char *buf));

#endif
