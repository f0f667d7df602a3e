/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * utf8.h - stores arbitrary bytes (job names, comments, paths) where JSON and SQL require UTF-8.
 * Text that is valid UTF-8 is stored as it is. In other text, each invalid byte becomes \xNN (lower
 * case) and each backslash is doubled. Whoever stores escaped text must mark it as escaped, because
 * a plain text may look the same.
 */
#ifndef CEEMS_UTF8_H
#define CEEMS_UTF8_H

#include <stddef.h>

#include "src/libutil/must_check.h"

/*
 * Length of the byte order mark at the begin of TEXT, which spreadsheets and editors of Windows write: 3;
 * or 0: there is none. TEXT is NUL-ended.
 */
size_t utf8_bom(const char *text);

/*
 * Length (1 to 4 bytes) of the well-formed UTF-8 sequence at P; 0: none begins there. LEFT, 1 or
 * more, is how many bytes are left. Overlong forms, surrogates and code points above U+10FFFF are
 * not well-formed (Unicode Standard, table 3-7).
 */
size_t utf8_sequence(const char *p, size_t left);

/*
 * Escapes S[0..LEN) if it is not valid UTF-8. *RET is NULL if S is valid. Else *RET is the escaped
 * text, NUL-ended, at most 4 * LEN long, and *RET_LEN its length; the caller frees *RET. Returns 0
 * or -ENOMEM.
 */
int utf8_escape(const char *s, size_t len, char **ret, size_t *ret_len) _must_check_;

/*
 * Reverses utf8_escape() in place. -EINVAL: S is not a result of utf8_escape(); its content is then
 * undefined.
 */
int utf8_unescape(char *s);

#endif
