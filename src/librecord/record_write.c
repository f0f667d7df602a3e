/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/librecord/exactjson.h"
#include "src/librecord/record_field.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

/* A job or step being written. */
struct writing {
	struct exactjson_cursor at;
	json_t *escaped; /* owned; paths of the texts that were not UTF-8 */
	bool omits;	 /* leave unknown members out instead of writing null */
	bool failed;	 /* out of memory */
};

/* --- members ----------------------------------------------------------------------------- */

/* Adds VALUE as member PATH and takes ownership of it. A VALUE of NULL means out of memory. */
static void write_value(struct writing *w, const char *path, json_t *value)
{
	const char *name;
	json_t *o;

	if (w->omits && json_is_null(value))
		return;
	if (exactjson_find(&w->at, path, /* create= */ true, &o, &name) < 0) {
		json_decref(value);
		w->failed = true;
	} else if (json_object_set_new_nocheck(o, name, value) < 0) {
		w->failed = true;
	}
}

static json_t *text_of(struct writing *w, const char *path, const char *s)
{
	_cleanup_free_ char *escaped = NULL;
	size_t len = s ? strlen(s) : 0;

	if (!len)
		return json_null();
	if (utf8_escape(s, len, &escaped, &len) < 0)
		return NULL;
	if (escaped && json_array_append_new(w->escaped, json_string_nocheck(path)) < 0)
		w->failed = true;
	return json_stringn_nocheck(escaped ? escaped : s, len);
}

static json_t *time_of(uint64_t t)
{
	char text[RFC3339_SIZE];

	if (!t || t > RFC3339_LAST_S)
		return json_null();
	rfc3339_utc(t, text);
	return json_string_nocheck(text);
}

static json_t *exit_of(const int32_t status[2])
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRId32 ":%" PRId32, status[0], status[1]);
	return json_string_nocheck(text);
}

static json_t *ratio_of(const struct record_field *f, const void *object, unsigned int which)
{
	double v;

	return f->ratio(object, which, &v) && isfinite(v) ? json_real(v) : json_null();
}

/* Makes the JSON value of member F of OBJECT. NULL: out of memory. */
static json_t *value_of(struct writing *w, const struct record_field *f, const void *object)
{
	const void *p = (const char *)object + f->offset;
	uint64_t v;

	switch (f->kind) {
	case FIELD_TEXT:
		return text_of(w, f->path, *(char *const *)p);
	case FIELD_CHARS:
		return text_of(w, f->path, p);
	case FIELD_TIME:
		return time_of(*(const uint64_t *)p);
	case FIELD_EXIT:
		return exit_of(p);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)p);
	case FIELD_CO2E_METHOD:
		return text_of(w, f->path, record_co2e_method_name(*(const enum record_co2e_method *)p));
	case FIELD_RATIO:
		return ratio_of(f, object, f->which);
	default:
		return record_field_number(f, object, &v) ? exactjson_decimal(v, f->scale ? f->scale : 1) :
							    json_null();
	}
}

static void write_values(struct writing *w, const struct record_field *f, const struct values *values)
{
	unsigned int m;

	metric_foreach(m) {
		if (m == METRIC_ENERGY && (f->flags & FIELD_NO_ENERGY))
			continue;
		write_value(w, metric_table[m].json,
			    values_has(values, (enum metric)m) ?
				    exactjson_decimal(values->value[m], record_metric_scale((enum metric)m)) :
				    json_null());
	}
}

static void write_object(struct writing *w, const struct record_field *f, const void *object)
{
	const char *name;
	unsigned int d;
	json_t *value;
	json_t *o;

	if (exactjson_find(&w->at, f->path, /* create= */ true, &o, &name) < 0) {
		w->failed = true;
		return;
	}
	for (d = 0; f->ratio && d < DERIVED_N; d++) {
		value = ratio_of(f, object, d);
		if (!(w->omits && json_is_null(value)) &&
		    json_object_set_new_nocheck(o, derived_table[d].name, value) < 0)
			w->failed = true;
	}
}

static void write_field(struct writing *w, const struct record_field *f, const void *object)
{
	if (f->has && !f->has(object))
		return;
	switch (f->kind) {
	case FIELD_VALUES:
		write_values(w, f, (const struct values *)((const char *)object + f->offset));
		break;
	case FIELD_OBJECT:
	case FIELD_RATIOS:
		write_object(w, f, object);
		break;
	default:
		write_value(w, f->path, value_of(w, f, object));
		break;
	}
}

