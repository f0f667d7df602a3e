/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * utf8.h - job names, comments and paths are bytes; JSON and SQL want UTF-8. A text that is UTF-8
 * is stored as it is. In any other text, each byte outside a well-formed sequence becomes \xNN
 * (lower case), and each backslash is doubled. Who stores such a text must mark it as escaped,
 * since a plain text may look the same.
 */
#ifndef CEEMS_UTF8_H
#define CEEMS_UTF8_H

#include <stddef.h>

/*
 * Length of the well-formed sequence at P, of 1 to 4 bytes; 0: there is none. LEFT is at least 1. Well-formed is what
 * the Unicode Standard's table 3-7 has: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
size_t utf8_sequence(const char *p, size_t left);

/*
 * *RET is NULL if S[0..LEN) is UTF-8 already. Else *RET is the escaped form: malloc'ed, NUL-ended,
 * at most four times as long, and *RET_LEN is its length. Returns 0 or -ENOMEM.
 */
int utf8_escape(const char *s, size_t len, char **ret, size_t *ret_len);

/* In place. -EINVAL: S is no result of utf8_escape(), and spoilt now. */
int utf8_unescape(char *s);

#endif
