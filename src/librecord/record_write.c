/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/libcore/domain.h"
#include "src/librecord/record_json.h"
#include "src/libutil/utf8.h"
#include "src/libutil/util.h"

#define UJ_PER_J UINT64_C(1000000)
#define US_PER_S UINT64_C(1000000)

void record_out_fini(struct record_out *o)
{
	jsonout_fini(&o->json);
	jsonout_fini(&o->escaped);
}

/* --- values ------------------------------------------------------------------------------ */

static void put_null(struct record_out *o, const char *name)
{
	if (o->omits)
		return;
	jsonout_name(&o->json, name);
	jsonout_null(&o->json);
}

static void put_u64(struct record_out *o, const char *name, uint64_t v)
{
	jsonout_name(&o->json, name);
	jsonout_u64(&o->json, v);
}

/* A count of which 0 is unknown. */
static void put_count(struct record_out *o, const char *name, uint64_t v)
{
	if (v)
		put_u64(o, name, v);
	else
		put_null(o, name);
}

static void put_maybe(struct record_out *o, const char *name, const struct maybe_u64 *m)
{
	if (m->known)
		put_u64(o, name, m->value);
	else
		put_null(o, name);
}

static void put_decimal(struct record_out *o, const char *name, uint64_t value, uint64_t scale)
{
	jsonout_name(&o->json, name);
	jsonout_decimal(&o->json, value, scale);
}

static void put_scaled(struct record_out *o, const char *name, const struct maybe_u64 *m,
		       uint64_t scale)
{
	if (m->known)
		put_decimal(o, name, m->value, scale);
	else
		put_null(o, name);
}

static void note_escaped(struct record_out *o, const char *name)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s%s", o->prefix ? o->prefix : "", name);
	jsonout_next(&o->escaped);
	jsonout_string(&o->escaped, path, strlen(path));
}

static void put_text(struct record_out *o, const char *name, const char *s)
{
	_cleanup_free_ char *escaped = NULL;
	size_t len = s ? strlen(s) : 0;

	if (!len) {
		put_null(o, name);
		return;
	}
	jsonout_name(&o->json, name);
	if (utf8_escape(s, len, &escaped, &len) < 0)
		o->json.failed = true;
	jsonout_string(&o->json, escaped ? escaped : s, len);
	if (escaped)
		note_escaped(o, name);
}

/* "escaped" of what was put since the last call. */
static void put_escaped(struct record_out *o)
{
	if (!o->escaped.len)
		return;
	jsonout_name(&o->json, "escaped");
	jsonout_open(&o->json, '[');
	jsonout_raw(&o->json, o->escaped.text, o->escaped.len);
	jsonout_close(&o->json, ']');
	o->escaped.len = 0;
}

/* Those of V end before END, over zeros. */
static void put_digits(char *end, int v)
{
	for (; v; v /= 10)
		*--end = (char)('0' + v % 10);
}

static void put_time(struct record_out *o, const char *name, uint64_t t)
{
	time_t sec = (time_t)t;
	char text[] = "0000-00-00T00:00:00Z";
	struct tm tm;

	if (!t || t > RECORD_TIME_MAX || !gmtime_r(&sec, &tm)) {
		put_null(o, name);
		return;
	}
	put_digits(text + 4, tm.tm_year + 1900);
	put_digits(text + 7, tm.tm_mon + 1);
	put_digits(text + 10, tm.tm_mday);
	put_digits(text + 13, tm.tm_hour);
	put_digits(text + 16, tm.tm_min);
	put_digits(text + 19, tm.tm_sec);
	jsonout_name(&o->json, name);
	jsonout_string(&o->json, text, sizeof(text) - 1);
}

static void put_elapsed(struct record_out *o, const char *name, uint64_t start, uint64_t end)
{
	if (start && end >= start)
		put_u64(o, name, end - start);
	else
		put_null(o, name);
}

/* "status:signal", as sacct and jobcomp/elasticsearch write it. */
static void put_exit(struct record_out *o, const char *name, int32_t code, int32_t sig)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRId32 ":%" PRId32, code, sig);

	jsonout_name(&o->json, name);
	jsonout_string(&o->json, text, (size_t)n);
}

/* --- figures ----------------------------------------------------------------------------- */

static struct maybe_u64 static_uj(const struct figures *f)
{
	struct maybe_u64 sum = { 0 };
	size_t i;

	for (i = 0; i < DOMAIN_N; i++) {
		if (!figures_has(f, domain_table[i].fixed))
			continue;
		sum.known = true;
		if (__builtin_add_overflow(sum.value, f->value[domain_table[i].fixed], &sum.value))
			return (struct maybe_u64){ 0 };
	}
	return sum;
}

static void end_energy(struct record_out *o, const struct figures *f, const struct record *r)
{
	struct maybe_u64 idle = static_uj(f);

	put_scaled(o, "static_j", &idle, UJ_PER_J);
	if (!r)
		return;
	jsonout_name(&o->json, "final");
	jsonout_bool(&o->json, r->energy.final);
	o->prefix = "energy.";
	put_text(o, "method", r->energy.method);
	put_text(o, "source", r->energy.source);
	o->prefix = NULL;
}

