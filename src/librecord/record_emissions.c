/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/record_emissions.h"

#include <stdio.h>
#include <string.h>

#include "src/libcore/domain.h"
#include "src/libutil/clock.h"
#include "src/libutil/muldiv.h"
#include "src/libutil/util.h"

#define NG_PER_UG UINT64_C(1000)
#define S_PER_HOUR 3600u

static enum metric link_of(size_t step)
{
	return metric_of_kind(KIND_FACTOR, (unsigned int)step);
}

/* Whether some energy was charged with a factor of this link of the chain. */
static bool has_link(const struct values *f, size_t step)
{
	return values_has(f, link_of(step)) && f->value[link_of(step)];
}

/* --- emissions that the nodes did not compute ---------------------------------------------- */

static void set_missing(struct values *f, enum metric m, uint64_t value)
{
	if (!values_has(f, m))
		values_set(f, m, value);
}

/* The metric values of a job or step, with the time it ran. */
struct life {
	struct values *f;
	uint64_t start, end;
};

static void record_emissions_estimate(const struct life *l, const struct factor_chain *chain,
				      uint64_t pue_milli)
{
	struct values *f = l->f;
	uint64_t energy = f->value[METRIC_ENERGY];
	uint64_t by_step[FACTOR_STEP_N];
	uint64_t end = l->end > l->start ? l->end : l->start;
	struct factor_mix mix;
	size_t i;

	factor_chain_mix(chain, l->start * NSEC_PER_SEC, end * NSEC_PER_SEC, &mix);
	values_set(f, METRIC_CO2E, emission_ng(energy, mix.mean_ug_per_kwh, pue_milli));
	for (i = 0; i < DOMAIN_N; i++)
		if (values_has(f, domain_table[i].energy))
			set_missing(f, domain_table[i].co2e,
				    emission_ng(f->value[domain_table[i].energy], mix.mean_ug_per_kwh,
						pue_milli));
	factor_mix_split(&mix, energy, by_step);
	for (i = 0; i < FACTOR_STEP_N; i++)
		set_missing(f, link_of(i), by_step[i]);
}

/*
 * Whether a node charged the world mean though CHAIN has the site's factor: its ceems.conf is missing, or is
 * another one. What other nodes of the same job charged cannot be told apart, as that node may have no PUE,
 * either.
 */
static bool is_charged_by_default(const struct life *l, const struct factor_chain *chain)
{
	return chain && chain->fixed.kind != EMISSION_DEFAULT && l->start &&
	       values_has(l->f, METRIC_ENERGY) && has_link(l->f, FACTOR_DEFAULT);
}

static void forget_charges(struct values *f)
{
	unsigned int m;

	metric_foreach(m)
		if (metric_table[m].kind == KIND_EMISSIONS || metric_table[m].kind == KIND_FACTOR)
			values_miss(f, (enum metric)m, REASON_NO_FACTOR);
}

static void complete(const struct life *l, const struct factor_chain *chain, const struct settings *s)
{
	if (!values_has(l->f, METRIC_ENERGY))
		return;
	if (is_charged_by_default(l, chain))
		forget_charges(l->f);
	if (s->market_mg_per_kwh != SETTINGS_NO_MARKET)
		set_missing(l->f, METRIC_CO2E_MARKET,
			    emission_ng(l->f->value[METRIC_ENERGY], s->market_mg_per_kwh * EMISSION_UG_PER_MG,
					s->pue_milli));
	if (chain && l->start && !values_has(l->f, METRIC_CO2E))
		record_emissions_estimate(l, chain, s->pue_milli);
}

/* --- which factors were used --------------------------------------------------------------- */

static void join_one(char *name, size_t size, const char *next)
{
	if (*name && strcmp(name, next))
		next = RECORD_MIXED;
	(void)snprintf(name, size, "%s", next);
}

