/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfc3339.h - converts between seconds since the epoch and text such as "2026-11-22T10:15:00Z".
 */
#ifndef CEEMS_RFC3339_H
#define CEEMS_RFC3339_H

#include <stdint.h>

#include "src/libutil/must_check.h"

#define RFC3339_SIZE sizeof("9999-12-31T23:59:59Z")
/* 9999-12-31T23:59:59Z in seconds since the epoch; the last moment that SQL's DATETIME can hold. */
#define RFC3339_LAST_S UINT64_C(253402300799)

/*
 * Parses S into seconds since the epoch. The seconds in S may be missing: ISO 8601 allows that, and
 * some grid operators leave them out. A fraction is cut off. -EINVAL: another form, a date that does
 * not exist, a leap second, a time before 1970, or neither 'Z' nor an offset. An offset is required
 * because local time is ambiguous in one hour of the year.
 */
int rfc3339_parse(const char *s, uint64_t *ret_s) _must_check_;

/* Writes S in UTC, with 'Z'; a time after the year 9999 is written as the last second of 9999. */
void rfc3339_utc(uint64_t s, char buf[RFC3339_SIZE]);

#endif