static void end_emissions(struct record_out *o, const struct record_emissions *e)
{
	struct maybe_u64 pue = { e->pue_milli, e->pue_milli != 0 };

	o->prefix = "emissions.";
	put_text(o, "method", record_co2e_method_name(e->method));
	put_scaled(o, "factor_g_per_kwh", &e->factor_ug_per_kwh, RECORD_UG_PER_G);
	put_text(o, "kind", e->kind);
	put_text(o, "scope", e->scope);
	put_text(o, "region", e->region);
	put_text(o, "source", e->source);
	put_count(o, "year", e->year);
	put_scaled(o, "pue", &pue, 1000);
	put_scaled(o, "market_factor_g_per_kwh", &e->market_ug_per_kwh, RECORD_UG_PER_G);
	put_text(o, "market_source", e->market_source);
	put_scaled(o, "embodied_g", &e->embodied_ng, RECORD_NG_PER_G);
	put_text(o, "embodied_source", e->embodied_source);
	o->prefix = NULL;
}

static void end_object(struct record_out *o, const char *name, const struct figures *f,
		       const struct record *r)
{
	if (!strcmp(name, "energy"))
		end_energy(o, f, r);
	else if (!strcmp(name, "emissions") && r)
		end_emissions(o, &r->emissions);
	jsonout_close(&o->json, '}');
}

/*
 * "energy", "emissions" and "usage" with every metric of the table. R: of this job, NULL: of a step,
 * of which what is not known is left out, as it would make the record grow by as much per step.
 */
static void put_figures(struct record_out *o, const struct figures *f, const struct record *r)
{
	const struct record_place *p = record_places();
	const struct record_place *end = p + METRIC_N;
	const struct record_place *outer = NULL; /* whose objects are open */
	const struct record_place *inner = NULL;

	for (; p < end; p++) {
		bool known = figures_has(f, p->metric);

		if (p->is_first[0] || p->is_first[1]) {
			if (inner)
				jsonout_close(&o->json, '}');
			inner = NULL;
		}
		if (p->is_first[0]) {
			if (outer)
				end_object(o, outer->object[0], f, r);
			outer = p;
			jsonout_name(&o->json, p->object[0]);
			jsonout_open(&o->json, '{');
		}
		if (o->omits && !known)
			continue;
		if (p->object[1] && !inner) {
			inner = p;
			jsonout_name(&o->json, p->object[1]);
			jsonout_open(&o->json, '{');
		}
		if (r && p->metric == METRIC_ENERGY)
			/* Slurm's own, even where the nodes' figures say more: it is the one in sacct */
			put_maybe(o, p->name, &r->energy.total_j);
		else if (known)
			put_decimal(o, p->name, f->value[p->metric], p->scale);
		else
			put_null(o, p->name);
	}
	if (inner)
		jsonout_close(&o->json, '}');
	if (outer)
		end_object(o, outer->object[0], f, r);
}

static void put_ratio(struct record_out *o, const char *name, bool known, double v)
{
	if (!known) {
		put_null(o, name);
		return;
	}
	jsonout_name(&o->json, name);
	jsonout_ratio(&o->json, v);
}

static void put_derived(struct record_out *o, const struct record *r, const struct record_step *s)
{
	unsigned int d;

	jsonout_name(&o->json, "derived");
	jsonout_open(&o->json, '{');
	for (d = 0; d < DERIVED_N; d++) {
		double v = 0;
		bool known = s ? record_step_derived(s, (enum derived)d, &v) :
				 record_derived(r, (enum derived)d, &v);

		put_ratio(o, derived_table[d].name, known, v);
	}
	jsonout_close(&o->json, '}');
}

static void put_spread(struct record_out *o, const char *name, const struct record_step *s,
		       enum metric m)
{
	bool is_energy = m == METRIC_ENERGY;
	const struct record_spread *spread = is_energy ? &s->energy : &s->cpu_time;
	double imbalance;

	if (!record_step_imbalance(s, m, &imbalance))
		return;
	jsonout_name(&o->json, name);
	jsonout_open(&o->json, '{');
	put_ratio(o, "imbalance", true, imbalance);
	put_scaled(o, is_energy ? "max_j" : "max_s", &spread->max,
		   is_energy ? UJ_PER_J : UINT64_C(1000000000));
	o->prefix = is_energy ? "load_imbalance.energy." : "load_imbalance.cpu_time.";
	put_text(o, "max_node", spread->max_node);
	o->prefix = NULL;
	jsonout_close(&o->json, '}');
}

/* Most steps have one node, and so no such thing. */
static void put_imbalance(struct record_out *o, const struct record_step *s)
{
	double v;

	if (!record_step_imbalance(s, METRIC_CPU_TIME, &v) &&
	    !record_step_imbalance(s, METRIC_ENERGY, &v))
		return;
	jsonout_name(&o->json, "load_imbalance");
	jsonout_open(&o->json, '{');
	put_spread(o, "cpu_time", s, METRIC_CPU_TIME);
	put_spread(o, "energy", s, METRIC_ENERGY);
	jsonout_close(&o->json, '}');
}

