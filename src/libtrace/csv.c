/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libtrace/csv.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/utf8.h"

void csv_init(struct csv *c, const char *file, char *text, size_t len)
{
	char *begin = text + utf8_bom(text);

	*c = (struct csv){
		.file = file, .next = begin, .end = text + len, .line_begin = begin, .line = 1, .column = 1
	};
}

int csv_error(const struct csv *c, struct errmsg *err, const char *reason)
{
	return errmsg_set(err, -EINVAL, "%s:%zu:%zu: %s", c->file, c->line, c->column, reason);
}

static int csv_error_at(struct csv *c, const char *at, struct errmsg *err, const char *reason)
{
	c->column = (size_t)(at - c->line_begin) + 1;
	return csv_error(c, err, reason);
}

/* Ends the field at AT, which must be a separator, the end of a line or the end of the text. */
static int csv_end_field(struct csv *c, char *at, bool *ret_ends, struct errmsg *err)
{
	const bool is_separator = at < c->end && *at == ',';
	const bool is_crlf = at + 1 < c->end && at[0] == '\r' && at[1] == '\n';

	*ret_ends = c->is_line_end = !is_separator;
	c->is_broken = is_separator && at + 1 == c->end;
	if (at >= c->end) {
		c->next = at;
		return 1;
	}
	if (!is_separator && !is_crlf && *at != '\n')
		return csv_error_at(c, at, err, *at ? "a quote or CR within a field" : "a NUL byte");
	c->next = at + 1 + is_crlf;
	*at = '\0';
	return 1;
}

/* Reads a quoted field from its quote on; a doubled quote inside stands for one. */
static int csv_quoted(struct csv *c, char *begin, char **ret, bool *ret_ends, struct errmsg *err)
{
	char *to = begin, *from;
	int rc;

	for (from = begin + 1;; from++) {
		if (from >= c->end)
			return csv_error_at(c, begin, err, "a quote that does not end");
		if (!*from)
			return csv_error_at(c, from, err, "a NUL byte");
		if (*from == '"' && from[1] != '"')
			break;
		from += *from == '"';
		c->inner_lines += *from == '\n';
		*to++ = *from;
	}
	rc = csv_end_field(c, from + 1, ret_ends, err);
	*to = '\0';
	*ret = begin;
	return rc;
}

int csv_next(struct csv *c, char **ret, bool *ret_ends, struct errmsg *err)
{
	char *begin = c->next, *at;

	if (c->is_line_end) {
		c->line_begin = begin;
		c->line += 1 + c->inner_lines;
		c->column = 1;
		c->inner_lines = 0;
		c->is_line_end = false;
	}
	if (begin >= c->end && !c->is_broken)
		return 0;
	c->column = (size_t)(begin - c->line_begin) + 1;
	if (begin < c->end && *begin == '"')
		return csv_quoted(c, begin, ret, ret_ends, err);
	for (at = begin; at < c->end && *at && !strchr(",\"\r\n", *at); at++)
		;
	*ret = begin;
	return csv_end_field(c, at, ret_ends, err);
}
