/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flame_view.h - the forms in which `ceems flame` writes a tree of functions.
 */
#ifndef CEEMS_CMD_FLAME_VIEW_H
#define CEEMS_CMD_FLAME_VIEW_H

#include <stdio.h>

#include "src/libprofile/flame.h"

struct flame_view {
	const struct flame *flame;
	const char *title; /* such as "job 7 on 2 nodes" */
	const char *other; /* title of the profile to compare with, or NULL */
	const char *what;  /* what the values are: "CPU time", "CPU cycles" or "energy" */
	/* unit of the values: "nanoseconds", "cycles", "joules", or another one of a file */
	const char *unit;
	const char *note;	/* how the values were found, or NULL */
	const char *const *gap; /* lines that say which samples were lost or left out; ended by NULL */
};

/* Sets WHAT and UNIT of V for values of TYPE. */
void flame_view_set_type(struct flame_view *v, const struct profile_type *type);

#define FLAME_VALUE_SIZE 64
/* These three write a text to BUF and return BUF: a value, such as "12.3 s" or "4.10 J"; */
const char *flame_view_value(const struct flame_view *v, double value, char *buf);
/* a share, such as "45.1 %"; */
const char *flame_view_share(double share, char *buf);
/* and how many stacks of SIDE are complete, such as "98 % whole, 1 % cut, 1 % failed". */
const char *flame_view_stacks(const struct flame_view *v, enum flame_side side, char *buf, size_t size);

/* Writes a table of 80 columns with the ROWS largest functions. 0 or -ENOMEM. */
int flame_view_table(const struct flame_view *v, size_t rows, FILE *out);
/*
 * Writes a line such as "a;b;c 12" for each stack. The value is in its unit, but joules are in microjoules.
 */
void flame_view_folded(const struct flame_view *v, FILE *out);
/* Writes the file format of speedscope. */
void flame_view_speedscope(const struct flame_view *v, FILE *out);
/* Writes a picture as an SVG element, which is also a complete SVG file. */
void flame_view_svg(const struct flame_view *v, FILE *out);
/* Writes an HTML page. 0 or -ENOMEM. */
int flame_view_html(const struct flame_view *v, FILE *out);

/* Writes TEXT as a JSON string that is safe inside an HTML element. */
void flame_json_text(FILE *out, const char *text);

#endif
