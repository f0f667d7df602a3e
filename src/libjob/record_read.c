/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "src/libjob/record_json.h"
#include "src/libjob/utf8.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define STEPS_MAX 100000 /* of one job: a bound for damaged input, far above MaxStepCount */

static int bad(struct errmsg *err, const char *name, const char *what)
{
	return errmsg_set(err, -EINVAL, "record: %s: %s", name, what);
}

/* The member, NULL for absent and for null: both are unknown. */
static const json_t *member(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	return json_is_null(v) ? NULL : v;
}

/* The text at a PATH like "energy.source"; NULL: there is none, as in a later version. */
static json_t *text_at(json_t *o, const char *path)
{
	const char *dot;

	for (; (dot = strchr(path, '.')); path = dot + 1) {
		char name[64];

		if ((size_t)(dot - path) >= sizeof(name))
			return NULL;
		(void)snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
		o = json_object_get(o, name);
	}
	o = json_object_get(o, path);
	return json_is_string(o) ? o : NULL;
}

/* Of the texts that "escaped" of the record or step names, makes the bytes they were. */
static int unescape(json_t *o, struct errmsg *err)
{
	const json_t *names = member(o, "escaped");
	size_t i;

	if (!names)
		return 0;
	if (!json_is_array(names))
		return bad(err, "escaped", "not an array");
	for (i = 0; i < json_array_size(names); i++) {
		const char *path = json_string_value(json_array_get(names, i));
		json_t *text = path ? text_at(o, path) : NULL;
		_cleanup_free_ char *copy = NULL;

		if (!path)
			return bad(err, "escaped", "not texts");
		if (!text)
			continue;
		copy = strdup(json_string_value(text));
		if (!copy)
			return errmsg_set(err, -ENOMEM, "record: out of memory");
		if (utf8_unescape(copy) < 0)
			return bad(err, "escaped", "names a text that is not");
		if (json_string_set_nocheck(text, copy) < 0)
			return errmsg_set(err, -ENOMEM, "record: out of memory");
	}
	return 0;
}

static int get_text(const json_t *o, const char *name, char **ret, struct errmsg *err)
{
	const json_t *v = member(o, name);
	char *copy;

	if (!v)
		return 0;
	if (!json_is_string(v))
		return bad(err, name, "not a text");
	copy = strdup(json_string_value(v));
	if (!copy)
		return errmsg_set(err, -ENOMEM, "record: out of memory");
	free(*ret);
	*ret = copy;
	return 0;
}

/* Into a fixed buffer; what does not fit is cut. */
static int get_buf(const json_t *o, const char *name, char *buf, size_t size,
		   struct errmsg *err)
{
	const json_t *v = member(o, name);

	if (!v)
		return 0;
	if (!json_is_string(v))
		return bad(err, name, "not a text");
	(void)snprintf(buf, size, "%s", json_string_value(v));
	return 0;
}

static int get_maybe(const json_t *o, const char *name, struct maybe_u64 *ret,
		     struct errmsg *err)
{
	const json_t *v = member(o, name);

	if (!v)
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return bad(err, name, "not a whole number");
	*ret = (struct maybe_u64){ (uint64_t)json_integer_value(v), true };
	return 0;
}

static int get_u32(const json_t *o, const char *name, uint32_t *ret, struct errmsg *err)
{
	struct maybe_u64 m = { 0 };
	int rc = get_maybe(o, name, &m, err);

	if (rc < 0)
		return rc;
	if (m.value > UINT32_MAX)
		return bad(err, name, "too large");
	if (m.known)
		*ret = (uint32_t)m.value;
	return 0;
}

/* A number in units, as an integer of SCALE-ths. */
static int get_scaled(const json_t *o, const char *name, uint64_t scale,
		      struct maybe_u64 *ret, struct errmsg *err)
{
	const json_t *v = member(o, name);
	uint64_t value;