/* Writes to O the members in table F that have all flags in WITH and none in WITHOUT. -ENOMEM. */
static int write_fields(json_t *o, const struct record_field *f, const void *object, unsigned int with,
			unsigned int without, bool omits)
{
	struct writing w = { .at = { .root = o }, .escaped = json_array(), .omits = omits };

	for (; f->path; f++)
		if ((f->flags & with) == with && !(f->flags & without))
			write_field(&w, f, object);
	if (json_array_size(w.escaped) && json_object_set_nocheck(o, "escaped", w.escaped) < 0)
		w.failed = true;
	w.failed |= !w.escaped;
	json_decref(w.escaped);
	return w.failed ? -ENOMEM : 0;
}

/* Returns O as text and frees O. NULL: out of memory, or RC is an error. */
static char *text_of_tree(json_t *o, int rc, size_t *ret_len)
{
	char *text = o && rc == 0 ? exactjson_dump(o, ret_len) : NULL;

	json_decref(o);
	return text;
}

static char *step_to_text(const struct record_step *s, size_t *ret_len)
{
	json_t *o = json_object();

	return text_of_tree(o, write_fields(o, record_step_fields, s, 0, 0, /* omits= */ true), ret_len);
}

static char *job_to_text(const struct record *r, const char *schema, const char *key, unsigned int without,
			 size_t *ret_len)
{
	json_t *o = json_pack("{ssss}", "schema", schema, "key", key);

	return text_of_tree(o, write_fields(o, record_job_fields, r, 0, without, /* omits= */ false),
			    ret_len);
}

#define PART_KEY_MAX (RECORD_KEY_MAX + 24)

static void write_part_key(const char *key, size_t part, char ret[PART_KEY_MAX])
{
	(void)snprintf(ret, PART_KEY_MAX, part ? "%s#%zu" : "%s", key, part);
}

/* Writes a later part of the record, up to its steps. */
static char *part_to_text(const struct record *r, const char *key, size_t part, size_t parts, size_t *ret_len)
{
	char part_key[PART_KEY_MAX];
	json_t *o;

	write_part_key(key, part, part_key);
	o = json_pack("{sssssssIsI}", "schema", RECORD_STEPS_SCHEMA, "key", part_key, "job_key", key, "part",
		      (json_int_t)part, "parts", (json_int_t)parts);
	return text_of_tree(o, write_fields(o, record_job_fields, r, FIELD_IN_PART, 0, /* omits= */ false),
			    ret_len);
}

/* --- whole records, and parts -------------------------------------------------------------- */

/* The text of a record before "parts" and "steps", and the texts of its steps, joined by commas. */
struct pieces {
	const struct record *r;
	const char *key;
	size_t nsteps;
	char *job;
	size_t job_len;
	char *steps;
	size_t *end; /* step i is at end[i] to end[i + 1] in STEPS, including the comma before it */
	size_t *cut; /* the steps of part i are cut[i] to cut[i + 1] - 1; there is room for a part per step */
};

static void pieces_fini(struct pieces *p)
{
	free(p->job);
	free(p->steps);
	free(p->end);
	free(p->cut);
}

static int pieces_write_steps(struct pieces *p)
{
	size_t size;
	size_t len;
	size_t i;
	FILE *f = open_memstream(&p->steps, &size);
	int rc = 0;

	if (!f)
		return -ENOMEM;
	for (i = 0; rc == 0 && i < p->nsteps; i++) {
		_cleanup_free_ char *text = step_to_text(&p->r->steps[i], &len);

		if (!text || fprintf(f, "%s%s", i ? "," : "", text) < 0)
			rc = -ENOMEM;
		p->end[i + 1] = p->end[i] + (i > 0) + len;
	}
	return fclose(f) == 0 ? rc : -ENOMEM;
}

static int pieces_write(struct pieces *p)
{
	p->job = job_to_text(p->r, RECORD_SCHEMA, p->key, 0, &p->job_len);
	p->end = calloc(p->nsteps + 1, sizeof(*p->end));
	p->cut = calloc(p->nsteps + 3, sizeof(*p->cut));
	return p->job && p->end && p->cut ? pieces_write_steps(p) : -ENOMEM;
}

/* Writes part number PART of PARTS, with the steps FROM to TO - 1. */
static int compose(const struct pieces *p, size_t part, size_t parts, size_t from, size_t to, char **ret,
		   size_t *ret_len)
{
	bool has_comma = from && to > from;
	_cleanup_free_ char *head = NULL;
	size_t len = p->job_len;
	char more[40] = "";
	char *json;
	int n;

	if (part)
		head = part_to_text(p->r, p->key, part, parts, &len);
	else
		(void)snprintf(more, sizeof(more), ",\"parts\":%zu", parts);
	if (part && !head)
		return -ENOMEM;
	n = asprintf(&json, p->r->steps_known ? "%.*s%s,\"steps\":[%.*s]}" : "%.*s%s,\"steps\":null}",
		     (int)len - 1, head ? head : p->job, more, (int)(p->end[to] - p->end[from] - has_comma),
		     p->steps + p->end[from] + has_comma);
	if (n < 0)
		return -ENOMEM;
	*ret = json;
	*ret_len = (size_t)n;
	return 0;
}

