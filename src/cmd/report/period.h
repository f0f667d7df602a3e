/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * period.h - months and weeks of the calendar, in local time. Weeks are those of ISO 8601: a week begins on
 * Monday, and the first week of a year is the one that contains 4 January.
 */
#ifndef CEEMS_CMD_PERIOD_H
#define CEEMS_CMD_PERIOD_H

#include <stdint.h>

#include "src/libutil/must_check.h"

enum period_kind { PERIOD_WEEK, PERIOD_MONTH };

struct period {
	enum period_kind kind;
	int year;
	int number;	   /* month, 1 to 12, or week, 1 to 53 */
	uint64_t from, to; /* Unix seconds; TO is the begin of the next period */
};

#define PERIOD_FORMS "this, last, 2026-11 (a month) or 2026-W48 (a week)"
#define PERIOD_DAYS_MAX 31

/* Gives the week or month in which the time NOW is. */
void period_of(enum period_kind kind, uint64_t now, struct period *ret);

/*
 * Parses "this", "last", "2026-11" (a month) or "2026-W48" (a week). "this" and "last" mean a
 * period of KIND. -EINVAL: another text.
 */
int period_parse(enum period_kind kind, const char *text, uint64_t now, struct period *ret) _must_check_;

/* Gives the month or week before P. RET may be P. */
void period_before(const struct period *p, struct period *ret);

/* Returns the begin of day I of P, counted from 0; P->to if P has no such day. */
uint64_t period_day(const struct period *p, unsigned int i);
unsigned int period_days(const struct period *p);
/* Returns the number of the day of P that contains time T, from 0. PERIOD_DAYS_MAX: T is not in P. */
unsigned int period_day_of(const struct period *p, uint64_t t);

#define PERIOD_TEXT_MAX 64
/* Writes "2026-11" or "2026-W48", which is also used in names of files. Returns BUF. */
const char *period_name(const struct period *p, char buf[PERIOD_TEXT_MAX]);
/* Writes "November 2026" or "Week 48 of 2026", in English in any locale. Returns BUF. */
const char *period_title(const struct period *p, char buf[PERIOD_TEXT_MAX]);

#endif
