/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse.h - parsers that require the whole string to match. Unless said otherwise each returns 0,
 * -EINVAL (another form, or trailing bytes) or -ERANGE (too large), and writes *ret on success
 * only.
 */
#ifndef CEEMS_PARSE_H
#define CEEMS_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/must_check.h"

int parse_u64(const char *s, uint64_t *ret) _must_check_;

/* Parses the first LEN bytes of S, for kernel files: one newline at the end is allowed. */
int parse_u64_n(const char *s, size_t len, uint64_t *ret) _must_check_;

/*
 * Finds the line of TEXT that begins with KEY ("usage_usec ") and returns what follows KEY. NULL:
 * no line does.
 */
const char *parse_find_line(const char *text, const char *key);

/* Takes C off *P. False: *P begins with another character. */
bool parse_char(const char **p, char c);

/* Parses "0x2a", the form of sysfs and of arm64's /proc/cpuinfo. */
int parse_hex(const char *s, uint64_t *ret) _must_check_;

/*
 * Reads the next item, "4" or "0-3", of a list such as "0-3,8", and moves *LIST behind it. Returns
 * 1; 0 at the end of the list (NUL or newline); -EINVAL.
 */
int parse_next_range(const char **list, uint64_t *ret_from, uint64_t *ret_to) _must_check_;

/* Parses yes, no, true, false, 1 or 0, in any case, as slurm.conf does. */
int parse_bool(const char *s, bool *ret) _must_check_;

/* Parses "250ms", "1s", "5m", "2h" or "1d"; a bare number is seconds. */
int parse_duration_ns(const char *s, uint64_t *ret_ns) _must_check_;

/* Parses "64K", "10M", "2G" or "1T", in powers of 1024; a bare number is bytes. */
int parse_size_bytes(const char *s, uint64_t *ret_bytes) _must_check_;

/*
 * Parses a decimal such as "1.35" as a multiple of 1/SCALE: parse_decimal("1.35", 1000) gives 1350.
 * SCALE is a power of ten; further digits are rounded half up.
 */
int parse_decimal(const char *s, uint64_t scale, uint64_t *ret) _must_check_;

#endif
