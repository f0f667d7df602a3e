/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "src/libemission/emission.h"
#include "src/librecord/record_get.h"
#include "src/librecord/record_json.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define STEPS_MAX 100000 /* of one job: a bound for damaged input, far above MaxStepCount */

static int get_figures(struct jsonin_value *o, struct figures *f, struct errmsg *err)
{
	const struct record_place *p = record_places();
	const struct record_place *end = p + METRIC_N;
	struct jsonin_value *outer = NULL;
	struct jsonin_value *inner = NULL;

	figures_init(f);
	for (; p < end; p++) {
		struct maybe_u64 value = { 0 };
		int rc = 0;

		if (p->is_first[0])
			rc = record_get_object(o, p->object[0], &outer, err);
		if (rc == 0 && p->is_first[1])
			rc = record_get_object(outer, p->object[1], &inner, err);
		if (rc == 0)
			rc = record_get_scaled(p->object[1] ? inner : outer, p->name, p->scale, &value,
					err);
		if (rc < 0)
			return rc;
		if (value.known)
			figures_set(f, p->metric, value.value);
	}
	return 0;
}

static int get_energy(struct jsonin_value *o, struct record_energy *e, struct errmsg *err)
{
	struct jsonin_value *energy;
	struct jsonin_value *final;
	int rc = record_get_object(o, "energy", &energy, err);

	if (rc < 0)
		return rc;
	final = record_member(energy, "final");
	if (final && final->type != JSONIN_TRUE && final->type != JSONIN_FALSE)
		return record_bad(err, "energy.final", "not true or false");
	e->final = final && final->type == JSONIN_TRUE;
	rc = record_get_maybe(energy, "total_j", &e->total_j, err);
	if (rc == 0)
		rc = record_get_buf(energy, "method", e->method, sizeof(e->method), err);
	if (rc == 0)
		rc = record_get_buf(energy, "source", e->source, sizeof(e->source), err);
	return rc;
}

/* What a later version may write and this one does not know is unknown, and no reason to lose a record. */
static void forget_unknown_names(struct record_emissions *e)
{
	enum emission_kind k;
	enum emission_scope s;

	if (strcmp(e->kind, RECORD_MIXED) &&
	    (emission_kind_of(e->kind, &k) < 0 || k == EMISSION_MARGINAL))
		e->kind[0] = '\0';
	if (strcmp(e->scope, RECORD_MIXED) && emission_scope_of(e->scope, &s) < 0)
		e->scope[0] = '\0';
}

static int get_factor(struct jsonin_value *o, struct record_emissions *e, struct errmsg *err)
{
	int rc = record_get_scaled(o, "factor_g_per_kwh", RECORD_UG_PER_G, &e->factor_ug_per_kwh,
				   err);

	if (rc == 0)
		rc = record_get_buf(o, "kind", e->kind, sizeof(e->kind), err);
	if (rc == 0)
		rc = record_get_buf(o, "scope", e->scope, sizeof(e->scope), err);
	if (rc == 0)
		rc = record_get_buf(o, "region", e->region, sizeof(e->region), err);
	if (rc == 0)
		rc = record_get_buf(o, "source", e->source, sizeof(e->source), err);
	if (rc == 0)
		rc = record_get_u32(o, "year", &e->year, err);
	forget_unknown_names(e);
	return rc;
}

static int get_emissions(struct jsonin_value *record, struct record_emissions *e,
			 struct errmsg *err)
{
	struct maybe_u64 pue = { 0 };
	struct jsonin_value *o;
	enum record_co2e_method m;
	char method[16] = "";
	int rc = record_get_object(record, "emissions", &o, err);

	if (rc == 0)
		rc = record_get_buf(o, "method", method, sizeof(method), err);
	if (rc == 0)
		rc = get_factor(o, e, err);
	if (rc == 0)
		rc = record_get_scaled(o, "pue", 1000, &pue, err);
	if (rc == 0)
		rc = record_get_scaled(o, "market_factor_g_per_kwh", RECORD_UG_PER_G,
				       &e->market_ug_per_kwh, err);
	if (rc == 0)
		rc = record_get_buf(o, "market_source", e->market_source,
				    sizeof(e->market_source), err);
	if (rc == 0)
		rc = record_get_scaled(o, "embodied_g", RECORD_NG_PER_G, &e->embodied_ng, err);
	if (rc == 0)
		rc = record_get_buf(o, "embodied_source", e->embodied_source,
				    sizeof(e->embodied_source), err);
	if (rc < 0)
		return rc;
	for (m = CO2E_PER_TICK; m <= CO2E_MEAN_POWER; m++)
		if (!strcmp(method, record_co2e_method_name(m)))
			e->method = m;
	e->pue_milli = pue.value;
	return 0;
}

