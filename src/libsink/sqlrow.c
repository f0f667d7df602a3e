/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memmem */
#include "src/libsink/sqlrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/librecord/record_field.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

#define BLOCK_SIZE 65536
#define DIGITS_MAX 20 /* most digits of a uint64_t */

struct sqlrow_block {
	struct sqlrow_block *next;
	size_t size, used;
	char bytes[];
};

/* --- cells ------------------------------------------------------------------------------- */

/* A row being filled. After an error, further cells are still put, and end() returns the error in rc. */
struct row {
	struct sqlrow *rows;
	struct sqlrow_cell *at;
	int rc;
};

static void put(struct row *r, const char *text, size_t len)
{
	*r->at++ = (struct sqlrow_cell){ .v.text = text, .len = (uint32_t)len };
}

static void put_null(struct row *r)
{
	*r->at++ = (struct sqlrow_cell){ .is_null = true };
}

static void put_number(struct row *r, uint64_t v)
{
	*r->at++ = (struct sqlrow_cell){ .v.number = v };
}

static void put_signed(struct row *r, int32_t v)
{
	put_number(r, (uint64_t)(int64_t)v);
}

/* Returns SIZE bytes that do not move until sqlrow_clear(). NULL: no memory. */
static char *reserve(struct sqlrow *rows, size_t size)
{
	struct sqlrow_block *b = rows->block;
	char *p;

	if (!b || b->size - b->used < size) {
		size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		b = malloc(sizeof(*b) + room);
		if (!b)
			return NULL;
		*b = (struct sqlrow_block){ .next = rows->block, .size = room };
		rows->block = b;
	}
	p = b->bytes + b->used;
	b->used += size;
	return p;
}

/* As reserve(), for a cell that the caller puts. If there is no memory, puts NULL itself. */
static char *reserve_cell(struct row *r, size_t size)
{
	char *p = reserve(r->rows, size);

	if (!p) {
		r->rc = -ENOMEM;
		put_null(r);
	}
	return p;
}

/* Puts TEXT; NULL and "" become SQL NULL. Text that is not UTF-8 is escaped as in the JSON record. */
static void put_text(struct row *r, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	_cleanup_free_ char *escaped = NULL;
	char *kept;

	if (!len) {
		put_null(r);
		return;
	}
	if (utf8_escape(text, len, &escaped, &len) < 0) {
		r->rc = -ENOMEM;
		put_null(r);
	} else if (!escaped) {
		put(r, text, len);
	} else if ((kept = reserve_cell(r, len))) {
		memcpy(kept, escaped, len);
		put(r, kept, len);
	}
}

/*
 * Writes the last N digits of V with leading zeros to P, and returns their end. Not with printf(), which is
 * much slower: a row has many such numbers.
 */
static char *digits(char *p, uint64_t v, unsigned int n)
{
	unsigned int i;

	for (i = n; i; i--, v /= 10)
		p[i - 1] = (char)('0' + v % 10);
	return p + n;
}

/* Returns how many digits V has. */
static unsigned int digits_of(uint64_t v)
{
	unsigned int n = 1;

	while (v /= 10)
		n++;
	return n;
}

/* Puts VALUE / SCALE; SCALE is a power of ten. */
static void put_decimal(struct row *r, uint64_t value, uint64_t scale)
{
	unsigned int decimals = digits_of(scale) - 1;
	char *text = reserve_cell(r, DIGITS_MAX + 1 + decimals);
	uint64_t whole = value / scale;
	char *p;

	if (!text)
		return;
	p = digits(text, whole, digits_of(whole));
	*p++ = '.';
	p = digits(p, value % scale, decimals);
	put(r, text, (size_t)(p - text));
}

#define TIME_UNKNOWN "1970-01-01 00:00:00"
#define DAYS_TO_1970 719528u
#define TIME_LEN (sizeof(TIME_UNKNOWN) - 1)

static bool time_is_known(uint64_t t)
{
	return t && t <= RFC3339_LAST_S;
}

static void put_time(struct row *r, uint64_t t)
{
	time_t when = (time_t)t;
	struct tm tm;
	char *text;
	char *p;

	if (!time_is_known(t) || !gmtime_r(&when, &tm)) {
		put_null(r);
		return;
	}
	text = reserve_cell(r, TIME_LEN);
	if (!text)
		return;
	p = digits(text, (uint64_t)tm.tm_year + 1900, 4);
	*p++ = '-';
	p = digits(p, (uint64_t)tm.tm_mon + 1, 2);
	*p++ = '-';
	p = digits(p, (uint64_t)tm.tm_mday, 2);
	*p++ = ' ';
	p = digits(p, (uint64_t)tm.tm_hour, 2);
	*p++ = ':';
	p = digits(p, (uint64_t)tm.tm_min, 2);
	*p++ = ':';
	(void)digits(p, (uint64_t)tm.tm_sec, 2);
	put(r, text, TIME_LEN);
}

