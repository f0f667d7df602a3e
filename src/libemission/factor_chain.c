/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libemission/factor_chain.h"

#include <stdio.h>
#include <string.h>

#include "src/libutil/apportion.h"
#include "src/libutil/clock.h"
#include "src/libutil/wide_math.h"

const char *factor_step_name(enum factor_step step)
{
	static const char *const name[FACTOR_STEP_N] = {
		[FACTOR_FRESH] = "fresh",
		[FACTOR_LAST] = "last",
		[FACTOR_STATIC] = "static",
		[FACTOR_DEFAULT] = "default",
	};

	return step < FACTOR_STEP_N ? name[step] : "?";
}

int factor_chain_setup(const struct settings *s, struct factor_chain *ret, struct errmsg *err)
{
	const char *path = s->emission_factor_file;
	struct factor_chain c = {
		.max_age_s = s->emission_max_age_ns / NSEC_PER_SEC,
	};
	int rc = emission_lookup(*path ? path : emission_default_file(), s->country, &c.fixed, err);

	if (rc < 0)
		return rc;
	c.fresh_age_s = c.max_age_s < FACTOR_FRESH_AGE_S ? c.max_age_s : FACTOR_FRESH_AGE_S;
	(void)snprintf(c.region, sizeof(c.region), "%s",
		       s->emission_region[0] ? s->emission_region : c.fixed.region);
	*ret = c;
	return 0;
}

/* --- one moment -------------------------------------------------------------------------- */

/* The factor in use at a moment, and until when it is used. */
struct link {
	enum factor_step step;
	const struct emission_factor *factor;
	uint64_t point_until_s; /* end of its point in the series; 0: it is from no series */
	uint64_t until_ns;	/* UINT64_MAX: for ever */
};

/* Converts S + MORE_S seconds to ns; UINT64_MAX if that does not fit, as for the year 9999. */
static uint64_t to_ns(uint64_t s, uint64_t more_s)
{
	uint64_t ns;

	if (__builtin_add_overflow(s, more_s, &s) || __builtin_mul_overflow(s, NSEC_PER_SEC, &ns))
		return UINT64_MAX;
	return ns;
}

static struct link fixed_link(const struct factor_chain *c, uint64_t until_ns)
{
	return (struct link){
		.step = c->fixed.kind == EMISSION_DEFAULT ? FACTOR_DEFAULT : FACTOR_STATIC,
		.factor = &c->fixed,
		.until_ns = until_ns,
	};
}

static struct link link_at(const struct factor_chain *c, uint64_t t_ns)
{
	const struct factor_point *p, *next;
	uint64_t next_ns, fresh_ns, last_ns;
	struct link l;

	if (!c->series)
		return fixed_link(c, UINT64_MAX);
	p = factor_series_at(c->series, c->region, EMISSION_AVERAGE, t_ns / NSEC_PER_SEC);
	next = factor_series_after(c->series, c->region, EMISSION_AVERAGE, t_ns / NSEC_PER_SEC);
	next_ns = next ? to_ns(next->from_s, 0) : UINT64_MAX;
	if (!p)
		return fixed_link(c, next_ns);
	fresh_ns = to_ns(p->until_s, c->fresh_age_s);
	last_ns = to_ns(p->until_s, c->max_age_s);
	if (t_ns >= fresh_ns && t_ns >= last_ns)
		return fixed_link(c, next_ns);
	l = (struct link){
		.step = t_ns < fresh_ns ? FACTOR_FRESH : FACTOR_LAST,
		.factor = &p->factor,
		.point_until_s = p->until_s,
		.until_ns = t_ns < fresh_ns ? fresh_ns : last_ns,
	};
	if (next_ns < l.until_ns)
		l.until_ns = next_ns;
	return l;
}

/* --- a window ---------------------------------------------------------------------------- */

static uint64_t ug_per_kwh(const struct emission_factor *f)
{
	return f->mg_per_kwh * EMISSION_UG_PER_MG;
}

void factor_chain_walk(const struct factor_chain *c, uint64_t from_wall_ns, uint64_t until_wall_ns,
		       factor_chain_fn each, void *ctx)
{
	uint64_t t = from_wall_ns;

	if (from_wall_ns >= until_wall_ns) {
		const struct link l = link_at(c, until_wall_ns);

		each(ctx, l.factor, l.step, 0);
	}
	while (t < until_wall_ns) {
		const struct link l = link_at(c, t);
		uint64_t until = l.until_ns < until_wall_ns ? l.until_ns : until_wall_ns;

		each(ctx, l.factor, l.step, until - t);
		t = until;
	}
}

struct sum {
	struct factor_mix *mix;
	u128 weighted;
	unsigned int parts;
};

static void add_part(void *ctx, const struct emission_factor *f, enum factor_step step, uint64_t ns)
{
	struct sum *s = ctx;

	s->mix->ns[step] += ns;
	s->weighted += (u128)ug_per_kwh(f) * ns;
	s->mix->changes += s->parts++ > 0;
}

void factor_chain_mix(const struct factor_chain *c, uint64_t from_wall_ns, uint64_t until_wall_ns,
		      struct factor_mix *ret)
{
	const struct link end = link_at(c, until_wall_ns);
	struct sum sum = { .mix = ret };
	uint64_t window;

	*ret = (struct factor_mix){
		.mean_ug_per_kwh = ug_per_kwh(end.factor),
		.now = *end.factor,
		.now_step = end.step,
		.now_until_s = end.point_until_s,
	};
	if (from_wall_ns >= until_wall_ns)
		return;
	factor_chain_walk(c, from_wall_ns, until_wall_ns, add_part, &sum);
	window = until_wall_ns - from_wall_ns;
	ret->mean_ug_per_kwh = (uint64_t)((sum.weighted + window / 2) / window);
}

void factor_mix_split(const struct factor_mix *m, uint64_t energy_uj, uint64_t ret_uj[FACTOR_STEP_N])
{
	unsigned int only = m->now_step;
	unsigned int n = 0;
	unsigned int i;

	for (i = 0; i < FACTOR_STEP_N; i++) {
		ret_uj[i] = 0;
		n += m->ns[i] != 0;
		only = m->ns[i] ? i : only;
	}
	/* nearly always: a window rarely contains a change of factor */
	if (n <= 1)
		ret_uj[only] = energy_uj;
	else
		(void)apportion(energy_uj, m->ns, FACTOR_STEP_N, ret_uj);
}