/* --- the objects ------------------------------------------------------------------------- */

void record_write_step(struct record_out *o, const struct record_step *s)
{
	jsonout_open(&o->json, '{');
	o->omits = true;
	put_u64(o, "stepid", s->step_id);
	put_maybe(o, "het_component", &s->het_component);
	put_text(o, "name", s->name);
	put_text(o, "state", s->state);
	put_text(o, "nodes", s->nodes);
	put_count(o, "ntasks", s->ntasks);
	put_count(o, "nnodes", s->nnodes);
	put_count(o, "ncpus", s->ncpus);
	put_time(o, "@start", s->start);
	put_time(o, "@end", s->end);
	put_elapsed(o, "elapsed", s->start, s->end);
	if (!s->exit_unknown)
		put_exit(o, "exit_code", s->exit_code, s->exit_signal);
	put_scaled(o, "user_cpu_s", &s->user_cpu_us, US_PER_S);
	put_scaled(o, "system_cpu_s", &s->system_cpu_us, US_PER_S);
	put_maybe(o, "max_rss_bytes", &s->max_rss_bytes);
	put_figures(o, &s->figures, NULL);
	put_derived(o, NULL, s);
	put_imbalance(o, s);
	put_escaped(o);
	o->omits = false;
	jsonout_close(&o->json, '}');
}

static void put_field(struct record_out *o, const struct record *r, const struct record_field *f)
{
	const void *p = (const char *)r + f->offset;

	switch (f->kind) {
	case FIELD_TEXT:
		put_text(o, f->name, *(char *const *)p);
		break;
	case FIELD_U32:
		put_u64(o, f->name, *(const uint32_t *)p);
		break;
	case FIELD_MAYBE:
		put_maybe(o, f->name, p);
		break;
	case FIELD_TIME:
		put_time(o, f->name, *(const uint64_t *)p);
		break;
	}
}

static void put_name_and_key(struct record_out *o, const char *schema, const char *key)
{
	put_text(o, "schema", schema);
	put_text(o, "key", key);
}

/* minutes here, seconds in the JSON that users know */
static void put_time_limit(struct record_out *o, const struct record *r)
{
	struct maybe_u64 limit = { r->time_limit_min.value * 60,
				   r->time_limit_min.known &&
					   r->time_limit_min.value <= UINT32_MAX };

	put_maybe(o, "time_limit", &limit);
}

/* As jobcomp/kafka computes it, with the digits that a double has. */
static void put_cpu_hours(struct record_out *o, const struct record *r)
{
	uint64_t us;

	if (r->start && r->end >= r->start && r->total_cpus &&
	    !__builtin_mul_overflow(r->end - r->start, r->total_cpus * US_PER_S, &us))
		put_decimal(o, "cpu_hours", us / 3600, US_PER_S);
	else
		put_null(o, "cpu_hours");
}

void record_write_job(struct record_out *o, const struct record *r, const char *key)
{
	struct maybe_u64 total = { r->steps_total > r->nsteps ? r->steps_total : r->nsteps,
				   r->steps_known };
	size_t i;

	put_name_and_key(o, RECORD_SCHEMA, key);
	for (i = 0; i < record_nfields; i++)
		put_field(o, r, &record_fields[i]);
	put_elapsed(o, "@queue_wait", r->eligible, r->start);
	put_elapsed(o, "elapsed", r->start, r->end);
	put_cpu_hours(o, r);
	put_exit(o, "exit_code", r->exit_code, r->exit_signal);
	put_exit(o, "derived_ec", r->derived_exit_code, 0);
	put_time_limit(o, r);
	put_figures(o, &r->figures, r);
	put_derived(o, r, NULL);
	put_maybe(o, "steps_total", &total);
	put_escaped(o);
}

void record_write_start(struct record_out *o, const struct record *r, const char *key)
{
	size_t i;

	put_name_and_key(o, RECORD_START_SCHEMA, key);
	for (i = 0; i < record_nfields; i++)
		if (!record_fields[i].is_end)
			put_field(o, r, &record_fields[i]);
	put_elapsed(o, "@queue_wait", r->eligible, r->start);
	put_time_limit(o, r);
	put_escaped(o);
}

void record_write_part(struct record_out *o, const struct record *r, const char *key,
		       uint64_t part, uint64_t parts)
{
	char part_key[RECORD_KEY_MAX + 24];

	(void)snprintf(part_key, sizeof(part_key), "%s#%" PRIu64, key, part);
	put_name_and_key(o, RECORD_STEPS_SCHEMA, part_key);
	put_text(o, "job_key", key);
	put_u64(o, "part", part);
	put_u64(o, "parts", parts);
	put_text(o, "cluster", r->cluster);
	put_u64(o, "jobid", r->job_id);
	put_time(o, "@submit", r->submit);
	put_escaped(o);
}
