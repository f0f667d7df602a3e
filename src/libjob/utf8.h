/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * utf8.h - job names, comments and paths are bytes; JSON and SQL want UTF-8.
 */
#ifndef CEEMS_UTF8_H
#define CEEMS_UTF8_H

#include <stddef.h>

/*
 * A copy of S[0..LEN) with every ill-formed run replaced by U+FFFD, malloc'ed and NUL-ended; at
 * most three times as long. One U+FFFD stands for a "maximal subpart" (Unicode Standard 3.9,
 * table 3-8): the longest start of a well-formed sequence, else a single byte. NULL: no memory.
 */
char *utf8_clean(const char *s, size_t len, size_t *ret_len);

#endif
