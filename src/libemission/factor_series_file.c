/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libemission/factor_series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/fileio.h"
#include "src/libutil/parse.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/trust.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

#define FIELDS 8

/* --- reading ----------------------------------------------------------------------------- */

/* A point with its line in the file. */
struct numbered {
	struct factor_point point;
	unsigned int line;
};

struct reader {
	const char *name;
	void (*on_error)(void *ctx, const char *text); /* NULL: a wrong line ends the reading */
	void *ctx;
	struct numbered *row; /* owned */
	size_t n, room;
};

static void reader_fini(struct reader *r)
{
	free(r->row);
}

static int copy_text(const char *from, char *to, size_t size)
{
	int n = snprintf(to, size, "%s", from);

	return n < 0 || (size_t)n >= size ? -EINVAL : 0;
}

/* Parses a time in UTC without fraction, so that a time has only one spelling. */
static int take_time(const char *text, uint64_t *ret_s)
{
	char again[RFC3339_SIZE];
	uint64_t t;

	if (rfc3339_parse(text, &t) < 0)
		return -EINVAL;
	rfc3339_utc(t, again);
	if (strcmp(again, text))
		return -EINVAL;
	*ret_s = t;
	return 0;
}

/* Parses LINE, splitting it at its commas. Returns NULL, or what is wrong. */
static const char *parse_point(char *line, struct factor_point *ret)
{
	struct emission_factor *f = &ret->factor;
	char *field[FIELDS] = { line };
	size_t i;

	*ret = (struct factor_point){ 0 };
	for (i = 1; i < FIELDS; i++) {
		field[i] = strchr(field[i - 1], ',');
		if (!field[i])
			return "fewer than 8 fields";
		*field[i]++ = '\0';
	}
	if (take_time(field[0], &ret->from_s) < 0)
		return "from is not a time in UTC such as 2026-11-22T10:00:00Z";
	if (take_time(field[1], &ret->until_s) < 0)
		return "until is not a time in UTC such as 2026-11-22T10:00:00Z";
	if (parse_decimal(field[2], 1000, &f->mg_per_kwh) < 0)
		return "not a factor in gCO2e/kWh";
	if (emission_kind_of(field[3], &f->kind) < 0)
		return "not average or marginal";
	if (emission_scope_of(field[4], &f->scope) < 0)
		return "not life-cycle or direct";
	if (copy_text(field[5], f->region, sizeof(f->region)) < 0)
		return "not a region";
	if (take_time(field[6], &ret->fetched_s) < 0)
		return "fetched is not a time in UTC such as 2026-11-22T10:00:00Z";
	if (copy_text(field[7], f->source, sizeof(f->source)) < 0)
		return "not a source";
	return factor_point_flaw(ret);
}

static int add_row(struct reader *r, const struct factor_point *p, unsigned int line)
{
	if (r->n == r->room) {
		size_t room = r->room ? 2 * r->room : 64;
		struct numbered *row = reallocarray(r->row, room, sizeof(*row));

		if (!row)
			return -ENOMEM;
		r->row = row;
		r->room = room;
	}
	r->row[r->n++] = (struct numbered){ *p, line };
	return 0;
}

static int read_lines(struct reader *r, char *text, struct errmsg *err)
{
	unsigned int line = 0;
	char *next;

	for (; *text; text = next) {
		struct factor_point p;
		const char *flaw;

		next = text + strcspn(text, "\n");
		if (*next)
			*next++ = '\0';
		text[strcspn(text, "\r")] = '\0';
		if (++line == 1) {
			if (strcmp(text, FACTOR_SERIES_HEAD))
				return errmsg_set(err, -EINVAL, "%s:1: not '%s'", r->name,
						  FACTOR_SERIES_HEAD);
			continue;
		}
		if (!*text || *text == '#')
			continue;
		flaw = parse_point(text, &p);
		if (flaw) {
			struct errmsg why = { 0 };

			(void)errmsg_set(&why, -EINVAL, "%s:%u: %s", r->name, line, flaw);
			if (!r->on_error)
				return errmsg_set(err, -EINVAL, "%s", why.text);
			r->on_error(r->ctx, why.text);
			continue;
		}
		if (add_row(r, &p, line) < 0)
			return errmsg_errno(err, -ENOMEM, "%s", r->name);
	}
	return line ? 0 : errmsg_set(err, -EINVAL, "%s: empty", r->name);
}

static int by_point(const void *a, const void *b)
{
	const struct numbered *x = a;
	const struct numbered *y = b;

	return factor_point_compare(&x->point, &y->point);
}