/* Length of part number PART without its steps. */
static int frame_len(const struct pieces *p, size_t part, size_t parts, size_t *ret)
{
	_cleanup_free_ char *json = NULL;

	return compose(p, part, parts, 0, 0, &json, ret);
}

/* How many steps, from FROM on, fit into ROOM bytes. */
static size_t steps_in(const struct pieces *p, size_t from, size_t room)
{
	size_t to = from;

	while (to < p->nsteps && p->end[to + 1] - p->end[from] <= room)
		to++;
	return to - from;
}

/* Distributes the steps over parts, in p->cut. -EMSGSIZE: see record_write_parts(). */
static int cut_steps(const struct pieces *p, size_t max, size_t *ret_parts)
{
	size_t n = p->nsteps;
	size_t parts = 0;
	size_t frame;
	size_t at = 0;
	int rc = frame_len(p, 0, 1, &frame);

	/*
	 * one part is measured exactly; for several, the number of parts is assumed to have the
	 * most digits
	 */
	if (rc == 0 && n && (frame > max || p->end[n] > max - frame))
		rc = frame_len(p, 0, n + 1, &frame);
	while (rc == 0) {
		size_t take = frame > max ? 0 : steps_in(p, at, max - frame);

		if (frame > max || (parts && !take))
			return -EMSGSIZE;
		p->cut[parts++] = at;
		at += take;
		if (at == n)
			break;
		if (parts == 1)
			rc = frame_len(p, n + 1, n + 1, &frame);
	}
	p->cut[parts] = n;
	*ret_parts = parts;
	return rc;
}

static int key_of(const struct record *r, char *key, struct errmsg *err)
{
	int rc = record_key(r, key, RECORD_KEY_MAX);

	return rc < 0 ? errmsg_set(err, rc, "record of job %u has no key", r->job_id) : 0;
}

static int no_memory(const char *key, struct errmsg *err)
{
	return errmsg_set(err, -ENOMEM, "record %s: out of memory", key);
}

static int give_part(const struct pieces *p, size_t part, size_t parts, record_part_fn *fn, void *ctx,
		     struct errmsg *err)
{
	_cleanup_free_ char *json = NULL;
	char key[PART_KEY_MAX];
	size_t len;

	if (compose(p, part, parts, p->cut[part], p->cut[part + 1], &json, &len) < 0)
		return no_memory(p->key, err);
	write_part_key(p->key, part, key);
	return fn(ctx, part, key, json, len, err);
}

int record_write_parts(const struct record *r, size_t max, record_part_fn *fn, void *ctx, struct errmsg *err)
{
	char key[RECORD_KEY_MAX];
	struct pieces p = { .r = r, .key = key, .nsteps = r->steps_known ? r->nsteps : 0 };
	size_t parts = 0;
	size_t i;
	int rc = key_of(r, key, err);

	if (rc < 0)
		return rc;
	rc = pieces_write(&p);
	if (rc == 0)
		rc = cut_steps(&p, max, &parts);
	if (rc == -EMSGSIZE)
		(void)errmsg_set(err, rc, "record %s: it, or one of its steps, is longer than %zu bytes", key,
				 max);
	else if (rc < 0)
		(void)no_memory(key, err);
	for (i = 0; rc == 0 && i < parts; i++)
		rc = give_part(&p, i, parts, fn, ctx, err);
	pieces_fini(&p);
	return rc;
}

int record_to_json(const struct record *r, char **ret, size_t *ret_len, struct errmsg *err)
{
	char key[RECORD_KEY_MAX];
	struct pieces p = { .r = r, .key = key, .nsteps = r->steps_known ? r->nsteps : 0 };
	size_t len;
	int rc = key_of(r, key, err);

	if (rc < 0)
		return rc;
	rc = pieces_write(&p);
	if (rc == 0)
		rc = compose(&p, 0, 1, 0, p.nsteps, ret, &len);
	pieces_fini(&p);
	if (rc < 0)
		return no_memory(key, err);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int record_start_to_json(const struct record *r, char **ret, size_t *ret_len, struct errmsg *err)
{
	char key[RECORD_KEY_MAX];
	char *text;
	int rc = key_of(r, key, err);

	if (rc < 0)
		return rc;
	text = job_to_text(r, RECORD_START_SCHEMA, key, FIELD_AT_END, ret_len);
	if (!text)
		return no_memory(key, err);
	*ret = text;
	return 0;
}