static bool has_item(const char *list, const char *item)
{
	size_t len = strlen(item);
	const char *p = list;

	while ((p = strstr(p, item))) {
		bool begins = p == list || (p - list >= 2 && !strncmp(p - 2, "; ", 2));

		if (begins && (!p[len] || !strncmp(p + len, "; ", 2)))
			return true;
		p += len;
	}
	return false;
}

/*
 * Appends ITEM to LIST, joined by "; ", if it is not in LIST. An ITEM that does not fit is left
 * out.
 */
static void join_all(char *list, size_t size, const char *item)
{
	size_t used = strlen(list);

	if (*item && !has_item(list, item) && used + strlen(item) + 3 <= size)
		(void)snprintf(list + used, size - used, "%s%s", used ? "; " : "", item);
}

struct origin {
	struct record_emissions *e;
	bool used[FACTOR_STEP_N]; /* links that the nodes or the estimate used */
	bool seen[FACTOR_STEP_N]; /* links for which the chain has a factor in the job's time */
	unsigned int nfactors;
	uint64_t min_ug, max_ug; /* of all factors */
};

static void add_factor(struct origin *o, const struct emission_factor *f)
{
	uint64_t ug = f->mg_per_kwh * EMISSION_UG_PER_MG;

	join_one(o->e->scope, sizeof(o->e->scope), emission_scope_name(f->scope));
	join_all(o->e->region, sizeof(o->e->region), f->region);
	join_all(o->e->source, sizeof(o->e->source), f->source);
	if (f->year)
		o->e->year = f->year;
	o->min_ug = !o->nfactors++ || ug < o->min_ug ? ug : o->min_ug;
	o->max_ug = ug > o->max_ug ? ug : o->max_ug;
}

/*
 * Fresh and last factors count as one: a provider that failed when the nodes asked may have caught
 * up by now.
 */
static bool is_used(const struct origin *o, enum factor_step step)
{
	if (step == FACTOR_FRESH || step == FACTOR_LAST)
		return o->used[FACTOR_FRESH] || o->used[FACTOR_LAST];
	return o->used[step];
}

static void on_factor(void *ctx, const struct emission_factor *f, enum factor_step step, uint64_t ns)
{
	struct origin *o = ctx;

	(void)ns;
	if (!is_used(o, step))
		return;
	o->seen[step] = true;
	add_factor(o, f);
}

static void mark_used(const struct values *f, bool *ret_used)
{
	bool known = false;
	size_t i;

	for (i = 0; i < FACTOR_STEP_N; i++) {
		ret_used[i] = has_link(f, i);
		known |= ret_used[i];
	}
	/* the nodes charged nothing: take all links of the chain */
	for (i = 0; i < FACTOR_STEP_N && !known; i++)
		ret_used[i] = true;
}

static void put_kind(struct origin *o, const struct values *f)
{
	static const enum emission_kind kind[FACTOR_STEP_N] = {
		[FACTOR_FRESH] = EMISSION_AVERAGE,
		[FACTOR_LAST] = EMISSION_AVERAGE,
		[FACTOR_STATIC] = EMISSION_STATIC,
		[FACTOR_DEFAULT] = EMISSION_DEFAULT,
	};
	size_t i;

	for (i = 0; i < FACTOR_STEP_N; i++)
		if (o->seen[i] || has_link(f, i))
			join_one(o->e->kind, sizeof(o->e->kind), emission_kind_name(kind[i]));
}

static void find_origin(const struct record *r, const struct factor_chain *c, struct origin *o)
{
	uint64_t end = r->end > r->start ? r->end : r->start;
	enum factor_step fixed;

	mark_used(&r->values, o->used);
	if (c && r->start) {
		factor_chain_walk(c, r->start * NSEC_PER_SEC, end * NSEC_PER_SEC, on_factor, o);
		/* the nodes used the static factor where the chain has a series by now */
		fixed = c->fixed.kind == EMISSION_DEFAULT ? FACTOR_DEFAULT : FACTOR_STATIC;
		if (has_link(&r->values, fixed) && !o->seen[fixed])
			on_factor(o, &c->fixed, fixed, 0);
	}
	put_kind(o, &r->values);
}