static int get_spread(struct jsonin_value *o, const char *name, const char *max, uint64_t scale,
		      struct record_spread *ret, struct errmsg *err)
{
	struct jsonin_value *spread;
	int rc = record_get_object(o, name, &spread, err);

	if (rc == 0)
		rc = record_get_scaled(spread, max, scale, &ret->max, err);
	if (rc == 0)
		rc = record_get_buf(spread, "max_node", ret->max_node, sizeof(ret->max_node), err);
	return rc;
}

static int get_imbalance(struct jsonin_value *o, struct record_step *s, struct errmsg *err)
{
	struct jsonin_value *imbalance;
	int rc = record_get_object(o, "load_imbalance", &imbalance, err);

	if (rc == 0)
		rc = get_spread(imbalance, "cpu_time", "max_s", NSEC_PER_SEC, &s->cpu_time, err);
	if (rc == 0)
		rc = get_spread(imbalance, "energy", "max_j", 1000000, &s->energy, err);
	return rc;
}

static int get_step(struct jsonin_value *o, struct record_step *s, struct errmsg *err)
{
	int rc;

	if (o->type != JSONIN_OBJECT)
		return record_bad(err, "steps", "not an array of objects");
	rc = record_unescape(o, err);
	if (rc == 0)
		rc = record_get_u32(o, "stepid", &s->step_id, err);
	if (rc == 0)
		rc = record_get_maybe(o, "het_component", &s->het_component, err);
	if (rc == 0)
		rc = record_get_text(o, "name", &s->name, err);
	if (rc == 0)
		rc = record_get_buf(o, "state", s->state, sizeof(s->state), err);
	if (rc == 0)
		rc = record_get_text(o, "nodes", &s->nodes, err);
	if (rc == 0)
		rc = record_get_u32(o, "ntasks", &s->ntasks, err);
	if (rc == 0)
		rc = record_get_u32(o, "nnodes", &s->nnodes, err);
	if (rc == 0)
		rc = record_get_u32(o, "ncpus", &s->ncpus, err);
	if (rc == 0)
		rc = record_get_time(o, "@start", &s->start, err);
	if (rc == 0)
		rc = record_get_time(o, "@end", &s->end, err);
	if (rc == 0)
		rc = record_get_exit(o, "exit_code", &s->exit_code, &s->exit_signal, err);
	s->exit_unknown = !record_member(o, "exit_code");
	if (rc == 0)
		rc = record_get_scaled(o, "user_cpu_s", 1000000, &s->user_cpu_us, err);
	if (rc == 0)
		rc = record_get_scaled(o, "system_cpu_s", 1000000, &s->system_cpu_us, err);
	if (rc == 0)
		rc = record_get_maybe(o, "max_rss_bytes", &s->max_rss_bytes, err);
	if (rc == 0)
		rc = get_figures(o, &s->figures, err);
	if (rc == 0)
		rc = get_imbalance(o, s, err);
	return rc;
}

static int get_steps(struct jsonin_value *o, struct record *r, struct errmsg *err)
{
	struct jsonin_value *steps = record_member(o, "steps");
	struct jsonin_value *v;
	int rc;

	if (!steps)
		return 0;
	if (steps->type != JSONIN_ARRAY)
		return record_bad(err, "steps", "not an array");
	if (steps->n > STEPS_MAX)
		return record_bad(err, "steps", "too many");
	if (steps->n) {
		r->steps = calloc(steps->n, sizeof(*r->steps));
		if (!r->steps)
			return errmsg_set(err, -ENOMEM, "record: out of memory");
	}
	for (v = jsonin_first(steps); v < jsonin_end(steps); v = jsonin_next(v)) {
		rc = get_step(v, &r->steps[r->nsteps++], err);
		if (rc < 0)
			return rc;
	}
	r->steps_known = true;
	return 0;
}

static int flat_field(struct jsonin_value *o, const struct record_field *f, struct record *r,
		      struct errmsg *err)
{
	void *p = (char *)r + f->offset;

