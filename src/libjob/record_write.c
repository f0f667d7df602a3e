/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/libjob/record_json.h"
#include "src/libjob/utf8.h"
#include "src/libutil/util.h"

/*
 * Digits of a decimal. A double carries 15 exactly; with more, jansson would print the noise
 * behind them (0.1 as 0.10000000000000001).
 */
#define REAL_DIGITS 15

/*
 * jansson's setters take a NULL value as failure and own the value in every case, so that a
 * failed allocation shows in the return code of the whole and leaks nothing.
 */
static int put(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new_nocheck(object, name, value) < 0 ? -ENOMEM : 0;
}

/* JSON numbers of jansson end at 2^63; nothing real is larger, so it counts as unknown. */
static json_t *number(uint64_t value)
{
	return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

static json_t *maybe(const struct maybe_u64 *m)
{
	return m->known ? number(m->value) : json_null();
}

/* VALUE / SCALE; whole numbers stay integers, so that 12 J is 12 and not 12.0. */
static json_t *decimal(uint64_t value, uint64_t scale)
{
	if (value % scale == 0)
		return number(value / scale);
	return json_real((double)value / (double)scale);
}

static json_t *text(const char *s)
{
	_cleanup_free_ char *clean = NULL;

	if (!s || !*s)
		return json_null();
	clean = utf8_clean(s, strlen(s), NULL);
	return clean ? json_string_nocheck(clean) : NULL;
}

static json_t *iso_time(uint64_t t)
{
	time_t sec = (time_t)t;
	struct tm tm;
	char buf[40];

	if (!t || t > INT64_MAX || !gmtime_r(&sec, &tm) ||
	    !strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return json_null();
	return json_string_nocheck(buf);
}

/* "status:signal", as sacct and jobcomp/elasticsearch write it. */
static json_t *exit_text(int32_t code, int32_t sig)
{
	return json_sprintf("%" PRId32 ":%" PRId32, code, sig);
}

static json_t *flat_field(const struct record *r, const struct record_field *f)
{
	const void *p = (const char *)r + f->offset;

	switch (f->kind) {
	case FIELD_TEXT:
		return text(*(char *const *)p);
	case FIELD_U32:
		return number(*(const uint32_t *)p);
	case FIELD_MAYBE:
		return maybe(p);
	case FIELD_TIME:
		return iso_time(*(const uint64_t *)p);
	}
	return NULL;
}

static json_t *elapsed(uint64_t start, uint64_t end)
{
	return start && end >= start ? number(end - start) : json_null();
}

/* The object NAME of PARENT, made when it is not there. Borrowed. */
static json_t *sub_object(json_t *parent, const char *name)
{
	json_t *o = json_object_get(parent, name);

	if (o)
		return o;
	if (put(parent, name, json_object()) < 0)
		return NULL;
	return json_object_get(parent, name);
}

static json_t *static_sum(const struct figures *f)
{
	static const enum metric parts[] = {
		METRIC_CPU_ENERGY_STATIC, METRIC_DRAM_ENERGY_STATIC,
		METRIC_GPU_ENERGY_STATIC, METRIC_OTHER_ENERGY_STATIC,
	};
	uint64_t sum = 0;
	bool known = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!figures_has(f, parts[i]))
			continue;
		known = true;
		if (__builtin_add_overflow(sum, f->value[parts[i]], &sum))
			return json_null();
	}
	return known ? decimal(sum, UINT64_C(1000000)) : json_null();
}

/* What the schema does not ask of a step. */
static bool is_optional(enum metric m)
{
	return m != METRIC_ENERGY && m != METRIC_CO2E;
}

/*
 * "energy", "emissions" and "usage" with every metric of the table; those that are not known are null,
 * or left out where the record would grow by as much per step (OMIT).
 */
static int put_figures(json_t *whole, const struct figures *f, bool omit)
{
	json_t *energy;
	unsigned int m;
	int rc = 0;

	metric_foreach(m) {
		struct record_place at;
		json_t *o;

		record_place_of((enum metric)m, &at);
		o = sub_object(whole, at.object[0]);
		if (o && omit && is_optional((enum metric)m) && !figures_has(f, (enum metric)m))
			continue;
		if (o && at.object[1])
			o = sub_object(o, at.object[1]);
		if (!o)
			return -ENOMEM;
		rc |= put(o, at.name,
			  figures_has(f, (enum metric)m) ? decimal(f->value[m], at.scale) :
							   json_null());
	}
	energy = sub_object(whole, "energy");
	rc |= energy ? put(energy, "static_j", static_sum(f)) : -ENOMEM;
	return rc ? -ENOMEM : 0;
}

