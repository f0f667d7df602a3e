/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libtrace/trace_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/libtrace/csv.h"
#include "src/libutil/clock.h"
#include "src/libutil/parse.h"
#include "src/libutil/rfc3339.h"

/* Larger than any 64-bit counter. Bounds the values, so that their sums stay finite. */
#define VALUE_MAX 2e19
/* In the year 2116. Two such times plus an interval fit into 64 bits. */
#define TIME_MAX_NS (UINT64_MAX / 4)

/* The first columns, in this order; the numbers are behind them. The oldest traces lack the last one. */
static const char *const heads[] = { TRACE_COLUMN_NODE,	 TRACE_COLUMN_TIME,    TRACE_COLUMN_MONO,
				     TRACE_COLUMN_EVENT, TRACE_COLUMN_DROPPED, TRACE_COLUMN_MISSED };
enum head { HEAD_NODE, HEAD_TIME, HEAD_MONO, HEAD_EVENT, HEAD_DROPPED, HEAD_MISSED, HEAD_N };

struct reader_row {
	uint64_t wall_ns, mono_ns;
};

struct table_reader {
	struct csv csv;
	struct trace_table *t;
	size_t nheads; /* HEAD_N, or one less */
	size_t room;   /* rows that there is memory for */
	struct reader_row first, now;
	struct errmsg *err;
};

/* --- columns ------------------------------------------------------------------------------ */

static void find_kind(struct trace_column *c)
{
	char name[TRACE_COLUMN_MAX];
	unsigned int m;

	c->kind = TRACE_LEVEL; /* for a column that this version does not know */
	c->metric = METRIC_N;
	metric_foreach(m) {
		trace_row_column((enum metric)m, name);
		if (!strcmp(name, c->name)) {
			c->kind = metric_table[m].fold == FOLD_SUM ? TRACE_SUM : TRACE_PEAK;
			c->metric = (enum metric)m;
			return;
		}
		trace_row_rate((enum metric)m, name);
		if (*name && !strcmp(name, c->name)) {
			c->kind = TRACE_RATE;
			c->metric = (enum metric)m;
			return;
		}
	}
}

int trace_table_find(const struct trace_table *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->ncolumns; i++)
		if (!strcmp(t->column[i].name, name))
			return (int)i;
	return -1;
}