/* Puts the submit time. It is part of the key and must not be NULL, so an unknown time is 1970. */
static void put_submit(struct row *r, uint64_t t)
{
	if (time_is_known(t))
		put_time(r, t);
	else
		put(r, TIME_UNKNOWN, TIME_LEN);
}

uint32_t sqlrow_submit_day(const struct record *r)
{
	return DAYS_TO_1970 + (uint32_t)(time_is_known(r->submit) ? r->submit / 86400 : 0);
}

/* Puts V, a value of metric M, in the unit of its column. */
static void put_value(struct row *r, enum metric m, uint64_t v)
{
	const struct unit_info *unit = &unit_table[metric_table[m].unit];

	if (unit->is_decimal)
		put_decimal(r, v, unit->scale);
	else
		put_number(r, unit_round(v, unit->scale));
}

static void put_values(struct row *r, const struct values *f, const struct maybe_u64 *energy_j)
{
	unsigned int m;

	metric_foreach(m) {
		if (m == METRIC_ENERGY && energy_j && energy_j->known)
			put_number(r, energy_j->value); /* the value that sacct shows */
		else if (!values_has(f, (enum metric)m))
			put_null(r);
		else
			put_value(r, (enum metric)m, f->value[m]);
	}
}

static int begin(struct sqlrow *rows, enum sqlrow_table t, struct row *ret)
{
	size_t n = sqlrow_ncols(t);

	if (rows->nrows == rows->room) {
		size_t room = rows->room ? rows->room * 2 : 64;
		struct sqlrow_cell *cell = realloc(rows->cell, room * n * sizeof(*cell));

		if (!cell)
			return -ENOMEM;
		rows->cell = cell;
		rows->room = room;
	}
	*ret = (struct row){ .rows = rows, .at = rows->cell + rows->nrows * n };
	return 0;
}

static int end(struct row *row, enum sqlrow_table t)
{
	struct sqlrow *rows = row->rows;

	if (row->at != rows->cell + (rows->nrows + 1) * sqlrow_ncols(t))
		return -EINVAL; /* sqlrow_table.c has another number of columns than were put */
	if (row->rc == 0)
		rows->nrows++;
	return row->rc;
}

/* --- the rows ---------------------------------------------------------------------------- */

/* Returns VALUE / SCALE, rounded to the nearest integer. */
static uint64_t to_whole(uint64_t value, uint64_t scale)
{
	uint64_t rest = value % scale;

	return value / scale + (rest && rest >= scale - rest);
}

/* Puts field F of OBJECT, which is a number. */
static void put_field_number(struct row *row, const struct record_field *f, const void *object)
{
	uint64_t v;

	if (!record_field_number(f, object, &v)) {
		if (f->flags & FIELD_SQL_ZERO)
			put_number(row, 0);
		else
			put_null(row);
	} else if (!f->scale) {
		put_number(row, v);
	} else if (f->flags & FIELD_SQL_WHOLE) {
		put_number(row, to_whole(v, f->scale));
	} else {
		put_decimal(row, v, f->scale);
	}
}

/* Puts the exit code, and the signal if F has a column for it. STATUS[2] has both; NULL: they are unknown. */
static void put_exit(struct row *row, const struct record_field *f, const int32_t *status)
{
	int i;

	for (i = 0; i < (f->signal_column ? 2 : 1); i++)
		if (status)
			put_signed(row, status[i]);
		else
			put_null(row);
}

/* Puts field F of OBJECT into its column or columns. */
static void put_field(struct row *row, const struct record_field *f, const void *object)
{
	bool has = !f->has || f->has(object);
	const void *p = (const char *)object + f->offset;

	if (f->kind == FIELD_EXIT) {
		put_exit(row, f, has ? p : NULL);
		return;
	}
	if (!has) {
		put_null(row);
		return;
	}
	switch (f->kind) {
	case FIELD_TEXT:
		put_text(row, *(char *const *)p);
		break;
	case FIELD_CHARS:
		put_text(row, p);
		break;
	case FIELD_CO2E_METHOD:
		put_text(row, record_co2e_method_name(*(const enum record_co2e_method *)p));
		break;
	case FIELD_TIME:
		put_time(row, *(const uint64_t *)p);
		break;
	case FIELD_BOOL:
		put_number(row, *(const bool *)p);
		break;
	default:
		put_field_number(row, f, object);
		break;
	}
}