static int put_energy(json_t *energy, const struct record_energy *e)
{
	int rc = 0;

	/* Slurm's own number, even where the nodes' figures say more: it is the one in sacct */
	rc |= put(energy, "total_j", maybe(&e->total_j));
	rc |= put(energy, "final", json_boolean(e->final));
	rc |= put(energy, "method", text(e->method));
	rc |= put(energy, "source", text(e->source));
	return rc ? -ENOMEM : 0;
}

static int put_emissions(json_t *emissions, const struct record *r)
{
	const struct emission_factor *f = r->has_factor ? &r->factor : NULL;
	int rc = 0;

	rc |= put(emissions, "method", text(record_co2e_method_name(r->co2e_method)));
	rc |= put(emissions, "factor_g_per_kwh", f ? decimal(f->mg_per_kwh, 1000) : json_null());
	rc |= put(emissions, "kind", f ? text(emission_kind_name(f->kind)) : json_null());
	rc |= put(emissions, "region", f ? text(f->region) : json_null());
	rc |= put(emissions, "source", f ? text(f->source) : json_null());
	rc |= put(emissions, "year", f && f->year ? number(f->year) : json_null());
	rc |= put(emissions, "pue", r->pue_milli ? decimal(r->pue_milli, 1000) : json_null());
	return rc ? -ENOMEM : 0;
}

/* A ratio with as many digits as can mean something. */
static json_t *ratio(double value)
{
	char digits[32];

	(void)snprintf(digits, sizeof(digits), "%.6g", value);
	return json_real(strtod(digits, NULL));
}