/* Checks that points of one region and kind do not overlap; the rows are sorted by time. */
static int check_overlaps(const struct reader *r, struct errmsg *err)
{
	size_t i;

	for (i = 1; i < r->n; i++) {
		const struct numbered *a = &r->row[i - 1];
		const struct numbered *b = &r->row[i];
		struct factor_point at_a = b->point;

		at_a.from_s = a->point.from_s;
		if (!factor_point_compare(&a->point, &at_a) && a->point.until_s > b->point.from_s)
			return errmsg_set(err, -EINVAL, "%s:%u: overlaps line %u", r->name,
					  a->line > b->line ? a->line : b->line,
					  a->line > b->line ? b->line : a->line);
	}
	return 0;
}

static int take_rows(const struct reader *r, struct factor_series *ret, struct errmsg *err)
{
	struct factor_point *p = calloc(r->n ? r->n : 1, sizeof(*p));
	size_t i;

	if (!p)
		return errmsg_errno(err, -ENOMEM, "%s", r->name);
	for (i = 0; i < r->n; i++)
		p[i] = r->row[i].point;
	*ret = (struct factor_series){ p, r->n };
	return 0;
}

/* Parses TEXT, which is cut into its fields. */
static int parse_text(const struct reader *how, char *text, size_t len, struct factor_series *ret,
		      struct errmsg *err)
{
	_cleanup_(reader_fini) struct reader r = *how;
	int rc;

	if (strlen(text) != len)
		return errmsg_set(err, -EINVAL, "%s: not a text file", r.name);
	rc = read_lines(&r, text + utf8_bom(text), err);
	if (rc == 0 && r.n)
		qsort(r.row, r.n, sizeof(*r.row), by_point);
	if (rc == 0 && !r.on_error)
		rc = check_overlaps(&r, err);
	return rc < 0 ? rc : take_rows(&r, ret, err);
}

int factor_series_parse_all(const char *name, const char *text, size_t len,
			    void (*on_error)(void *ctx, const char *text), void *ctx,
			    struct factor_series *ret, struct errmsg *err)
{
	const struct reader how = { .name = name, .on_error = on_error, .ctx = ctx };
	_cleanup_free_ char *copy = malloc(len + 1);

	if (!copy)
		return errmsg_errno(err, -ENOMEM, "%s", name);
	memcpy(copy, text, len);
	copy[len] = '\0';
	return parse_text(&how, copy, len, ret, err);
}

int factor_series_parse(const char *name, const char *text, size_t len, struct factor_series *ret,
			struct errmsg *err)
{
	return factor_series_parse_all(name, text, len, /* on_error= */ NULL, NULL, ret, err);
}

int factor_series_read(const char *path, struct factor_series *ret, struct errmsg *err)
{
	const struct reader how = { .name = path };
	_cleanup_free_ char *text = NULL;
	size_t len;
	int rc = fileio_read_checked(path, FACTOR_SERIES_MAX_BYTES, trust_is_ours, /* st= */ NULL, &text,
				     &len, err);

	return rc < 0 ? rc : parse_text(&how, text, len, ret, err);
}

/* --- writing ----------------------------------------------------------------------------- */

void factor_point_print(FILE *out, const struct factor_point *p)
{
	const struct emission_factor *f = &p->factor;
	char from[RFC3339_SIZE], until[RFC3339_SIZE], fetched[RFC3339_SIZE];

	rfc3339_utc(p->from_s, from);
	rfc3339_utc(p->until_s, until);
	rfc3339_utc(p->fetched_s, fetched);
	(void)fprintf(out, "%s,%s,%" PRIu64 ".%03" PRIu64 ",%s,%s,%s,%s,%s\n", from, until,
		      f->mg_per_kwh / 1000, f->mg_per_kwh % 1000, emission_kind_name(f->kind),
		      emission_scope_name(f->scope), f->region, fetched, f->source);
}

int factor_series_write(const char *path, const struct factor_series *s, struct errmsg *err)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	size_t i;

	if (!out)
		return errmsg_errno(err, -errno, "%s", path);
	(void)fputs(FACTOR_SERIES_HEAD "\n", out);
	for (i = 0; i < s->n; i++)
		factor_point_print(out, &s->point[i]);
	if (fclose(out))
		return errmsg_errno(err, -ENOMEM, "%s", path);
	if (len >= FACTOR_SERIES_MAX_BYTES)
		return errmsg_set(err, -EFBIG, "%s: more than %d bytes", path, FACTOR_SERIES_MAX_BYTES);
	return fileio_write_durable(path, text, len, 0644, err);
}
