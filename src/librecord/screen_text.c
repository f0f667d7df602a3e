/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/screen_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "src/librecord/job_screen.h"
#include "src/libcore/metric_text.h"
#include "src/libutil/clock.h"
#include "src/libutil/text.h"

#define LABEL_COLUMNS (JOB_SCREEN_COLUMNS - 2 - SCREEN_ROW_COLUMNS)
#define TEXT_COLUMNS SCREEN_ROW_COLUMNS
#define NOTE_COLUMN 45 /* column of the text at which a note begins, if there is room */
#define BAR_COLUMNS 16
#define BAR_TEXT_COLUMNS (TEXT_COLUMNS - BAR_COLUMNS - 2 - 7 - 3)
#define YEAR_AGO_S (300 * UINT64_C(86400))

const char *screen_seconds(uint64_t s, char *buf)
{
	if (s >= 86400)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%" PRIu64 "d%02" PRIu64 "h%02" PRIu64 "m", s / 86400,
			       s / 3600 % 24, s / 60 % 60);
	else if (s >= 3600)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%" PRIu64 "h%02" PRIu64 "m%02" PRIu64 "s", s / 3600,
			       s / 60 % 60, s % 60);
	else if (s >= 60)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
	else
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%" PRIu64 " s", s);
	return buf;
}

const char *screen_time(uint64_t ns, char *buf)
{
	if (ns >= 60 * NSEC_PER_SEC)
		return screen_seconds(ns / NSEC_PER_SEC, buf);
	return metric_text_value(UNIT_NS, ns, buf, SCREEN_TEXT_MAX);
}

/* Writes three digits: "9.99", "99.9", "999". */
static void put_number(double v, const char *unit, char *buf)
{
	(void)snprintf(buf, SCREEN_TEXT_MAX, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit);
}

const char *screen_wh(uint64_t uj, char *buf)
{
	double wh = (double)uj / UJ_PER_WH;

	if (!uj)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "<1 J"); /* Slurm stores whole joules */
	else if (wh < 0.9995)
		put_number(wh * 1e3, "mWh", buf);
	else if (wh < 999.5)
		put_number(wh, "Wh", buf);
	else if (wh < 999.5e3)
		put_number(wh / 1e3, "kWh", buf);
	else
		put_number(wh / 1e6, "MWh", buf);
	return buf;
}

const char *screen_watts(double w, char *buf)
{
	if (w < 9999.5)
		put_number(w, "W", buf);
	else
		put_number(w / 1e3, "kW", buf);
	return buf;
}

const char *screen_share(double share, char *buf)
{
	double percent = 100 * share;

	if (percent > 0 && percent < 1)
		(void)snprintf(buf, SCREEN_TEXT_MAX, "<1 %%");
	else if (percent > 99 && percent < 100)
		(void)snprintf(buf, SCREEN_TEXT_MAX, ">99 %%");
	else if (percent >= 999.5)
		(void)snprintf(buf, SCREEN_TEXT_MAX, ">999 %%");
	else
		(void)snprintf(buf, SCREEN_TEXT_MAX, "%.0f %%", percent);
	return buf;
}

const char *screen_date(uint64_t t, uint64_t now, char *buf)
{
	bool is_old = t + YEAR_AGO_S < now;
	time_t when = (time_t)t;
	struct tm tm;

	if (!t || !localtime_r(&when, &tm) ||
	    !strftime(buf, SCREEN_TEXT_MAX, is_old ? "%d %b %Y" : "%d %b %H:%M", &tm))
		(void)snprintf(buf, SCREEN_TEXT_MAX, "n/a");
	return buf;
}

void screen_put(const struct screen *s, enum screen_colour colour, const char *text)
{
	static const char *const code[] = {
		[SCREEN_PLAIN] = "0", [SCREEN_GOOD] = "32", [SCREEN_FAIR] = "33",
		[SCREEN_BAD] = "31",  [SCREEN_BOLD] = "1",
	};

	if (s->colour && colour != SCREEN_PLAIN)
		(void)fprintf(s->out, "\033[%sm%s\033[0m", code[colour], text);
	else
		fputs(text, s->out);
}

static void put_label(const struct screen *s, const char *label)
{
	(void)fprintf(s->out, "  %-*s", LABEL_COLUMNS, label);
}

static void screen_trim(char *text)
{
	size_t len = strlen(text);

	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
}

void screen_row(const struct screen *s, const char *label, const char *note, const char *fmt, ...)
{
	char text[1024];
	char cell[4 * TEXT_COLUMNS + 1];
	size_t used;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->row) {
		s->row(s->out,
		       &(const struct screen_row){ .label = label, .text = text, .note = note, .bar = -1 });
		return;
	}
	used = *note ? text_columns(note) + 2 : 0;
	(void)text_cell(text, TEXT_COLUMNS - used, cell, sizeof(cell));
	if (!*note)
		screen_trim(cell);
	put_label(s, label);
	fputs(cell, s->out);
	if (*note) {
		size_t at = text_columns(cell) + 2;

		if (at < NOTE_COLUMN && NOTE_COLUMN + used - 2 <= TEXT_COLUMNS)
			at = NOTE_COLUMN;
		(void)fprintf(s->out, "%*s%s", (int)(at - text_columns(cell)), "", note);
	}
	(void)fputc('\n', s->out);
}

void screen_bar(const struct screen *s, const char *label, double share, enum screen_colour colour,
		const char *fmt, ...)
{
	double full = share < 0 ? 0 : share > 1 ? 1 : share;
	size_t marks = (size_t)(full * BAR_COLUMNS + 0.5);
	char text[256], cell[4 * BAR_TEXT_COLUMNS + 1];
	char bar[BAR_COLUMNS + 1];
	char percent[SCREEN_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s->row) {
		s->row(s->out,
		       &(const struct screen_row){
			       .label = label, .text = text, .note = "", .bar = full, .colour = colour });
		return;
	}
	/* a value above 0 has at least one mark */
	marks = share > 0 && !marks ? 1 : marks;
	memset(bar, '#', marks);
	bar[marks] = '\0';
	put_label(s, label);
	(void)fputc('[', s->out);
	screen_put(s, colour, bar);
	(void)fprintf(s->out, "%*s] %5s   %s\n", (int)(BAR_COLUMNS - marks), "", screen_share(share, percent),
		      text_cell(text, BAR_TEXT_COLUMNS, cell, sizeof(cell)));
}