/* Owned by the caller; NULL: out of memory. */
static json_t *derived_object(const struct record *r)
{
	json_t *o = json_object();
	unsigned int d;
	int rc = 0;

	for (d = 0; o && d < DERIVED_N; d++) {
		double v;

		rc |= put(o, derived_table[d].name,
			  record_derived(r, (enum derived)d, &v) ? ratio(v) : json_null());
	}
	if (rc) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* Those that are known. */
static json_t *step_derived_object(const struct record_step *s)
{
	json_t *o = json_object();
	unsigned int d;
	int rc = 0;

	for (d = 0; o && d < DERIVED_N; d++) {
		double v;

		if (record_step_derived(s, (enum derived)d, &v))
			rc |= put(o, derived_table[d].name, ratio(v));
	}
	if (rc) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *spread_object(const struct record_step *s, enum metric m)
{
	const struct record_spread *spread = m == METRIC_ENERGY ? &s->energy : &s->cpu_time;
	struct record_place at;
	char max[16];
	double imbalance;
	json_t *o;
	int rc = 0;

	if (!record_step_imbalance(s, m, &imbalance))
		return json_null();
	o = json_object();
	if (!o)
		return NULL;
	record_place_of(m, &at);
	(void)snprintf(max, sizeof(max), "max_%c", m == METRIC_ENERGY ? 'j' : 's');
	rc |= put(o, "imbalance", ratio(imbalance));
	rc |= put(o, max, decimal(spread->max.value, at.scale));
	rc |= put(o, "max_node", text(spread->max_node));
	if (rc) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* null where neither is known: most steps have one node. */
static json_t *imbalance_object(const struct record_step *s)
{
	json_t *o;
	double v;

	if (!record_step_imbalance(s, METRIC_CPU_TIME, &v) &&
	    !record_step_imbalance(s, METRIC_ENERGY, &v))
		return json_null();
	o = json_object();
	if (o && (put(o, "cpu_time", spread_object(s, METRIC_CPU_TIME)) < 0 ||
		  put(o, "energy", spread_object(s, METRIC_ENERGY)) < 0)) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* Owned by the caller; NULL: out of memory. */
static json_t *step_object(const struct record_step *s)
{
	json_t *o = json_object();
	int rc = 0;

	if (!o)
		return NULL;
	rc |= put(o, "stepid", number(s->step_id));
	rc |= put(o, "name", text(s->name));
	rc |= put(o, "state", text(s->state));
	rc |= put(o, "nodes", text(s->nodes));
	rc |= put(o, "ntasks", number(s->ntasks));
	rc |= put(o, "nnodes", s->nnodes ? number(s->nnodes) : json_null());
	rc |= put(o, "ncpus", s->ncpus ? number(s->ncpus) : json_null());
	rc |= put(o, "@start", iso_time(s->start));
	rc |= put(o, "@end", iso_time(s->end));
	rc |= put(o, "elapsed", elapsed(s->start, s->end));
	rc |= put(o, "exit_code", exit_text(s->exit_code, s->exit_signal));
	rc |= put(o, "user_cpu_s",
		  s->user_cpu_us.known ? decimal(s->user_cpu_us.value, 1000000) : json_null());
	rc |= put(o, "system_cpu_s",
		  s->system_cpu_us.known ? decimal(s->system_cpu_us.value, 1000000) :
					   json_null());
	rc |= put(o, "max_rss_bytes", maybe(&s->max_rss_bytes));
	rc |= put_figures(o, &s->figures, /* omit= */ true);
	rc |= put(o, "derived", step_derived_object(s));
	rc |= put(o, "load_imbalance", imbalance_object(s));
	if (rc) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *step_array(const struct record *r)
{
	json_t *a;
	size_t i;

	if (!r->steps_known)
		return json_null();
	a = json_array();
	for (i = 0; a && i < r->nsteps; i++) {
		if (json_array_append_new(a, step_object(&r->steps[i])) < 0) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

static int put_record(json_t *o, const struct record *r, const char *key)
{
	size_t i;
	int rc = 0;

	rc |= put(o, "schema", json_string_nocheck(RECORD_SCHEMA));
	rc |= put(o, "key", json_string_nocheck(key));
	for (i = 0; i < record_nfields; i++)
		rc |= put(o, record_fields[i].name, flat_field(r, &record_fields[i]));
	rc |= put(o, "elapsed", elapsed(r->start, r->end));
	rc |= put(o, "exit_code", exit_text(r->exit_code, r->exit_signal));
	rc |= put(o, "derived_ec", exit_text(r->derived_exit_code, 0));
	/* minutes here, seconds in the JSON that users know */
	rc |= put(o, "time_limit",
		  r->time_limit_min.known && r->time_limit_min.value <= UINT32_MAX ?
			  number(r->time_limit_min.value * 60) :
			  json_null());
	rc |= put_figures(o, &r->figures, /* omit= */ false);
	if (rc)
		return -ENOMEM;
	rc |= put_energy(json_object_get(o, "energy"), &r->energy);
	rc |= put_emissions(json_object_get(o, "emissions"), r);
	rc |= put(o, "derived", derived_object(r));
	rc |= put(o, "steps", step_array(r));
	return rc ? -ENOMEM : 0;
}

int record_to_json(const struct record *r, char **ret, size_t *ret_len, struct errmsg *err)
{
	char key[RECORD_KEY_MAX];
	char *line = NULL;
	json_t *o;
	int rc = record_key(r, key, sizeof(key));

	if (rc < 0)
		return errmsg_set(err, rc, "record of job %u has no key", r->job_id);
	o = json_object();
	if (o && put_record(o, r, key) == 0)
		line = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
	json_decref(o);
	if (!line)
		return errmsg_set(err, -ENOMEM, "record %s: out of memory", key);
	*ret = line;
	if (ret_len)
		*ret_len = strlen(line);
	return 0;
}

int record_to_json_within(const struct record *r, size_t max, char **ret, size_t *ret_len,
			  bool *ret_cut, struct errmsg *err)
{
	struct record without = *r; /* borrows all texts */
	_cleanup_free_ char *json = NULL;
	bool is_cut = false;
	size_t len;
	int rc = record_to_json(r, &json, &len, err);

	if (rc == 0 && len > max) {
		without.steps = NULL;
		without.nsteps = 0;
		without.steps_known = false;
		is_cut = true;
		free(TAKE_PTR(json));
		rc = record_to_json(&without, &json, &len, err);
	}
	if (rc < 0)
		return rc;
	if (len > max)
		return errmsg_set(err, -EMSGSIZE, "record of job %u has %zu bytes", r->job_id,
				  len);
	*ret = TAKE_PTR(json);
	*ret_len = len;
	*ret_cut = is_cut;
	return 0;
}
