/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen_text.h - writes the texts of job_screen.c: times, watt-hours, shares, bars, and lines of
 * 80 columns.
 */
#ifndef CEEMS_SCREEN_TEXT_H
#define CEEMS_SCREEN_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/librecord/record.h"
#include "src/libutil/util.h"

#define SCREEN_TEXT_MAX 48
#define SCREEN_ROW_COLUMNS 67 /* columns of a line behind the label */

/*
 * Write a time: "18.3 s", "8m08s", "2h03m04s", "3d04h05m". All functions here return BUF, which
 * needs SCREEN_TEXT_MAX bytes.
 */
const char *screen_time(uint64_t ns, char *buf);
const char *screen_seconds(uint64_t s, char *buf);
/* Writes an energy: "3.61 mWh", "1.92 Wh", "12.0 kWh", "1.50 MWh"; "<1 J" for 0. */
const char *screen_wh(uint64_t uj, char *buf);
const char *screen_watts(double w, char *buf);
/* Writes a share: "4 %"; "<1 %" or ">99 %" where rounding would give 0 or 100 %. */
const char *screen_share(double share, char *buf);
/*
 * Writes "23 Nov 07:49" in local time; for a time long before NOW, the year instead of the hour;
 * "n/a" for 0.
 */
const char *screen_date(uint64_t t, uint64_t now, char *buf);

enum screen_colour {
	SCREEN_PLAIN,
	SCREEN_GOOD,
	SCREEN_FAIR,
	SCREEN_BAD,
	SCREEN_BOLD,
};

/* A row in its components, for outputs other than a terminal; not masked. */
struct screen_row {
	const char *label, *text, *note; /* label and note may be empty */
	double bar;			 /* length of the bar, 0 to 1; negative: no bar */
	enum screen_colour colour;	 /* colour of the bar */
};

struct screen {
	FILE *out;
	bool colour;
	/* called for each row; NULL: print lines of 80 columns */
	void (*row)(FILE *out, const struct screen_row *row);
};

/* Prints TEXT, in COLOUR if s->colour. */
void screen_put(const struct screen *s, enum screen_colour colour, const char *text);

/*
 * Prints one line: LABEL, the text and NOTE (may be ""), aligned if there is room. The text is
 * masked and cut to 80 columns.
 */
void screen_row(const struct screen *s, const char *label, const char *note, const char *fmt, ...)
	_printf_(4, 5);

/* Prints one line: a bar of SHARE (0 to 1) in COLOUR, and the text. */
void screen_bar(const struct screen *s, const char *label, double share, enum screen_colour colour,
		const char *fmt, ...) _printf_(5, 6);

#endif
