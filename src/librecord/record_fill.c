/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/record_fill.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/libcore/doubt.h"
#include "src/libcore/idle_energy.h"
#include "src/libcore/metric_text.h"
#include "src/librecord/lower_bound.h"
#include "src/libutil/util.h"

_Static_assert(sizeof(((struct record_energy *)0)->missing) == DOUBT_TEXT_MAX,
	       "missing has room for all domains");

static const struct record_step *extern_step(const struct record *r)
{
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		if (r->steps[i].step_id == RECORD_STEP_EXTERN)
			return &r->steps[i];
	return NULL;
}

/*
 * Whether the extern step of R has the energy. Of a job that was resized, one part has it: the
 * first part from Slurm 26.05 on, the last one before.
 */
static bool has_extern_energy(const struct record *r)
{
	const struct record_step *x = extern_step(r);

	return x && values_has(&x->values, METRIC_ENERGY);
}

static bool has_any(const struct values *f)
{
	unsigned int m;

	metric_foreach(m)
		if (values_has(f, (enum metric)m))
			return true;
	return false;
}

/* Without sensors, Slurm stores 0 J for a step. Other joules are of a node or a time that had one. */
static void miss_zero_energy(struct values *f)
{
	if (values_has(f, METRIC_ENERGY) && !f->value[METRIC_ENERGY])
		values_miss(f, METRIC_ENERGY, REASON_NOT_MEASURED);
}

/* Settles last, because values that are settled no longer say how much of their sum is missing. */
static void settle_idle(struct record *r)
{
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		idle_energy_settle(&r->steps[i].values);
	idle_energy_settle(&r->values);
}

static void fill_values(struct record *r, bool unmeasured)
{
	const struct record_step *x = extern_step(r);
	size_t i;

	values_init(&r->values);
	for (i = 0; unmeasured && i < r->nsteps; i++)
		miss_zero_energy(&r->steps[i].values);
	if (x && has_any(&x->values))
		r->values = x->values;
	else
		for (i = 0; i < r->nsteps; i++)
			values_fold(&r->values, &r->steps[i].values);
	settle_idle(r);
}

/* Whether R is a part of a job that went on with other nodes; see job_facts.h. */
static bool is_resized_part(const struct record *r)
{
	return r->state && !strcmp(r->state, "RESIZING");
}

/* The steps' energy in joules; slurmdbd stores whole joules. */
static struct maybe_u64 steps_energy(const struct record *r)
{
	if (!values_has(&r->values, METRIC_ENERGY))
		return (struct maybe_u64){ 0 };
	return (struct maybe_u64){ r->values.value[METRIC_ENERGY] / UJ_PER_J, true };
}

/*
 * Returns SLURM_J, unless it is unknown or 0. Then returns the steps' energy, which may be unknown.
 * Slurm reports 0 J if the extern step ended without a report. Its node failed; or slurmctld ended
 * the step (26.05 with proctrack/pgid); or slurmctld was killed and forgot the step.
 */
static struct maybe_u64 slurm_or_steps_energy(const struct record *r, struct maybe_u64 slurm_j)
{
	bool has_steps = r->nsteps || r->steps_known;

	/* for a part of a resized job, the extern step's energy, which includes all steps, is in one part */
	if ((slurm_j.known && slurm_j.value) || !has_steps || is_resized_part(r))
		return slurm_j;
	return steps_energy(r);
}

/*
 * Whether R has the energy of a resized job, without that of nodes which left the job: slurmctld drops what
 * their steps report. Nor is the extern step on nodes that came later. Up to Slurm 25.11 the last part has
 * the energy, and no extern step. From 26.05 on the first part has both; then METRIC_ENERGY_NODES tells.
 */
static bool energy_lacks_nodes(const struct record *r)
{
	return r->is_resized && !is_resized_part(r) && !has_extern_energy(r);
}

static struct maybe_u64 pick_energy(const struct record *r, bool unmeasured)
{
	struct maybe_u64 j = slurm_or_steps_energy(r, r->energy.row_j);

	return (unmeasured || energy_lacks_nodes(r)) && !j.value ? (struct maybe_u64){ 0 } : j;
}

static void miss_group(struct values *f, const char *group)
{
	unsigned int m;

	metric_foreach(m)
		if (!strcmp(metric_table[m].group, group))
			values_miss(f, (enum metric)m, REASON_NOT_MEASURED);
}

/*
 * Tells whether sensors measured the energy. A node that lost a sensor is not in
 * METRIC_ENERGY_NODES. NULL: unknown, because no step has its number of nodes.
 */
