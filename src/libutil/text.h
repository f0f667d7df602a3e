/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - makes texts of users and servers safe for a terminal or a log: job names, mounts,
 * answers. A terminal obeys control characters, and bidi controls make a line read as what it is
 * not.
 */
#ifndef CEEMS_TEXT_H
#define CEEMS_TEXT_H

#include <stddef.h>

/*
 * Copies FROM into TO. Each control character (C0, DEL, C1), newline, line separator, invisible or
 * bidi format character, and each byte that is not UTF-8, becomes one '?'. Reads at most SIZE bytes
 * of FROM, so an array without its NUL will do, and cuts between characters. The result is never
 * longer than FROM: TO may be FROM. Returns TO.
 */
char *text_mask(const char *from, char *to, size_t size);

/* How many columns of a terminal the masked text S takes. */
size_t text_columns(const char *s);

/*
 * Copies FROM masked. A text wider than COLUMNS (1 or more) is cut, with '+' in the last column, as
 * sacct does. A SIZE of 4 * COLUMNS + 1 is enough. Returns TO.
 */
char *text_cell(const char *from, size_t columns, char *to, size_t size);

#endif