	switch (f->kind) {
	case FIELD_TEXT:
		return record_get_text(o, f->name, p, err);
	case FIELD_U32:
		return record_get_u32(o, f->name, p, err);
	case FIELD_MAYBE:
		return record_get_maybe(o, f->name, p, err);
	case FIELD_TIME:
		return record_get_time(o, f->name, p, err);
	}
	return -EINVAL;
}

static int get_flat(struct jsonin_value *o, struct record *r, struct errmsg *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < record_nfields; i++)
		rc = flat_field(o, &record_fields[i], r, err);
	if (rc == 0 && (!r->cluster || !*r->cluster))
		rc = record_bad(err, "cluster", "missing");
	if (rc == 0 && !r->job_id)
		rc = record_bad(err, "jobid", "missing");
	return rc;
}

static int get_record(struct jsonin_value *o, struct record *r, struct errmsg *err)
{
	struct maybe_u64 limit = { 0 };
	struct maybe_u64 total = { 0 };
	int32_t ignored;
	int rc = get_flat(o, r, err);

	if (rc == 0)
		rc = record_get_exit(o, "exit_code", &r->exit_code, &r->exit_signal, err);
	if (rc == 0)
		rc = record_get_exit(o, "derived_ec", &r->derived_exit_code, &ignored, err);
	if (rc == 0)
		rc = record_get_maybe(o, "time_limit", &limit, err);
	r->time_limit_min = (struct maybe_u64){ limit.value / 60, limit.known };
	if (rc == 0)
		rc = get_figures(o, &r->figures, err);
	if (rc == 0)
		rc = get_energy(o, &r->energy, err);
	if (rc == 0)
		rc = get_emissions(o, &r->emissions, err);
	if (rc == 0)
		rc = get_steps(o, r, err);
	if (rc == 0)
		rc = record_get_maybe(o, "steps_total", &total, err);
	r->steps_total = total.value;
	return rc;
}

static int load(const char *json, size_t len, const char *schema, struct jsonin **ret,
		struct errmsg *err)
{
	struct errmsg why = { 0 };
	struct jsonin_value *is;
	struct jsonin *j;
	int rc = jsonin_parse(json, len, &j, &why);

	if (rc < 0)
		return errmsg_set(err, rc, "record: %s", why.text);
	is = jsonin_member(jsonin_root(j), "schema");
	rc = is && is->type == JSONIN_STRING && !strcmp(is->text, schema) ?
		     record_unescape(jsonin_root(j), err) :
		     errmsg_set(err, -EINVAL, "record: schema: not %s", schema);
	if (rc < 0)
		jsonin_destroy(j);
	else
		*ret = j;
	return rc;
}

int record_from_json(const char *json, size_t len, struct record **ret, struct errmsg *err)
{
	struct record *r;
	struct jsonin *j;
	int rc = load(json, len, RECORD_SCHEMA, &j, err);

	if (rc < 0)
		return rc;
	r = record_create();
	rc = r ? get_record(jsonin_root(j), r, err) :
		 errmsg_set(err, -ENOMEM, "record: out of memory");
	jsonin_destroy(j);
	if (rc < 0)
		record_destroy(r);
	else
		*ret = r;
	return rc;
}

static int get_part(struct jsonin_value *o, struct record *r, char *job_key, struct errmsg *err)
{
	struct jsonin_value *key = record_member(o, "job_key");
	int rc;

	if (!key || key->type != JSONIN_STRING || !*key->text || strlen(key->text) >= RECORD_KEY_MAX)
		return record_bad(err, "job_key", "missing or too long");
	rc = get_flat(o, r, err);
	if (rc == 0)
		rc = get_steps(o, r, err);
	if (rc == 0)
		(void)snprintf(job_key, RECORD_KEY_MAX, "%s", key->text);
	return rc;
}

int record_from_steps_json(const char *json, size_t len, struct record **ret,
			   char ret_job_key[RECORD_KEY_MAX], struct errmsg *err)
{
	struct record *r;
	struct jsonin *j;
	int rc = load(json, len, RECORD_STEPS_SCHEMA, &j, err);

	if (rc < 0)
		return rc;
	r = record_create();
	rc = r ? get_part(jsonin_root(j), r, ret_job_key, err) :
		 errmsg_set(err, -ENOMEM, "record: out of memory");
	jsonin_destroy(j);
	if (rc < 0)
		record_destroy(r);
	else
		*ret = r;
	return rc;
}
