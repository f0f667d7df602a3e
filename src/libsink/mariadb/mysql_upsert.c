/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/mariadb/mysql_upsert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/util.h"

#define ROWS_MAX 500
#define DIGITS_MAX 20 /* of a uint64_t */

/*
 * Writes TEXT as a literal. It is UTF-8, in which no byte of a longer character looks like a quote or a
 * backslash.
 */
static void upsert_put_text(FILE *f, const char *text, size_t len)
{
	const char *end = text + len;
	const char *from = text;

	(void)putc_unlocked('\'', f);
	for (; text < end; text++) {
		if (*text != '\'' && *text != '\\')
			continue;
		(void)fwrite(from, 1, (size_t)(text - from), f);
		(void)putc_unlocked(*text, f);
		from = text;
	}
	(void)fwrite(from, 1, (size_t)(end - from), f);
	(void)putc_unlocked('\'', f);
}

/* Not with fprintf(), which is much slower: a row has many numbers. */
static void upsert_put_number(FILE *f, uint64_t v)
{
	char digits[DIGITS_MAX];
	char *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	(void)fwrite(p, 1, (size_t)(digits + sizeof(digits) - p), f);
}

static void upsert_put_cell(FILE *f, enum sqlrow_type type, const struct sqlrow_cell *cell)
{
	bool is_negative = type == SQLROW_SIGNED && (int64_t)cell->v.number < 0;

	if (cell->is_null) {
		(void)fwrite("NULL", 1, 4, f);
	} else if (type == SQLROW_TEXT || type == SQLROW_JSON) {
		upsert_put_text(f, cell->v.text, cell->len);
	} else {
		if (is_negative)
			(void)putc_unlocked('-', f);
		upsert_put_number(f, is_negative ? -cell->v.number : cell->v.number);
	}
}

static void upsert_put_row(FILE *f, enum sqlrow_table t, const struct sqlrow_set *set,
			   const struct sqlrow_cell *cell)
{
	size_t n = sqlrow_ncols(t);
	char before = '(';
	size_t i;

	for (i = 0; i < n; i++) {
		if (!sqlrow_set_has(set, i))
			continue;
		(void)putc_unlocked(before, f);
		upsert_put_cell(f, sqlrow_type(t, i), cell + i);
		before = ',';
	}
	(void)putc_unlocked(')', f);
}

int mysql_upsert(enum sqlrow_table t, const struct sqlrow *rows, size_t first, uint64_t max, char **ret,
		 size_t *ret_len, size_t *ret_n, struct errmsg *err)
{
	size_t rest = rows->nrows - first < ROWS_MAX ? rows->nrows - first : ROWS_MAX;
	uint64_t row_bytes = 0;
	_cleanup_free_ char *sql = NULL;
	struct sqlrow_set set;
	size_t len;
	size_t n;
	FILE *f = open_memstream(&sql, &len);

	if (!f)
		return errmsg_set(err, -ENOMEM, "out of memory");
	sqlrow_used(rows, t, first, rest, &set);
	sqlrow_put_insert(f, t, &set);
	for (n = 0; n < rest; n++) {
		long at = ftell(f);

		if (n)
			(void)putc_unlocked(',', f);
		upsert_put_row(f, t, &set, rows->cell + (first + n) * sqlrow_ncols(t));
		row_bytes = (uint64_t)(ftell(f) - at);
		if ((uint64_t)at + row_bytes > max) {
			(void)fseek(f, at, SEEK_SET); /* the next statement begins with this row */
			break;
		}
	}
	sqlrow_put_update(f, t, SQLROW_MARIADB, &set);
	if (fclose(f))
		return errmsg_set(err, -ENOMEM, "out of memory");
	if (!n)
		return errmsg_set(err, -EINVAL,
				  "row of %" PRIu64 " bytes is over the server's max_allowed_packet",
				  row_bytes);
	*ret = sql;
	*ret_len = len;
	*ret_n = n;
	sql = NULL;
	return 0;
}