/* --- the mean factor --------------------------------------------------------------------- */

/* Whether every link that the nodes charged has a factor in the chain. */
static bool has_all_factors(const struct origin *o, const struct values *f)
{
	bool dynamic = o->seen[FACTOR_FRESH] || o->seen[FACTOR_LAST];
	size_t i;

	for (i = 0; i < FACTOR_STEP_N; i++) {
		bool seen = i == FACTOR_FRESH || i == FACTOR_LAST ? dynamic : o->seen[i];

		if (has_link(f, i) && !seen)
			return false;
	}
	return o->nfactors > 0;
}

/*
 * The energy that the emissions belong to. The energy of a node without a factor counts for the job
 * only.
 */
static uint64_t charged_uj(const struct values *f, uint64_t slack_uj)
{
	uint64_t energy = f->value[METRIC_ENERGY];
	uint64_t linked = 0;
	size_t i;

	for (i = 0; i < FACTOR_STEP_N; i++)
		if (has_link(f, i) && __builtin_add_overflow(linked, f->value[link_of(i)], &linked))
			return energy;
	/* each link is rounded by itself, so a small gap is no missing energy */
	return linked && linked < energy && energy - linked > FACTOR_STEP_N * slack_uj ? linked : energy;
}

/*
 * Computes the range of the mean factor that rounding allows: emissions and energy are rounded on
 * each of NODES nodes.
 */
static void mean_range(const struct values *f, uint32_t nodes, uint64_t pue, uint64_t *ret_low,
		       uint64_t *ret_high)
{
	uint64_t parts = nodes ? nodes : 1;
	uint64_t ng = f->value[METRIC_CO2E];
	uint64_t uj = charged_uj(f, parts * UJ_PER_J);
	uint64_t slack_ng = parts * NG_PER_UG;
	uint64_t slack_uj = parts * UJ_PER_J;

	*ret_low = emission_mean_ug(ng > slack_ng ? ng - slack_ng : 0, uj + slack_uj, pue);
	*ret_high = emission_mean_ug(ng + slack_ng, uj > slack_uj ? uj - slack_uj : 0, pue);
}

static void put_mean(const struct record *r, const struct origin *o)
{
	uint64_t uj = charged_uj(&r->values, (r->total_nodes ? r->total_nodes : 1) * UJ_PER_J);
	uint64_t pue = o->e->pue_milli;
	uint64_t low, high, mean;

	if (!values_has(&r->values, METRIC_ENERGY) || !pue)
		return;
	mean = emission_mean_ug(r->values.value[METRIC_CO2E], uj, pue);
	mean_range(&r->values, r->total_nodes, pue, &low, &high);
	if (has_all_factors(o, &r->values) && o->max_ug >= low && o->min_ug <= high &&
	    (uj || o->min_ug == o->max_ug)) {
		mean = mean < o->min_ug ? o->min_ug : mean;
		mean = mean > o->max_ug ? o->max_ug : mean;
	}
	if (mean != UINT64_MAX)
		o->e->factor_ug_per_kwh = (struct maybe_u64){ mean, true };
}

void record_emissions_of_step(const struct record *r, const struct record_step *s,
			      struct record_emissions *ret)
{
	const struct maybe_u64 *whole = &r->emissions.factor_ug_per_kwh;
	uint64_t pue = r->emissions.pue_milli;
	uint64_t low, high, mean;

	*ret = (struct record_emissions){ 0 };
	if (!values_has(&s->values, METRIC_CO2E) || !values_has(&s->values, METRIC_ENERGY) || !pue)
		return;
	ret->pue_milli = pue;
	mean_range(&s->values, s->nnodes, pue, &low, &high);
	mean = emission_mean_ug(s->values.value[METRIC_CO2E], charged_uj(&s->values, UJ_PER_J), pue);
	if (whole->known && whole->value >= low && whole->value <= high)
		mean = whole->value;
	if (mean != UINT64_MAX)
		ret->factor_ug_per_kwh = (struct maybe_u64){ mean, true };
}

