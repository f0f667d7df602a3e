/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/parse.h"
#include "src/libutil/rfc3339.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define DAY_S 86400

/* Parses exactly COUNT digits. */
static bool take_number(const char **p, unsigned int count, int *ret)
{
	int v = 0;

	for (; count; count--, (*p)++) {
		if (!isdigit((unsigned char)**p))
			return false;
		v = v * 10 + (**p - '0');
	}
	*ret = v;
	return true;
}

/* Parses ":SS[.fraction]"; all of it may be missing. */
static bool take_seconds(const char **p, int *ret)
{
	*ret = 0;
	if (!parse_char(p, ':'))
		return true;
	if (!take_number(p, 2, ret))
		return false;
	if (!parse_char(p, '.'))
		return true;
	if (!isdigit((unsigned char)**p))
		return false;
	while (isdigit((unsigned char)**p))
		(*p)++;
	return true;
}

/* Parses the offset from UTC, in seconds east. */
static bool take_offset(const char **p, int *ret)
{
	bool is_west = **p == '-';
	int hour, minute;

	*ret = 0;
	if (parse_char(p, 'Z'))
		return true;
	if (!is_west && **p != '+')
		return false;
	(*p)++;
	if (!take_number(p, 2, &hour) || !parse_char(p, ':') || !take_number(p, 2, &minute) || hour > 23 ||
	    minute > 59)
		return false;
	*ret = (hour * 60 + minute) * (is_west ? -60 : 60);
	return true;
}

static int month_days(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && is_leap);
}

static int64_t days_before(int year)
{
	int64_t y = year - 1;

	return y * 365 + y / 4 - y / 100 + y / 400;
}

int rfc3339_parse(const char *s, uint64_t *ret_s)
{
	int year, month, day, hour, minute, second, offset, m;
	int64_t t;

	if (!take_number(&s, 4, &year) || !parse_char(&s, '-') || !take_number(&s, 2, &month) ||
	    !parse_char(&s, '-') || !take_number(&s, 2, &day) || !parse_char(&s, 'T') ||
	    !take_number(&s, 2, &hour) || !parse_char(&s, ':') || !take_number(&s, 2, &minute) ||
	    !take_seconds(&s, &second) || !take_offset(&s, &offset) || *s)
		return -EINVAL;
	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > month_days(year, month) || hour > 23 ||
	    minute > 59 || second > 59)
		return -EINVAL;
	t = days_before(year) - days_before(1970) + day - 1;
	for (m = 1; m < month; m++)
		t += month_days(year, m);
	t = t * DAY_S + hour * 3600 + minute * 60 + second - offset;
	if (t < 0)
		return -EINVAL;
	*ret_s = (uint64_t)t;
	return 0;
}

void rfc3339_utc(uint64_t s, char buf[RFC3339_SIZE])
{
	time_t t = (time_t)(s < RFC3339_LAST_S ? s : RFC3339_LAST_S);
	struct tm tm;

	(void)gmtime_r(&t, &tm);
	(void)strftime(buf, RFC3339_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
