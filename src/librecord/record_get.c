/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/record_get.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

int record_bad(struct errmsg *err, const char *name, const char *what)
{
	return errmsg_set(err, -EINVAL, "record: %s: %s", name, what);
}

struct jsonin_value *record_member(struct jsonin_value *o, const char *name)
{
	struct jsonin_value *v = jsonin_member(o, name);

	return v && v->type == JSONIN_NULL ? NULL : v;
}

/* The text at a PATH like "energy.source"; NULL: there is none, as in a later version. */
static struct jsonin_value *text_at(struct jsonin_value *o, const char *path)
{
	const char *dot;

	for (; (dot = strchr(path, '.')); path = dot + 1) {
		char name[64];

		if ((size_t)(dot - path) >= sizeof(name))
			return NULL;
		(void)snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
		o = jsonin_member(o, name);
	}
	o = jsonin_member(o, path);
	return o && o->type == JSONIN_STRING ? o : NULL;
}

int record_unescape(struct jsonin_value *o, struct errmsg *err)
{
	struct jsonin_value *names = record_member(o, "escaped");
	struct jsonin_value *v;

	if (!names)
		return 0;
	if (names->type != JSONIN_ARRAY)
		return record_bad(err, "escaped", "not an array");
	for (v = jsonin_first(names); v < jsonin_end(names); v = jsonin_next(v)) {
		struct jsonin_value *text;

		if (v->type != JSONIN_STRING)
			return record_bad(err, "escaped", "not texts");
		text = text_at(o, v->text);
		if (text && utf8_unescape(text->text) < 0)
			return record_bad(err, "escaped", "names a text that is not");
	}
	return 0;
}

int record_get_text(struct jsonin_value *o, const char *name, char **ret, struct errmsg *err)
{
	struct jsonin_value *v = record_member(o, name);
	char *copy;

	if (!v)
		return 0;
	if (v->type != JSONIN_STRING)
		return record_bad(err, name, "not a text");
	copy = strdup(v->text);
	if (!copy)
		return errmsg_set(err, -ENOMEM, "record: out of memory");
	free(*ret);
	*ret = copy;
	return 0;
}

int record_get_buf(struct jsonin_value *o, const char *name, char *buf, size_t size,
		   struct errmsg *err)
{
	struct jsonin_value *v = record_member(o, name);

	if (!v)
		return 0;
	if (v->type != JSONIN_STRING)
		return record_bad(err, name, "not a text");
	(void)snprintf(buf, size, "%s", v->text);
	return 0;
}

int record_get_maybe(struct jsonin_value *o, const char *name, struct maybe_u64 *ret,
		     struct errmsg *err)
{
	struct jsonin_value *v = record_member(o, name);
	uint64_t value;
	int rc;

	if (!v)
		return 0;
	if (!jsonin_is_whole(v))
		return record_bad(err, name, "not a whole number");
	rc = jsonin_scaled(v, 1, &value);
	if (rc == 0 && value > INT64_MAX)
		rc = -ERANGE;
	if (rc < 0)
		return record_bad(err, name, rc == -ERANGE ? "too large" : "negative");
	*ret = (struct maybe_u64){ value, true };
	return 0;
}

int record_get_u32(struct jsonin_value *o, const char *name, uint32_t *ret, struct errmsg *err)
{
	struct maybe_u64 m = { 0 };
	int rc = record_get_maybe(o, name, &m, err);

	if (rc < 0)
		return rc;
	if (m.value > UINT32_MAX)
		return record_bad(err, name, "too large");
	if (m.known)
		*ret = (uint32_t)m.value;
	return 0;
}

int record_get_scaled(struct jsonin_value *o, const char *name, uint64_t scale,
		      struct maybe_u64 *ret, struct errmsg *err)
{
	struct jsonin_value *v = record_member(o, name);
	uint64_t value;
	int rc;

	if (!v)
		return 0;
	rc = jsonin_scaled(v, scale, &value);
	if (rc < 0)
		return record_bad(err, name,
				  rc == -ERANGE ? "too large" : "not a number, or negative");
	*ret = (struct maybe_u64){ value, true };
	return 0;
}

/* Days from 1970-01-01 to that day of the proleptic Gregorian calendar. */
static int64_t days_to(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month > 2 ? year : year - 1; /* years that begin in March end with the leap day */
	int64_t m = month > 2 ? month - 3 : month + 9;

	return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 719469;
}

/* The number of N digits at *P, which moves behind it and the byte END; -1: there is none. */
static int take_digits(const char **p, int n, char end)
{
	int v = 0;

	for (; n; n--, (*p)++) {
		if (**p < '0' || **p > '9')
			return -1;
		v = v * 10 + **p - '0';
	}
	if (**p != end)
		return -1;
	(*p)++;
	return v;
}

/* Only the form record_write.c makes. */
int record_get_time(struct jsonin_value *o, const char *name, uint64_t *ret, struct errmsg *err)
{
	static const struct {
		int digits, min, max;
		char end;
	} part[] = {
		{ 4, 0, 9999, '-' }, { 2, 1, 12, '-' }, { 2, 1, 31, 'T' },
		{ 2, 0, 23, ':' },   { 2, 0, 59, ':' }, { 2, 0, 60, 'Z' },
	};
	struct jsonin_value *v = record_member(o, name);
	int64_t at[ARRAY_SIZE(part)];
	const char *p;
	int64_t t;
	size_t i;

	if (!v)
		return 0;
	if (v->type != JSONIN_STRING)
		return record_bad(err, name, "not a time");
	p = v->text;
	for (i = 0; i < ARRAY_SIZE(part); i++) {
		at[i] = take_digits(&p, part[i].digits, part[i].end);
		if (at[i] < part[i].min || at[i] > part[i].max)
			return record_bad(err, name, "not a time like 2026-01-31T12:00:00Z");
	}
	if (*p)
		return record_bad(err, name, "not a time like 2026-01-31T12:00:00Z");
	t = ((days_to(at[0], at[1], at[2]) * 24 + at[3]) * 60 + at[4]) * 60 + at[5];
	if (t < 0)
		return record_bad(err, name, "before 1970");
	*ret = (uint64_t)t;
	return 0;
}

/* "status:signal" */
int record_get_exit(struct jsonin_value *o, const char *name, int32_t *ret_code, int32_t *ret_signal,
		    struct errmsg *err)
{
	struct jsonin_value *v = record_member(o, name);
	int code;
	int sig;
	int used = 0;

	if (!v)
		return 0;
	if (v->type != JSONIN_STRING ||
	    sscanf(v->text, "%9d:%9d%n", &code, &sig, &used) != 2 ||
	    v->text[used])
		return record_bad(err, name, "not like 0:0");
	*ret_code = code;
	*ret_signal = sig;
	return 0;
}

int record_get_object(struct jsonin_value *o, const char *name, struct jsonin_value **ret,
		      struct errmsg *err)
{
	*ret = record_member(o, name);
	return *ret && (*ret)->type != JSONIN_OBJECT ? record_bad(err, name, "not an object") : 0;
}