	if (!v)
		return 0;
	if (json_is_integer(v) && json_integer_value(v) >= 0) {
		if (__builtin_mul_overflow((uint64_t)json_integer_value(v), scale, &value))
			return bad(err, name, "too large");
	} else if (json_is_real(v) && json_real_value(v) >= 0) {
		double scaled = json_real_value(v) * (double)scale + 0.5;

		if (scaled >= 18446744073709549568.0) /* largest double below 2^64 */
			return bad(err, name, "too large");
		value = (uint64_t)scaled;
	} else {
		return bad(err, name, "not a number, or negative");
	}
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
static int get_time(const json_t *o, const char *name, uint64_t *ret, struct errmsg *err)
{
	static const struct {
		int digits, min, max;
		char end;
	} part[] = {
		{ 4, 0, 9999, '-' }, { 2, 1, 12, '-' }, { 2, 1, 31, 'T' },
		{ 2, 0, 23, ':' },   { 2, 0, 59, ':' }, { 2, 0, 60, 'Z' },
	};
	const json_t *v = member(o, name);
	int64_t at[ARRAY_SIZE(part)];
	const char *p;
	int64_t t;
	size_t i;

	if (!v)
		return 0;
	if (!json_is_string(v))
		return bad(err, name, "not a time");
	p = json_string_value(v);
	for (i = 0; i < ARRAY_SIZE(part); i++) {
		at[i] = take_digits(&p, part[i].digits, part[i].end);
		if (at[i] < part[i].min || at[i] > part[i].max)
			return bad(err, name, "not a time like 2026-01-31T12:00:00Z");
	}
	if (*p)
		return bad(err, name, "not a time like 2026-01-31T12:00:00Z");
	t = ((days_to(at[0], at[1], at[2]) * 24 + at[3]) * 60 + at[4]) * 60 + at[5];
	if (t < 0)
		return bad(err, name, "before 1970");
	*ret = (uint64_t)t;
	return 0;
}

/* "status:signal" */
static int get_exit(const json_t *o, const char *name, int32_t *ret_code, int32_t *ret_signal,
		    struct errmsg *err)
{
	const json_t *v = member(o, name);
	int code;
	int sig;
	int used = 0;

	if (!v)
		return 0;
	if (!json_is_string(v) ||
	    sscanf(json_string_value(v), "%9d:%9d%n", &code, &sig, &used) != 2 ||
	    json_string_value(v)[used])
		return bad(err, name, "not like 0:0");
	*ret_code = code;
	*ret_signal = sig;
	return 0;
}

static int get_object(const json_t *o, const char *name, const json_t **ret,
		      struct errmsg *err)
{
	*ret = member(o, name);
	return *ret && !json_is_object(*ret) ? bad(err, name, "not an object") : 0;
}

static int get_figures(const json_t *o, struct figures *f, struct errmsg *err)
{
	const struct record_place *p = record_places();
	const struct record_place *end = p + METRIC_N;
	const json_t *outer = NULL;
	const json_t *inner = NULL;

	figures_init(f);
	for (; p < end; p++) {
		struct maybe_u64 value = { 0 };
		int rc = 0;

		if (p->is_first[0])
			rc = get_object(o, p->object[0], &outer, err);
		if (rc == 0 && p->is_first[1])
			rc = get_object(outer, p->object[1], &inner, err);
		if (rc == 0)
			rc = get_scaled(p->object[1] ? inner : outer, p->name, p->scale, &value,
					err);
		if (rc < 0)
			return rc;
		if (value.known)
			figures_set(f, p->metric, value.value);
	}
	return 0;
}

static int get_energy(const json_t *o, struct record_energy *e, struct errmsg *err)
{
	const json_t *energy;
	const json_t *final;
	int rc = get_object(o, "energy", &energy, err);

	if (rc < 0)
		return rc;
	final = member(energy, "final");
	if (final && !json_is_boolean(final))
		return bad(err, "energy.final", "not true or false");
	e->final = json_is_true(final);
	rc = get_maybe(energy, "total_j", &e->total_j, err);
	if (rc == 0)
		rc = get_buf(energy, "method", e->method, sizeof(e->method), err);
	if (rc == 0)
		rc = get_buf(energy, "source", e->source, sizeof(e->source), err);
	return rc;
}

static int get_kind(const char *name, enum emission_kind *ret)
{
	enum emission_kind k;

	for (k = EMISSION_STATIC; k <= EMISSION_DEFAULT; k++) {
		if (!strcmp(name, emission_kind_name(k))) {
			*ret = k;
			return 0;
		}
	}
	return -EINVAL;
}

static int get_emissions(const json_t *o, struct record *r, struct errmsg *err)
{
	struct maybe_u64 factor = { 0 };
	struct maybe_u64 pue = { 0 };
	const json_t *emissions;
	enum record_co2e_method m;
	char method[16] = "";
	char kind[16] = "";
	int rc = get_object(o, "emissions", &emissions, err);

	if (rc == 0)
		rc = get_scaled(emissions, "factor_g_per_kwh", 1000, &factor, err);
	if (rc == 0)
		rc = get_scaled(emissions, "pue", 1000, &pue, err);
	if (rc == 0)
		rc = get_buf(emissions, "method", method, sizeof(method), err);
	if (rc == 0)
		rc = get_buf(emissions, "kind", kind, sizeof(kind), err);
	if (rc == 0)
		rc = get_buf(emissions, "region", r->factor.region, sizeof(r->factor.region),
			     err);
	if (rc == 0)
		rc = get_buf(emissions, "source", r->factor.source, sizeof(r->factor.source),
			     err);
	if (rc == 0)
		rc = get_u32(emissions, "year", &r->factor.year, err);
	if (rc < 0)
		return rc;
	if (*kind && get_kind(kind, &r->factor.kind) < 0)
		return bad(err, "emissions.kind", "not known");
	for (m = CO2E_PER_TICK; m <= CO2E_MEAN_POWER; m++)
		if (!strcmp(method, record_co2e_method_name(m)))
			r->co2e_method = m;
	r->has_factor = factor.known;
	r->factor.mg_per_kwh = factor.value;
	r->pue_milli = pue.value;
	return 0;
}

static int get_spread(const json_t *o, const char *name, const char *max, uint64_t scale,
		      struct record_spread *ret, struct errmsg *err)
{
	const json_t *spread;
	int rc = get_object(o, name, &spread, err);