static bool is_name(const char *text)
{
	return *text && strlen(text) < TRACE_COLUMN_MAX &&
	       !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

static int add_column(struct table_reader *r, const char *name)
{
	struct trace_table *t = r->t;
	struct trace_column *more;

	if (!is_name(name))
		return csv_error(&r->csv, r->err, "not the name of a column");
	if (trace_table_find(t, name) >= 0)
		return csv_error(&r->csv, r->err, "an earlier column has the same name");
	more = realloc(t->column, (t->ncolumns + 1) * sizeof(*more));
	if (!more)
		return errmsg_errno(r->err, -ENOMEM, "%s", r->csv.file);
	t->column = more;
	more += t->ncolumns++;
	(void)snprintf(more->name, sizeof(more->name), "%s", name);
	find_kind(more);
	return 0;
}

static int read_header(struct table_reader *r)
{
	bool ends = false;
	char *field;
	size_t i;
	int rc;

	for (i = 0; !ends; i++) {
		rc = csv_next(&r->csv, &field, &ends, r->err);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return csv_error(&r->csv, r->err, "the file is empty");
		if (i == HEAD_MISSED && strcmp(field, heads[i]) != 0)
			r->nheads = HEAD_MISSED;
		if (i < r->nheads && strcmp(field, heads[i]) != 0)
			return csv_error(&r->csv, r->err, "not a trace: another column is expected here");
		rc = i < r->nheads ? 0 : add_column(r, field);
		if (rc < 0)
			return rc;
	}
	return i > r->nheads ? 0 : csv_error(&r->csv, r->err, "not a trace: it has no values");
}

/* --- rows --------------------------------------------------------------------------------- */

/* Parses a time such as "2026-11-25T10:00:00.123456Z". */
static int parse_time(const char *text, uint64_t *ret_ns)
{
	const char *dot = strchr(text, '.');
	uint64_t s, micro = 0;
	char digits[7] = "";
	int rc = rfc3339_parse(text, &s);

	if (rc == 0 && dot) {
		if (strspn(dot + 1, "0123456789") != 6)
			return -EINVAL;
		memcpy(digits, dot + 1, 6);
		rc = parse_u64(digits, &micro);
	}
	if (rc == 0 && s >= TIME_MAX_NS / NSEC_PER_SEC)
		rc = -ERANGE;
	if (rc == 0)
		*ret_ns = s * NSEC_PER_SEC + micro * 1000;
	return rc;
}

static int parse_value(const char *text, double *ret)
{
	char *end;

	*ret = NAN;
	if (!*text)
		return 0;
	if (text[strspn(text, "0123456789.eE+-")] != '\0')
		return -EINVAL;
	*ret = strtod(text, &end);
	return *end || !(fabs(*ret) < VALUE_MAX) ? -EINVAL : 0;
}

static int take_head(struct table_reader *r, enum head head, const char *field)
{
	struct trace_table *t = r->t;
	const char *why = "not the number of samples";
	int rc = 0;

	switch (head) {
	case HEAD_NODE:
		if (t->nrows && strcmp(t->node, field) != 0)
			return csv_error(&r->csv, r->err, "another node: a trace file is of one node");
		if (strlen(field) >= sizeof(t->node))
			return csv_error(&r->csv, r->err, "the name of a node is too long");
		(void)snprintf(t->node, sizeof(t->node), "%s", field);
		break;
	case HEAD_TIME:
		rc = parse_time(field, &r->now.wall_ns);
		why = "not a time in UTC";
		break;
	case HEAD_MONO:
		rc = parse_decimal(field, NSEC_PER_SEC, &r->now.mono_ns);
		if (rc == 0 && r->now.mono_ns >= TIME_MAX_NS)
			rc = -ERANGE;
		why = "not a time in seconds";
		if (rc == 0 && t->nrows && r->now.mono_ns < r->first.mono_ns) {
			rc = -EINVAL;
			why = "a time before the first row's";
		}
		break;
	case HEAD_EVENT:
		t->is_whole = !strcmp(field, TRACE_EVENT_END);
		break;
	default:
		rc = parse_u64(field, head == HEAD_DROPPED ? &t->dropped : &t->missed);
	}
	return rc < 0 ? csv_error(&r->csv, r->err, why) : 0;
}

/* Grows the arrays, doubling them, if they are full. */
static int make_room(struct table_reader *r)
{
	struct trace_table *t = r->t;
	size_t room = r->room ? 2 * r->room : 64;
	uint64_t *times;
	double *values;

	if (t->nrows < r->room)
		return 0;
	times = reallocarray(t->t_ns, room, sizeof(*times));
	if (times)
		t->t_ns = times;
	values = times ? reallocarray(t->value, room, t->ncolumns * sizeof(*values)) : NULL;
	if (!values)
		return errmsg_errno(r->err, -ENOMEM, "%s", r->csv.file);
	t->value = values;
	r->room = room;
	return 0;
}

static int take_field(struct table_reader *r, size_t i, const char *field)
{
	struct trace_table *t = r->t;

	if (i < r->nheads)
		return take_head(r, (enum head)i, field);
	if (i - r->nheads >= t->ncolumns)
		return csv_error(&r->csv, r->err, "more fields than columns");
	if (parse_value(field, &t->value[t->nrows * t->ncolumns + i - r->nheads]) < 0)
		return csv_error(&r->csv, r->err, "not a number");
	return 0;
}

/* Reads one row. 1: there was one; 0: the file has ended. */
static int read_row(struct table_reader *r)
{
	struct trace_table *t = r->t;
	bool ends = false;
	char *field;
	size_t i;
	int rc = make_room(r);

	for (i = 0; rc == 0 && !ends; i++) {
		rc = csv_next(&r->csv, &field, &ends, r->err);
		if (rc == 0 && i == 0)
			return 0;
		if (rc <= 0)
			return rc < 0 ? rc : csv_error(&r->csv, r->err, "fewer fields than columns");
		rc = take_field(r, i, field);
	}
	if (rc < 0)
		return rc;
	if (i != r->nheads + t->ncolumns)
		return csv_error(&r->csv, r->err, "fewer fields than columns");
	if (!t->nrows)
		r->first = r->now;
	t->t_ns[t->nrows] = r->first.wall_ns + (r->now.mono_ns - r->first.mono_ns);
	if (t->nrows && t->t_ns[t->nrows] < t->t_ns[t->nrows - 1])
		return csv_error(&r->csv, r->err, "a time before that of the row above");
	t->nrows++;
	return 1;
}

int trace_table_parse(const char *file, char *text, size_t len, struct trace_table *ret, struct errmsg *err)
{
	struct trace_table t = { 0 };
	struct table_reader r = { .t = &t, .nheads = HEAD_N, .err = err };
	int rc;

	while (len && text[len - 1] != '\n')
		len--;
	text[len] = '\0';
	csv_init(&r.csv, file, text, len);
	rc = read_header(&r);
	if (rc == 0)
		do
			rc = read_row(&r);
		while (rc > 0);
	if (rc == 0 && !t.nrows)
		rc = csv_error(&r.csv, err, "the trace has no rows yet");
	if (rc < 0) {
		trace_table_fini(&t);
		return rc;
	}
	*ret = t;
	return 0;
}

void trace_table_fini(struct trace_table *t)
{
	free(t->column);
	free(t->t_ns);
	free(t->value);
	*t = (struct trace_table){ 0 };
}