static const char *energy_quality(const struct record *r)
{
	uint64_t model_uj = values_has(&r->values, METRIC_SOURCE_MODEL) ?
				    r->values.value[METRIC_SOURCE_MODEL] :
				    0;
	enum lower_bound bound = lower_bound_of(r);
	unsigned int m;

	if (bound > LOWER_BOUND_NONE)
		return "lower-bound";
	metric_foreach(m)
		if (model_uj && metric_table[m].kind == KIND_SOURCE && m != METRIC_SOURCE_MODEL &&
		    values_has(&r->values, (enum metric)m) && r->values.value[m])
			return "partly-estimate";
	return model_uj ? "estimate" : bound == LOWER_BOUND_NONE ? "measured" : NULL;
}

/* Keeps of each domain the largest doubt of any step; the largest number would lack other domains. */
static void fill_missing(struct record *r)
{
	uint8_t all[DOMAIN_N] = { 0 };
	uint8_t one[DOMAIN_N];
	unsigned int d;
	size_t i;

	for (i = 0; i < r->nsteps; i++) {
		const struct values *f = &r->steps[i].values;

		doubt_unpack(values_has(f, METRIC_ENERGY_DOUBT) ? f->value[METRIC_ENERGY_DOUBT] : 0, one);
		for (d = 0; d < DOMAIN_N; d++)
			all[d] = one[d] > all[d] ? one[d] : all[d];
	}
	if (doubt_pack(all))
		values_set(&r->values, METRIC_ENERGY_DOUBT, doubt_pack(all));
	doubt_list(doubt_pack(all), r->energy.missing, sizeof(r->energy.missing));
}

static void fill_energy(struct record *r, bool unmeasured)
{
	struct record_energy *e = &r->energy;
	const char *quality;

	*e = (struct record_energy){ .final = e->final,
				     .row_j = e->row_j,
				     .total_j = pick_energy(r, unmeasured) };
	fill_missing(r);
	/* the energy is in one part only, so that a sum over all parts counts it once */
	if (is_resized_part(r) && !has_extern_energy(r)) {
		miss_group(&r->values, "energy");
		miss_group(&r->values, "emissions");
	}
	if (!e->total_j.known)
		return;
	metric_text_sources(&r->values, "", e->source, sizeof(e->source));
	if (e->source[0])
		(void)snprintf(e->method, sizeof(e->method), "%s", metric_text_method(&r->values));
	quality = energy_lacks_nodes(r) ? "lower-bound" : e->source[0] ? energy_quality(r) : NULL;
	(void)snprintf(e->quality, sizeof(e->quality), "%s", quality ? quality : "");
	values_set(&r->values, METRIC_ENERGY, metric_from_tres(METRIC_ENERGY, e->total_j.value));
}

/*
 * Inserts the energy into Slurm's TRES string ("cpu=1,mem=100M,node=1") behind cpu and mem, where
 * Slurm puts it. An energy that is there is replaced, or removed if JOULES is unknown. NULL: out of
 * memory.
 */
static char *tres_with_energy(const char *formatted, struct maybe_u64 joules)
{
	size_t size = (formatted ? strlen(formatted) : 0) + 40;
	char *out = malloc(size);
	bool done = !joules.known;
	const char *p;
	size_t used = 0;
	size_t len;

	if (!out)
		return NULL;
	out[0] = '\0';
	for (p = formatted ? formatted : ""; *p; p += len + (p[len] == ',')) {
		len = strcspn(p, ",");
		if (!len || !strncmp(p, "energy=", 7))
			continue;
		if (!done && strncmp(p, "cpu=", 4) && strncmp(p, "mem=", 4)) {
			used += (size_t)snprintf(out + used, size - used, "%senergy=%" PRIu64,
						 used ? "," : "", joules.value);
			done = true;
		}
		used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "," : "", (int)len, p);
	}
	if (!done)
		(void)snprintf(out + used, size - used, "%senergy=%" PRIu64, used ? "," : "", joules.value);
	return out;
}

int record_fill(struct record *r, bool unmeasured, const struct factor_chain *chain, const struct settings *s)
{
	fill_values(r, unmeasured);
	fill_energy(r, unmeasured);
	record_emissions_fill(r, chain, s);
	/*
	 * without allocation, TRES is set only if the job has energy and is known to have started
	 */
	if (r->tres_alloc || (r->energy.total_j.known && r->start)) {
		char *tres = tres_with_energy(r->tres_alloc, r->energy.total_j);

		if (!tres)
			return -ENOMEM;
		free(r->tres_alloc);
		r->tres_alloc = tres;
	}
	return 0;
}

int record_finish(struct record *r, bool unmeasured, const struct factor_chain *chain,
		  const struct settings *s, struct record_names *names)
{
	if (!r->user_name)
		r->user_name = record_names_user(names, r->user_id);
	if (!r->group_name)
		r->group_name = record_names_group(names, r->group_id);
	return record_fill(r, unmeasured, chain, s);
}
