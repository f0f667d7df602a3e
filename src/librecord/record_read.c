/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "src/libemission/emission.h"
#include "src/librecord/exactjson.h"
#include "src/librecord/record_field.h"
#include "src/libutil/rfc3339.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

#define STEPS_MAX 100000 /* of one job; rejects damaged input; far above MaxStepCount */

/* A job or step being read. */
struct record_reader {
	struct exactjson_cursor at;
	const json_t *escaped; /* JSON array with the paths of escaped texts; NULL: none */
	struct errmsg *err;
};

static int record_bad(struct errmsg *err, const char *name, const char *what)
{
	return errmsg_set(err, -EINVAL, "record: %s: %s", name, what);
}

static bool is_escaped(const struct record_reader *in, const char *path)
{
	size_t i;

	for (i = 0; i < json_array_size(in->escaped); i++)
		if (!strcmp(json_string_value(json_array_get(in->escaped, i)), path))
			return true;
	return false;
}

static int read_text(const struct record_reader *in, const char *path, const json_t *v, char **ret)
{
	char *text;

	if (!exactjson_is_text(v))
		return record_bad(in->err, path, "not a text");
	text = strdup(json_string_value(v));
	if (!text)
		return errmsg_set(in->err, -ENOMEM, "record: out of memory");
	if (is_escaped(in, path) && utf8_unescape(text) < 0) {
		free(text);
		return record_bad(in->err, path, "\"escaped\" names a text that is not");
	}
	free(*ret);
	*ret = text;
	return 0;
}

/* Copies text V to RET, of f->size bytes; a longer text is cut. */
static int read_chars(const struct record_reader *in, const struct record_field *f, const json_t *v,
		      char *ret)
{
	_cleanup_free_ char *text = NULL;
	int rc = read_text(in, f->path, v, &text);

	if (rc == 0)
		(void)snprintf(ret, f->size, "%s", text);
	return rc;
}

static int read_number(const struct record_reader *in, const char *path, const json_t *v, uint64_t scale,
		       uint64_t max, uint64_t *ret)
{
	int rc = exactjson_scaled(v, scale ? scale : 1, ret);

	if (!scale && !exactjson_is_whole(v))
		return record_bad(in->err, path, "not a whole number");
	if (rc == -ERANGE || (rc == 0 && *ret > max))
		return record_bad(in->err, path, "too large");
	return rc < 0 ? record_bad(in->err, path, "not a number, or negative") : 0;
}

static int read_values(struct record_reader *in, struct values *f)
{
	const char *name;
	unsigned int m;
	uint64_t value;
	json_t *o;
	json_t *v;
	int rc;

	values_init(f);
	metric_foreach(m) {
		const char *path = metric_table[m].json;

		if (exactjson_find(&in->at, path, /* create= */ false, &o, &name) < 0)
			return record_bad(in->err, path, "not in an object");
		v = json_object_get(o, name);
		if (!v || json_is_null(v))
			continue;
		rc = read_number(in, path, v, record_metric_scale((enum metric)m), UINT64_MAX, &value);
		if (rc < 0)
			return rc;
		values_set(f, (enum metric)m, value);
	}
	return 0;
}

static int read_exit(const struct record_reader *in, const char *path, const json_t *v, int32_t ret[2])
{
	const char *text = json_string_value(v);
	int code;
	int sig;
	int used = 0;

	if (!text || sscanf(text, "%9d:%9d%n", &code, &sig, &used) != 2 || text[used])
		return record_bad(in->err, path, "not like 0:0");
	ret[0] = code;
	ret[1] = sig;
	return 0;
}

static int read_time(const struct record_reader *in, const char *path, const json_t *v, uint64_t *ret)
{
	if (!json_is_string(v) || rfc3339_parse(json_string_value(v), ret) < 0)
		return record_bad(in->err, path, "not a time like 2026-01-31T12:00:00Z");
	return 0;
}

/* Finds a method by name; a name that a later version added gives CO2E_UNKNOWN. */
static enum record_co2e_method method_of(const char *name)
{
	enum record_co2e_method m;

