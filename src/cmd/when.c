/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "src/libutil/parse.h"
#include "src/libutil/util.h"

#define DAY_S 86400

static const struct {
	const char *name;
	int day, hour; /* counted from midnight at the begin of today */
} words[] = {
	{ "today", 0, 0 },    { "midnight", 0, 0 }, { "noon", 0, 12 },	    { "fika", 0, 15 },
	{ "teatime", 0, 16 }, { "tomorrow", 1, 0 }, { "yesterday", -1, 0 },
};

/* The units of an offset. As in Slurm, the first letters of a name are enough, such as "d" or "day". */
static const struct {
	const char *name;
	uint64_t s;
} units[] = {
	{ "seconds", 1 }, { "minutes", 60 }, { "hours", 3600 }, { "days", DAY_S }, { "weeks", 7 * DAY_S },
};

/* Parses a number of MIN to MAX digits and moves *P behind it. */
static bool take_number(const char **p, size_t min, size_t max, int *ret)
{
	size_t n = 0;
	int v = 0;

	while (n < max && isdigit((unsigned char)(*p)[n]))
		v = 10 * v + ((*p)[n++] - '0');
	if (n < min)
		return false;
	*p += n;
	*ret = v;
	return true;
}

/* Parses "HH:MM[:SS]", which must end the text. */
static bool take_clock(const char *p, struct tm *tm)
{
	tm->tm_sec = 0;
	if (!take_number(&p, 1, 2, &tm->tm_hour) || !parse_char(&p, ':') ||
	    !take_number(&p, 2, 2, &tm->tm_min))
		return false;
	if (parse_char(&p, ':') && !take_number(&p, 2, 2, &tm->tm_sec))
		return false;
	return !*p && tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

/* Parses "YYYY-MM-DD" or "MM/DD[/YY]", and a time of day, if one follows. */
static bool take_date(const char *p, struct tm *tm)
{
	const char *start = p;
	char sign = 'T';
	int year;

	tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
	if (take_number(&p, 4, 4, &year) && parse_char(&p, '-')) {
		if (!take_number(&p, 2, 2, &tm->tm_mon) || !parse_char(&p, '-') ||
		    !take_number(&p, 2, 2, &tm->tm_mday))
			return false;
		tm->tm_year = year - 1900;
	} else {
		p = start;
		sign = '-';
		if (!take_number(&p, 1, 2, &tm->tm_mon) || !parse_char(&p, '/') ||
		    !take_number(&p, 1, 2, &tm->tm_mday))
			return false;
		if (parse_char(&p, '/')) {
			if (!take_number(&p, 2, 2, &year))
				return false;
			tm->tm_year = year + 100;
		}
	}
	tm->tm_mon--;
	return !*p || (parse_char(&p, sign) && take_clock(p, tm));
}

/*
 * Converts a local time to Unix seconds. -EINVAL: the day does not exist; mktime() would
 * make 31 February 3 March.
 */
static int seconds_of(const struct tm *want, uint64_t *ret)
{
	struct tm tm = *want;
	time_t t;

	tm.tm_isdst = -1;
	t = mktime(&tm);
	if (t < 0 || tm.tm_mon != want->tm_mon || tm.tm_mday != want->tm_mday)
		return -EINVAL;
	*ret = (uint64_t)t;
	return 0;
}

/* Adds the offset at P to T. P is "", "+N" or an offset with a unit, such as "-7days". */
static int add_offset(const char *p, uint64_t t, uint64_t *ret)
{
	bool minus = *p == '-';
	uint64_t n = 0;
	uint64_t unit = 1;
	char digits[16];
	size_t len, i;

	if (!*p) {
		*ret = t;
		return 0;
	}
	if (!parse_char(&p, minus ? '-' : '+'))
		return -EINVAL;
	len = strspn(p, "0123456789");
	if (!len || len >= 10)
		return -EINVAL;
	memcpy(digits, p, len);
	digits[len] = '\0';
	p += len;
	if (parse_u64(digits, &n) < 0)
		return -EINVAL;
	for (i = 0; *p && i < ARRAY_SIZE(units); i++)
		if (strlen(p) <= strlen(units[i].name) && !strncasecmp(units[i].name, p, strlen(p)))
			break;
	if (i == ARRAY_SIZE(units))
		return -EINVAL;
	unit = *p ? units[i].s : 1;
	n *= unit;
	if (minus && n > t)
		return -EINVAL;
	*ret = minus ? t - n : t + n;
	return 0;
}

/* Returns true if TEXT begins with WORD; *RET is what follows, such as an offset. */
static bool is_word(const char *text, const char *word, const char **ret)
{
	size_t len = strlen(word);

	if (strncasecmp(text, word, len) != 0 || (text[len] && text[len] != '+' && text[len] != '-'))
		return false;
	*ret = text + len;
	return true;
}

int when_parse(const char *text, uint64_t now, uint64_t *ret)
{
	time_t t = (time_t)now;
	const char *rest;
	struct tm today, tm;
	uint64_t s;
	size_t i;

	if (is_word(text, "now", &rest))
		return add_offset(rest, now, ret);
	if (!strncasecmp(text, "uts", 3))
		return parse_u64(text + 3, ret) < 0 ? -EINVAL : 0;
	if (!localtime_r(&t, &today))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (!is_word(text, words[i].name, &rest))
			continue;
		tm = today;
		tm.tm_mday += words[i].day;
		tm.tm_hour = words[i].hour;
		tm.tm_min = tm.tm_sec = 0;
		tm.tm_isdst = -1;
		t = mktime(&tm);
		return t < 0 ? -EINVAL : add_offset(rest, (uint64_t)t, ret);
	}
	tm = today;
	if (!take_clock(text, &tm)) {
		tm = today;
		if (!take_date(text, &tm))
			return -EINVAL;
	}
	if (seconds_of(&tm, &s) < 0)
		return -EINVAL;
	*ret = s;
	return 0;
}