	if (rc == 0)
		rc = get_scaled(spread, max, scale, &ret->max, err);
	if (rc == 0)
		rc = get_buf(spread, "max_node", ret->max_node, sizeof(ret->max_node), err);
	return rc;
}

static int get_imbalance(const json_t *o, struct record_step *s, struct errmsg *err)
{
	const json_t *imbalance;
	int rc = get_object(o, "load_imbalance", &imbalance, err);

	if (rc == 0)
		rc = get_spread(imbalance, "cpu_time", "max_s", NSEC_PER_SEC, &s->cpu_time, err);
	if (rc == 0)
		rc = get_spread(imbalance, "energy", "max_j", 1000000, &s->energy, err);
	return rc;
}

static int get_step(json_t *o, struct record_step *s, struct errmsg *err)
{
	int rc;

	if (!json_is_object(o))
		return bad(err, "steps", "not an array of objects");
	rc = unescape(o, err);
	if (rc == 0)
		rc = get_u32(o, "stepid", &s->step_id, err);
	if (rc == 0)
		rc = get_maybe(o, "het_component", &s->het_component, err);
	if (rc == 0)
		rc = get_buf(o, "name", s->name, sizeof(s->name), err);
	if (rc == 0)
		rc = get_buf(o, "state", s->state, sizeof(s->state), err);
	if (rc == 0)
		rc = get_buf(o, "nodes", s->nodes, sizeof(s->nodes), err);
	if (rc == 0)
		rc = get_u32(o, "ntasks", &s->ntasks, err);
	if (rc == 0)
		rc = get_u32(o, "nnodes", &s->nnodes, err);
	if (rc == 0)
		rc = get_u32(o, "ncpus", &s->ncpus, err);
	if (rc == 0)
		rc = get_time(o, "@start", &s->start, err);
	if (rc == 0)
		rc = get_time(o, "@end", &s->end, err);
	if (rc == 0)
		rc = get_exit(o, "exit_code", &s->exit_code, &s->exit_signal, err);
	if (rc == 0)
		rc = get_scaled(o, "user_cpu_s", 1000000, &s->user_cpu_us, err);
	if (rc == 0)
		rc = get_scaled(o, "system_cpu_s", 1000000, &s->system_cpu_us, err);
	if (rc == 0)
		rc = get_maybe(o, "max_rss_bytes", &s->max_rss_bytes, err);
	if (rc == 0)
		rc = get_figures(o, &s->figures, err);
	if (rc == 0)
		rc = get_imbalance(o, s, err);
	return rc;
}

static int get_steps(const json_t *o, struct record *r, struct errmsg *err)
{
	const json_t *steps = member(o, "steps");
	size_t n;
	size_t i;
	int rc;

	if (!steps)
		return 0;
	if (!json_is_array(steps))
		return bad(err, "steps", "not an array");
	n = json_array_size(steps);
	if (n > STEPS_MAX)
		return bad(err, "steps", "too many");
	if (n) {
		r->steps = calloc(n, sizeof(*r->steps));
		if (!r->steps)
			return errmsg_set(err, -ENOMEM, "record: out of memory");
	}
	for (i = 0; i < n; i++) {
		rc = get_step(json_array_get(steps, i), &r->steps[i], err);
		if (rc < 0)
			return rc;
		r->nsteps++;
	}
	r->steps_known = true;
	return 0;
}

static int flat_field(const json_t *o, const struct record_field *f, struct record *r,
		      struct errmsg *err)
{
	void *p = (char *)r + f->offset;

