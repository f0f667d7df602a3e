/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flame_view.h - what `ceems flame` prints of a tree of functions.
 */
#ifndef CEEMS_CMD_FLAME_VIEW_H
#define CEEMS_CMD_FLAME_VIEW_H

#include <stdio.h>

#include "src/libprofile/flame.h"

struct flame_view {
	const struct flame *flame;
	const char *title;	/* "job 7 on 2 nodes" */
	const char *other;	/* the title of what it is compared with, or NULL */
	const char *what;	/* of the values: "CPU time", "energy" */
	const char *unit;	/* "nanoseconds", "joules", or another of a file */
	const char *note;	/* how they were got, or NULL */
	const char *const *gap;	/* what the profiles lack, NULL-ended: samples that were lost, limits */
};

#define FLAME_VALUE_SIZE 64
/* "12.3 s", "4.10 J" */
const char *flame_view_value(const struct flame_view *v, double value, char *buf);
/* "45.1 %" */
const char *flame_view_share(double share, char *buf);
/* "98 % whole, 1 % cut, 1 % failed"; of SIDE. */
const char *flame_view_stacks(const struct flame_view *v, enum flame_side side, char *buf, size_t size);

/* A table of 80 columns with the ROWS largest functions. 0 or -ENOMEM. */
int flame_view_table(const struct flame_view *v, size_t rows, FILE *out);
/* "a;b;c 12" per stack: the value in its unit, of joules in millionths. */
void flame_view_folded(const struct flame_view *v, FILE *out);
/* speedscope's file format */
void flame_view_speedscope(const struct flame_view *v, FILE *out);
/* A picture of its own, or the element of a page. */
void flame_view_svg(const struct flame_view *v, FILE *out);
/* 0 or -ENOMEM. */
int flame_view_html(const struct flame_view *v, FILE *out);

/* TEXT as a string of JSON that may stand in an element of HTML, too. */
void flame_json_text(FILE *out, const char *text);

#endif