	for (m = CO2E_PER_TICK; m <= CO2E_MEAN_POWER; m++)
		if (!strcmp(name, record_co2e_method_name(m)))
			return m;
	return CO2E_UNKNOWN;
}

/* Stores V, which is not null, in member P of a record or step. */
static int read_value(const struct record_reader *in, const struct record_field *f, const json_t *v, void *p)
{
	struct maybe_u64 *maybe = p;
	uint64_t value = 0;
	int rc = 0;

	switch (f->kind) {
	case FIELD_TEXT:
		return read_text(in, f->path, v, p);
	case FIELD_CHARS:
		return read_chars(in, f, v, p);
	case FIELD_U32:
	case FIELD_COUNT:
		rc = read_number(in, f->path, v, f->scale, UINT32_MAX, &value);
		if (rc == 0)
			*(uint32_t *)p = (uint32_t)value;
		return rc;
	case FIELD_U64:
		return read_number(in, f->path, v, f->scale, UINT64_MAX, p);
	case FIELD_MAYBE:
	case FIELD_MINUTES:
		rc = read_number(in, f->path, v, f->scale, UINT64_MAX, &value);
		if (rc == 0)
			*maybe = (struct maybe_u64){ f->kind == FIELD_MINUTES ? value / 60 : value, true };
		return rc;
	case FIELD_TIME:
		return read_time(in, f->path, v, p);
	case FIELD_EXIT:
		return read_exit(in, f->path, v, p);
	case FIELD_BOOL:
		if (!json_is_boolean(v))
			return record_bad(in->err, f->path, "not true or false");
		*(bool *)p = json_is_true(v);
		return 0;
	case FIELD_CO2E_METHOD:
		if (!exactjson_is_text(v))
			return record_bad(in->err, f->path, "not a text");
		*(enum record_co2e_method *)p = method_of(json_string_value(v));
		return 0;
	case FIELD_VALUES:
	case FIELD_OBJECT:
	case FIELD_MADE:
	case FIELD_RATIO:
	case FIELD_RATIOS:
		break;
	}
	return 0;
}

/* Computes the suspended time from "elapsed", which lacks it; M has what was read of that. */
static void take_elapsed(struct maybe_u64 *m, uint64_t start, uint64_t end)
{
	uint64_t all_s = start && end > start ? end - start : 0;

	m->value = m->known && m->value < all_s ? all_s - m->value : 0;
}

static int read_escaped(struct record_reader *in)
{
	size_t i;

	in->escaped = json_object_get(in->at.root, "escaped");
	if (in->escaped && !json_is_null(in->escaped) && !json_is_array(in->escaped))
		return record_bad(in->err, "escaped", "not an array");
	for (i = 0; i < json_array_size(in->escaped); i++)
		if (!exactjson_is_text(json_array_get(in->escaped, i)))
			return record_bad(in->err, "escaped", "not texts");
	return 0;
}

/* Reads all members in table F from O, a job or a step, into OBJECT. */
static int read_fields(json_t *o, const struct record_field *f, void *object, struct errmsg *err)
{
	struct record_reader in = { .at = { .root = o }, .err = err };
	int rc = read_escaped(&in);

	for (; rc == 0 && f->path; f++) {
		const char *name;
		json_t *in_object;
		json_t *v;

		if (f->kind == FIELD_VALUES) {
			rc = read_values(&in, (struct values *)((char *)object + f->offset));
			continue;
		}
		if (exactjson_find(&in.at, f->path, /* create= */ false, &in_object, &name) < 0)
			return record_bad(err, f->path, "not in an object");
		v = json_object_get(in_object, name);
		if (v && !json_is_null(v))
			rc = read_value(&in, f, v, (char *)object + f->offset);
	}
	return rc;
}

