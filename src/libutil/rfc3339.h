/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rfc3339.h - points in time as text: "2026-11-22T10:15:00Z".
 */
#ifndef CEEMS_RFC3339_H
#define CEEMS_RFC3339_H

#include <stdint.h>

#define RFC3339_SIZE sizeof("9999-12-31T23:59:59Z")
/* The same moment in seconds since the epoch; also the last one that SQL's DATETIME can hold. */
#define RFC3339_LAST_S UINT64_C(253402300799)

/*
 * Seconds since the epoch. Seconds may be missing: ISO 8601 allows that, and some grids do that. A
 * fraction is cut off. -EINVAL: any other form, a day that no calendar has, or neither 'Z' nor an
 * offset. A local time without an offset is ambiguous in one night of the year.
 */
int rfc3339_parse(const char *s, uint64_t *ret_s);

/* In UTC, with 'Z'; what is after the year 9999 is written as its end. */
void rfc3339_utc(uint64_t s, char buf[RFC3339_SIZE]);

#endif