static void put_embodied(const struct record *r, const struct settings *s, struct record_emissions *e)
{
	uint64_t ran_s;
	u128 ng;

	if (!s->embodied_ug_per_cpu_hour || !record_run_s(r, /* now= */ 0, &ran_s) || !r->total_cpus)
		return;
	ng = (u128)ran_s * r->total_cpus * NG_PER_UG;
	ng = (ng * s->embodied_ug_per_cpu_hour + S_PER_HOUR / 2) / S_PER_HOUR;
	if (ng > INT64_MAX)
		return;
	e->embodied_ng = (struct maybe_u64){ (uint64_t)ng, true };
	(void)snprintf(e->embodied_source, sizeof(e->embodied_source), "%s", s->embodied_source);
}

static void put_market(const struct settings *s, struct record_emissions *e)
{
	if (s->market_mg_per_kwh == SETTINGS_NO_MARKET)
		return;
	e->market_ug_per_kwh = (struct maybe_u64){ s->market_mg_per_kwh * EMISSION_UG_PER_MG, true };
	(void)snprintf(e->market_source, sizeof(e->market_source), "%s", s->market_source);
}

/* A step without an end was open when slurmdbd was asked; it lasted as long as the job. */
static struct life life_of_step(const struct record *r, struct record_step *step)
{
	if (!step->start)
		return (struct life){ &step->values, r->start, r->end };
	return (struct life){ &step->values, step->start, step->end ? step->end : r->end };
}

/* Whether all energy, rounded to joules per node, was charged with the world mean. */
static bool is_all_default(const struct values *f, uint32_t nodes)
{
	uint64_t slack_uj = (nodes ? nodes : 1) * UJ_PER_J;

	return f->value[METRIC_DEFAULT_FACTOR] + slack_uj >= f->value[METRIC_ENERGY];
}

/* Sets default_nodes: of the job, or of the first step whose nodes all charged the world mean. */
static void name_default_nodes(struct record *r, const struct factor_chain *chain)
{
	struct life job = { &r->values, r->start, r->end };
	const char *some = is_charged_by_default(&job, chain) ? "some of " : NULL;
	const char *nodes = r->nodes;
	size_t i;

	if (some && (r->total_nodes == 1 || is_all_default(job.f, r->total_nodes)))
		some = "";
	for (i = 0; i < r->nsteps && (!some || *some); i++) {
		struct life life = life_of_step(r, &r->steps[i]);

		if (!r->steps[i].nodes || !is_charged_by_default(&life, chain))
			continue;
		some = "some of ";
		if (r->steps[i].nnodes == 1 || is_all_default(life.f, r->steps[i].nnodes)) {
			some = "";
			nodes = r->steps[i].nodes;
		}
	}
	if (some)
		(void)snprintf(r->emissions.default_nodes, sizeof(r->emissions.default_nodes), "%s%s", some,
			       nodes ? nodes : "unknown nodes");
}

void record_emissions_fill(struct record *r, const struct factor_chain *chain, const struct settings *s)
{
	struct record_emissions *e = &r->emissions;
	struct life job = { &r->values, r->start, r->end };
	struct origin o = { .e = e };
	size_t i;

	*e = (struct record_emissions){ .pue_milli = s->pue_milli };
	name_default_nodes(r, chain);
	if (values_has(&r->values, METRIC_CO2E) && !is_charged_by_default(&job, chain))
		e->method = CO2E_PER_TICK;
	complete(&job, chain, s);
	for (i = 0; i < r->nsteps; i++) {
		struct life life = life_of_step(r, &r->steps[i]);

		complete(&life, chain, s);
	}
	put_market(s, e);
	put_embodied(r, s, e);
	if (!values_has(&r->values, METRIC_CO2E))
		return;
	if (e->method == CO2E_UNKNOWN)
		e->method = CO2E_MEAN_POWER;
	find_origin(r, chain, &o);
	put_mean(r, &o);
}