	switch (f->kind) {
	case FIELD_TEXT:
		return get_text(o, f->name, p, err);
	case FIELD_U32:
		return get_u32(o, f->name, p, err);
	case FIELD_MAYBE:
		return get_maybe(o, f->name, p, err);
	case FIELD_TIME:
		return get_time(o, f->name, p, err);
	}
	return -EINVAL;
}

static int get_flat(const json_t *o, struct record *r, struct errmsg *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < record_nfields; i++)
		rc = flat_field(o, &record_fields[i], r, err);
	if (rc == 0 && (!r->cluster || !*r->cluster))
		rc = bad(err, "cluster", "missing");
	if (rc == 0 && !r->job_id)
		rc = bad(err, "jobid", "missing");
	return rc;
}

static int get_record(json_t *o, struct record *r, struct errmsg *err)
{
	struct maybe_u64 limit = { 0 };
	struct maybe_u64 total = { 0 };
	int32_t ignored;
	int rc = get_flat(o, r, err);

	if (rc == 0)
		rc = get_exit(o, "exit_code", &r->exit_code, &r->exit_signal, err);
	if (rc == 0)
		rc = get_exit(o, "derived_ec", &r->derived_exit_code, &ignored, err);
	if (rc == 0)
		rc = get_maybe(o, "time_limit", &limit, err);
	r->time_limit_min = (struct maybe_u64){ limit.value / 60, limit.known };
	if (rc == 0)
		rc = get_figures(o, &r->figures, err);
	if (rc == 0)
		rc = get_energy(o, &r->energy, err);
	if (rc == 0)
		rc = get_emissions(o, r, err);
	if (rc == 0)
		rc = get_steps(o, r, err);
	if (rc == 0)
		rc = get_maybe(o, "steps_total", &total, err);
	r->steps_total = total.value;
	return rc;
}

static int load(const char *json, size_t len, const char *schema, json_t **ret, struct errmsg *err)
{
	json_error_t where;
	json_t *o = json_loadb(json, len, JSON_REJECT_DUPLICATES, &where);
	const char *is = json_string_value(json_object_get(o, "schema"));
	int rc;

	if (!o)
		return errmsg_set(err, -EINVAL, "record: %s at byte %d", where.text,
				  where.position);
	rc = is && !strcmp(is, schema) ? unescape(o, err) :
					 errmsg_set(err, -EINVAL, "record: schema: not %s", schema);
	if (rc < 0)
		json_decref(o);
	else
		*ret = o;
	return rc;
}

int record_from_json(const char *json, size_t len, struct record **ret, struct errmsg *err)
{
	struct record *r;
	json_t *o;
	int rc = load(json, len, RECORD_SCHEMA, &o, err);

	if (rc < 0)
		return rc;
	r = record_create();
	rc = r ? get_record(o, r, err) : errmsg_set(err, -ENOMEM, "record: out of memory");
	json_decref(o);
	if (rc < 0)
		record_destroy(r);
	else
		*ret = r;
	return rc;
}

static int get_part(const json_t *o, struct record *r, char *job_key, struct errmsg *err)
{
	const char *key = json_string_value(json_object_get(o, "job_key"));
	int rc;

	if (!key || !*key || strlen(key) >= RECORD_KEY_MAX)
		return bad(err, "job_key", "missing or too long");
	rc = get_flat(o, r, err);
	if (rc == 0)
		rc = get_steps(o, r, err);
	if (rc == 0)
		(void)snprintf(job_key, RECORD_KEY_MAX, "%s", key);
	return rc;
}

int record_from_steps_json(const char *json, size_t len, struct record **ret,
			   char ret_job_key[RECORD_KEY_MAX], struct errmsg *err)
{
	struct record *r;
	json_t *o;
	int rc = load(json, len, RECORD_STEPS_SCHEMA, &o, err);

	if (rc < 0)
		return rc;
	r = record_create();
	rc = r ? get_part(o, r, ret_job_key, err) : errmsg_set(err, -ENOMEM, "record: out of memory");
	json_decref(o);
	if (rc < 0)
		record_destroy(r);
	else
		*ret = r;
	return rc;
}
