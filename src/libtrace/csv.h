/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * csv.h - reads CSV (RFC 4180) in the caller's memory. Lines may also end with LF.
 */
#ifndef CEEMS_CSV_H
#define CEEMS_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libutil/errmsg.h"

struct csv {
	const char *file; /* for messages; borrowed */
	char *next, *end;
	char *line_begin;
	size_t line, column; /* of the last field, from 1 on */
	size_t inner_lines;   /* newlines inside fields of this record */
	bool is_line_end;     /* the next field begins a record */
	bool is_broken;	      /* the last byte was a separator, so one empty field follows */
};

/* TEXT has LEN bytes and then a NUL. Reading changes it. */
void csv_init(struct csv *c, const char *file, char *text, size_t len);

/*
 * Returns 1 with the next field, unquoted, in TEXT; *ret_ends: it is the last of its record. 0:
 * there is no more. -EINVAL: "FILE:LINE:COLUMN: REASON".
 */
int csv_next(struct csv *c, char **ret, bool *ret_ends, struct errmsg *err);

/* An error at the last field. */
int csv_error(const struct csv *c, struct errmsg *err, const char *reason);

#endif
