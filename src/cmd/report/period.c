/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/report/period.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MONDAY 1
#define DAYS_OF_WEEK 7
#define NOON_S 43200

/* Returns the time of midnight at the begin of a day. mktime() knows that a day may have 23 or 25 hours. */
static uint64_t midnight(int year, int month, int day)
{
	struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_isdst = -1 };
	time_t t = mktime(&tm);

	return t < 0 ? 0 : (uint64_t)t;
}

static void set_month(struct period *p, int year, int month)
{
	*p = (struct period){ .kind = PERIOD_MONTH, .year = year, .number = month };
	p->from = midnight(year, month, 1);
	p->to = midnight(year, month + 1, 1);
}

/* Sets P to the week that contains time T. */
static void set_week(struct period *p, uint64_t t)
{
	time_t when = (time_t)t;
	char text[16];
	struct tm tm = { 0 };
	int monday;

	*p = (struct period){ .kind = PERIOD_WEEK };
	if (!localtime_r(&when, &tm))
		return;
	if (strftime(text, sizeof(text), "%G %V", &tm))
		(void)sscanf(text, "%d %d", &p->year, &p->number);
	monday = tm.tm_mday - (tm.tm_wday + DAYS_OF_WEEK - MONDAY) % DAYS_OF_WEEK;
	p->from = midnight(tm.tm_year + 1900, tm.tm_mon + 1, monday);
	p->to = midnight(tm.tm_year + 1900, tm.tm_mon + 1, monday + DAYS_OF_WEEK);
}

void period_of(enum period_kind kind, uint64_t now, struct period *ret)
{
	time_t when = (time_t)now;
	struct tm tm = { 0 };

	*ret = (struct period){ .kind = kind };
	if (kind == PERIOD_WEEK)
		set_week(ret, now);
	else if (localtime_r(&when, &tm))
		set_month(ret, tm.tm_year + 1900, tm.tm_mon + 1);
}

void period_before(const struct period *p, struct period *ret)
{
	const struct period of = *p; /* a copy, because RET may be P */

	if (of.kind == PERIOD_WEEK)
		set_week(ret, of.from - NOON_S);
	else
		set_month(ret, of.number > 1 ? of.year : of.year - 1, of.number > 1 ? of.number - 1 : 12);
}

static bool is_digits(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return true;
}

static int two_digits(const char *text)
{
	return 10 * (text[0] - '0') + text[1] - '0';
}

/* Parses a week such as "W48". Its begin is counted from the week with 4 January, which is week 1. */
static int parse_week(const char *text, int year, struct period *ret)
{
	struct period p;
	int week;

	if (*text != 'W' || strlen(text) != 3 || !is_digits(text + 1, 2))
		return -EINVAL;
	week = two_digits(text + 1);
	set_week(&p, midnight(year, 1, 4 + DAYS_OF_WEEK * (week - 1)));
	if (p.year != year || p.number != week)
		return -EINVAL;
	*ret = p;
	return 0;
}

int period_parse(enum period_kind kind, const char *text, uint64_t now, struct period *ret)
{
	int year, month;

	if (!strcmp(text, "this") || !strcmp(text, "last")) {
		period_of(kind, now, ret);
		if (!strcmp(text, "last"))
			period_before(ret, ret);
		return 0;
	}
	if (strlen(text) < 7 || !is_digits(text, 4) || text[4] != '-')
		return -EINVAL;
	year = 100 * two_digits(text) + two_digits(text + 2);
	if (year <= 1970)
		return -EINVAL;
	if (kind == PERIOD_WEEK)
		return parse_week(text + 5, year, ret);
	if (strlen(text) != 7 || !is_digits(text + 5, 2))
		return -EINVAL;
	month = two_digits(text + 5);
	if (month < 1 || month > 12)
		return -EINVAL;
	set_month(ret, year, month);
	return 0;
}

uint64_t period_day(const struct period *p, unsigned int i)
{
	time_t when = (time_t)p->from;
	struct tm tm = { 0 };
	uint64_t t = p->to;

	if (localtime_r(&when, &tm))
		t = midnight(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday + (int)i);
	return t < p->to ? t : p->to;
}

unsigned int period_days(const struct period *p)
{
	unsigned int n = 0;

	while (n < PERIOD_DAYS_MAX && period_day(p, n) < p->to)
		n++;
	return n;
}

unsigned int period_day_of(const struct period *p, uint64_t t)
{
	time_t first = (time_t)p->from;
	time_t when = (time_t)t;
	struct tm a = { 0 };
	struct tm b = { 0 };
	int day;

	if (t < p->from || t >= p->to || !localtime_r(&first, &a) || !localtime_r(&when, &b))
		return PERIOD_DAYS_MAX;
	if (p->kind == PERIOD_MONTH)
		return (unsigned int)b.tm_mday - 1;
	day = (b.tm_wday + DAYS_OF_WEEK - MONDAY) % DAYS_OF_WEEK;
	return (unsigned int)day;
}

const char *period_name(const struct period *p, char buf[PERIOD_TEXT_MAX])
{
	(void)snprintf(buf, PERIOD_TEXT_MAX, "%04d-%s%02d", p->year, p->kind == PERIOD_WEEK ? "W" : "",
		       p->number);
	return buf;
}

const char *period_title(const struct period *p, char buf[PERIOD_TEXT_MAX])
{
	static const char *const months[] = { "January",   "February", "March",	   "April",
					      "May",	   "June",     "July",	   "August",
					      "September", "October",  "November", "December" };

	if (p->kind == PERIOD_WEEK)
		(void)snprintf(buf, PERIOD_TEXT_MAX, "Week %d of %d", p->number, p->year);
	else
		(void)snprintf(buf, PERIOD_TEXT_MAX, "%s %d", months[(p->number + 11) % 12], p->year);
	return buf;
}
