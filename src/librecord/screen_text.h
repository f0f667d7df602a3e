/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen_text.h - the words of job_screen.c: times, watt-hours, shares, bars, and lines of 80 columns.
 */
#ifndef CEEMS_SCREEN_TEXT_H
#define CEEMS_SCREEN_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/librecord/record.h"
#include "src/libutil/util.h"

#define SCREEN_TEXT_MAX 48
#define SCREEN_ROW_COLUMNS 67 /* of a line, behind its label */

/* "18.3 s", "8m08s", "2h03m04s", "3d04h05m". Each of these returns BUF, of SCREEN_TEXT_MAX bytes. */
const char *screen_time(uint64_t ns, char *buf);
const char *screen_seconds(uint64_t s, char *buf);
/* "3.61 mWh", "1.92 Wh", "12.0 kWh", "1.50 MWh", "<1 J" of 0 */
const char *screen_wh(uint64_t uj, char *buf);
const char *screen_watts(double w, char *buf);
/* "4 %"; what is there is not 0 % and what lacks something not 100 %: "<1 %". */
const char *screen_share(double share, char *buf);
/* "23 Nov 07:49" in local time, the year instead of the time when it is long before NOW; "n/a" of 0. */
const char *screen_date(uint64_t t, uint64_t now, char *buf);

enum screen_colour {
	SCREEN_PLAIN,
	SCREEN_GOOD,
	SCREEN_FAIR,
	SCREEN_BAD,
	SCREEN_BOLD,
};

/* A row's parts for another form than lines of a terminal; none of them is masked. */
struct screen_row {
	const char *label, *text, *note; /* label and note may be empty */
	double bar;			 /* negative: there is none */
	enum screen_colour colour;	 /* of the bar */
};

struct screen {
	FILE *out;
	bool colour;
	void (*row)(FILE *out, const struct screen_row *row); /* NULL: lines of 80 columns */
};

/* COLOUR around TEXT if OUT is a terminal. */
void screen_put(const struct screen *s, enum screen_colour colour, const char *text);

/*
 * One line: LABEL, then the text, then NOTE (may be empty), aligned if there is room. The text is masked, and cut
 * to 80 columns.
 */
void screen_row(const struct screen *s, const char *label, const char *note, const char *fmt, ...) _printf_(4, 5);

/* One line with a bar of SHARE, 0 to 1, in COLOUR, behind it the text. */
void screen_bar(const struct screen *s, const char *label, double share, enum screen_colour colour,
		const char *fmt, ...) _printf_(5, 6);

#endif
