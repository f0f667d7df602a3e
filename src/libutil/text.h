/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - makes text from users and servers (job names, paths, answers) safe for a terminal or a
 * log. Control characters could command the terminal; bidi controls can make a line read as other
 * than it is.
 */
#ifndef CEEMS_TEXT_H
#define CEEMS_TEXT_H

#include <stddef.h>

/*
 * Copies FROM to TO, of SIZE bytes, and replaces unsafe characters by '?'. Unsafe are: control
 * characters (C0, DEL, C1, newline), line separators, invisible and bidi format characters, and
 * each byte that is not UTF-8. Reads at most SIZE bytes, so FROM may be an array without NUL. The
 * result is never longer than FROM, so TO may be FROM. Returns TO.
 */
char *text_mask(const char *from, char *to, size_t size);

/* Replaces the control characters C0 and DEL in TEXT by '?', for lines between programs of CEEMS. */
void text_mask_controls(char *text);

/* Returns how many terminal columns the masked text S takes. */
size_t text_columns(const char *s);

/*
 * Masks FROM and cuts it to COLUMNS (1 or more); a cut text ends in '+', as in sacct. A SIZE of 4 *
 * COLUMNS + 1 is enough for text without combining marks. Returns TO.
 */
char *text_cell(const char *from, size_t columns, char *to, size_t size);

/*
 * Writes TEXT as a value of CSV (RFC 4180), in quotes if it needs them, cut to SIZE. The size that is always
 * enough is TEXT_CSV_SIZE(length of TEXT). Returns TO. A spreadsheet would take text that begins with one of
 * = + - @ as a formula, which may run commands or send cells away, so such text, unless it is a number, is
 * quoted and begins with a '.
 */
#define TEXT_CSV_SIZE(len) (2 * (len) + 4)
char *text_csv(const char *text, char *to, size_t size);

#endif
