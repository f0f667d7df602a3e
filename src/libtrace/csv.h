/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * csv.h - reads CSV (RFC 4180), unquoting fields in the caller's buffer. Lines may also end with
 * LF.
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
	size_t line, column; /* position of the last field, from 1 on */
	size_t inner_lines;  /* newlines inside fields of this record */
	bool is_line_end;    /* the next field starts a new record */
	bool is_broken;	     /* the last byte was a separator, so one empty field follows */
};

/* Starts reading TEXT, which has LEN bytes and a NUL. Reading changes TEXT. */
void csv_init(struct csv *c, const char *file, char *text, size_t len);

/*
 * Returns the next field, unquoted, in *RET, which points into TEXT. *RET_ENDS: it is the last
 * field of its record. 1: there is a field; 0: the text has ended; -EINVAL: ERR has
 * "FILE:LINE:COLUMN: REASON".
 */
int csv_next(struct csv *c, char **ret, bool *ret_ends, struct errmsg *err) _must_check_;

/* Sets ERR to REASON with the position of the last field, and returns -EINVAL. */
int csv_error(const struct csv *c, struct errmsg *err, const char *reason);

#endif