static void put_fields(struct row *row, const struct record_field *f, const void *object)
{
	for (; f->path; f++)
		if (f->column)
			put_field(row, f, object);
}

/*
 * Puts column steps_cpu_s: the CPU time of all steps as Slurm knows it. It is used if the record has no
 * METRIC_CPU_TIME, as record_derived() does. It is NULL if the record lacks steps, or if the sum is 0: Slurm
 * also stores 0 if it did not measure.
 */
static void put_steps_cpu(struct row *row, const struct record *r)
{
	struct maybe_u64 sum = { 0 };
	size_t i;

	for (i = 0; i < r->nsteps && r->steps_total <= r->nsteps; i++) {
		const struct record_step *s = &r->steps[i];

		if (!s->user_cpu_us.known || !s->system_cpu_us.known)
			continue;
		if (__builtin_add_overflow(sum.value, s->user_cpu_us.value, &sum.value) ||
		    __builtin_add_overflow(sum.value, s->system_cpu_us.value, &sum.value)) {
			sum.known = false;
			break;
		}
		sum.known = sum.value > 0;
	}
	if (sum.known)
		put_decimal(row, sum.value, 1000000);
	else
		put_null(row);
}

/* Returns the offset behind the array that begins at JSON[I]. JSON_LEN: the array does not end. */
static size_t json_skip_array(const char *json, size_t json_len, size_t i)
{
	size_t depth = 0;
	bool in_text = false;

	for (; i < json_len; i++) {
		char c = json[i];

		if (in_text) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_text = false;
		} else if (c == '"') {
			in_text = true;
		} else if (c == '[' || c == '{') {
			depth++;
		} else if ((c == ']' || c == '}') && --depth == 0) {
			return i + 1;
		}
	}
	return json_len;
}

size_t sqlrow_json_without_steps(const char *json, size_t json_len)
{
	/* this cannot be found inside a JSON string, where a quote has a backslash before it */
	static const char steps[] = ",\"steps\":[";
	const char *at = memmem(json, json_len, steps, sizeof(steps) - 1);
	size_t array;

	if (!json_len)
		return 0;
	if (!at)
		return json_len - 1;
	array = (size_t)(at - json) + sizeof(steps) - 2;
	if (json_skip_array(json, json_len, array) != json_len - 1)
		return json_len - 1;
	return (size_t)(at - json);
}

static void put_json(struct row *row, const char *json, size_t json_len)
{
	size_t head = sqlrow_json_without_steps(json, json_len);
	char *text;

	if (head + 1 >= json_len) {
		put(row, json, json_len);
		return;
	}
	text = reserve_cell(row, head + 1);
	if (!text)
		return;
	memcpy(text, json, head);
	text[head] = '}';
	put(row, text, head + 1);
}

int sqlrow_add_job(struct sqlrow *rows, const char *key, size_t key_len, const char *json, size_t json_len,
		   const struct record *r)
{
	struct row row;
	int rc = begin(rows, SQLROW_JOB, &row);

	if (rc < 0)
		return rc;
	put(&row, key, key_len);
	put_submit(&row, r->submit);
	put_fields(&row, record_job_fields, r);
	put_steps_cpu(&row, r);
	put_json(&row, json, json_len);
	put_values(&row, &r->values, &r->energy.total_j);
	return end(&row, SQLROW_JOB);
}

static int add_step(struct sqlrow *rows, const char *key, size_t key_len, uint64_t submit,
		    const struct record_step *s)
{
	struct row row;
	int rc = begin(rows, SQLROW_STEP, &row);

	if (rc < 0)
		return rc;
	put(&row, key, key_len);
	put_number(&row, s->step_id);
	put_number(&row, s->het_component.known ? s->het_component.value : 0);
	put_submit(&row, submit);
	put_fields(&row, record_step_fields, s);
	put_values(&row, &s->values, NULL);
	return end(&row, SQLROW_STEP);
}

int sqlrow_add_steps(struct sqlrow *rows, const char *key, size_t key_len, const struct record *r)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < r->nsteps; i++)
		rc = add_step(rows, key, key_len, r->submit, &r->steps[i]);
	return rc;
}

static void blocks_free(struct sqlrow_block *b)
{
	while (b) {
		struct sqlrow_block *next = b->next;

		free(b);
		b = next;
	}
}

void sqlrow_clear(struct sqlrow *rows)
{
	rows->nrows = 0;
	if (!rows->block)
		return;
	blocks_free(rows->block->next);
	rows->block->next = NULL;
	rows->block->used = 0;
}

void sqlrow_fini(struct sqlrow *rows)
{
	blocks_free(rows->block);
	free(rows->cell);
	*rows = (struct sqlrow){ 0 };
}