static int read_steps(json_t *o, struct record *r, struct errmsg *err)
{
	json_t *steps = json_object_get(o, "steps");
	size_t n = json_array_size(steps);
	int rc = 0;

	if (!steps || json_is_null(steps))
		return 0;
	if (!json_is_array(steps))
		return record_bad(err, "steps", "not an array");
	if (n > STEPS_MAX)
		return record_bad(err, "steps", "too many");
	r->steps = calloc(n + 1, sizeof(*r->steps));
	if (!r->steps)
		return errmsg_set(err, -ENOMEM, "record: out of memory");
	for (; rc == 0 && r->nsteps < n; r->nsteps++) {
		struct record_step *s = &r->steps[r->nsteps];
		json_t *step = json_array_get(steps, r->nsteps);
		json_t *code = json_object_get(step, "exit_code");

		s->exit_unknown = !code || json_is_null(code);
		rc = json_is_object(step) ? read_fields(step, record_step_fields, s, err) :
					    record_bad(err, "steps", "not an array of objects");
		take_elapsed(&s->suspended_s, s->start, s->end);
	}
	r->steps_known = true;
	return rc;
}

/*
 * Treats the names that a later version added as unknown; an unknown name is no reason to refuse a
 * record.
 */
static void forget_unknown_names(struct record_emissions *e)
{
	enum emission_kind k;
	enum emission_scope s;

	if (strcmp(e->kind, RECORD_MIXED) && (emission_kind_of(e->kind, &k) < 0 || k == EMISSION_MARGINAL))
		e->kind[0] = '\0';
	if (strcmp(e->scope, RECORD_MIXED) && emission_scope_of(e->scope, &s) < 0)
		e->scope[0] = '\0';
}

static int read_record(json_t *o, struct record *r, struct errmsg *err)
{
	int rc = read_fields(o, record_job_fields, r, err);

	take_elapsed(&r->suspended_s, r->start, r->end);
	if (rc == 0 && (!r->cluster || !*r->cluster))
		rc = record_bad(err, "cluster", "missing");
	if (rc == 0 && !r->job_id)
		rc = record_bad(err, "jobid", "missing");
	if (rc == 0)
		rc = read_steps(o, r, err);
	forget_unknown_names(&r->emissions);
	return rc;
}

static int read_job_key(const json_t *o, char *ret, struct errmsg *err)
{
	const char *key = json_string_value(json_object_get(o, "job_key"));

	if (!key || !*key || strlen(key) >= RECORD_KEY_MAX)
		return record_bad(err, "job_key", "missing or too long");
	(void)snprintf(ret, RECORD_KEY_MAX, "%s", key);
	return 0;
}

/* RET_JOB_KEY is NULL unless SCHEMA is RECORD_STEPS_SCHEMA. */
static int record_load(const char *json, size_t len, const char *schema, struct record **ret,
		       char *ret_job_key, struct errmsg *err)
{
	struct record *r = record_create();
	struct errmsg why = { 0 };
	json_t *o = NULL;
	const char *is;
	int rc;

	if (!r)
		return errmsg_set(err, -ENOMEM, "record: out of memory");
	rc = exactjson_load(json, len, &o, &why);
	is = json_string_value(json_object_get(o, "schema"));
	if (rc < 0)
		(void)errmsg_set(err, rc, "record: %s", why.text);
	else if (!is || strcmp(is, schema) != 0)
		rc = errmsg_set(err, -EINVAL, "record: schema: not %s", schema);
	if (rc == 0)
		rc = read_record(o, r, err);
	if (rc == 0 && ret_job_key)
		rc = read_job_key(o, ret_job_key, err);
	json_decref(o);
	if (rc < 0)
		record_destroy(r);
	else
		*ret = r;
	return rc;
}

int record_from_json(const char *json, size_t len, struct record **ret, struct errmsg *err)
{
	return record_load(json, len, RECORD_SCHEMA, ret, NULL, err);
}

int record_from_steps_json(const char *json, size_t len, struct record **ret,
			   char ret_job_key[RECORD_KEY_MAX], struct errmsg *err)
{
	return record_load(json, len, RECORD_STEPS_SCHEMA, ret, ret_job_key, err);
}
