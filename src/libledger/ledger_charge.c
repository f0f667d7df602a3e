/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libledger/ledger_charge.h"

/*
 * Returns the wall-clock time of T_MONO_NS. It is counted back from the tick by the monotonic clock,
 * because the wall clock may have been set since. A time after the tick counts as the tick.
 */
static uint64_t wall_of(const struct book_tick *tick, uint64_t t_mono_ns)
{
	uint64_t ago = tick->t_mono_ns > t_mono_ns ? tick->t_mono_ns - t_mono_ns : 0;

	return tick->t_wall_ns > ago ? tick->t_wall_ns - ago : 0;
}

/* Finds the factors for domains with slow sensors. Of several sensors of a domain, the slowest decides. */
static void charge_slow(const struct book_tick *tick, struct ledger_charge *p)
{
	uint64_t window_ns = tick->t_mono_ns - p->from_mono_ns;
	uint64_t ns[DOMAIN_N] = { 0 };
	unsigned int d;
	size_t i;

	for (i = 0; i < tick->nparts; i++) {
		const struct part *part = &tick->part[i];

		if (part->energy_uj && part->used_ns > ns[part->domain])
			ns[part->domain] = part->used_ns;
	}
	for (d = 0; d < DOMAIN_N; d++) {
		if (ns[d] <= window_ns)
			continue;
		factor_chain_mix(tick->chain, tick->t_wall_ns > ns[d] ? tick->t_wall_ns - ns[d] : 0,
				 tick->t_wall_ns, &p->slow[d]);
		p->is_slow[d] = p->slow[d].changes != 0;
		p->has_slow |= p->is_slow[d];
	}
}

void ledger_charge_tick(struct ledger_page *page, const struct book_tick *tick, struct ledger_charge *ret)
{
	*ret = (struct ledger_charge){
		.tick = tick,
		/* the first tick of a ledger has no window */
		.from_mono_ns = page->t_mono_ns ? page->t_mono_ns : tick->t_mono_ns,
	};
	page->factor_known = tick->chain != NULL;
	if (!tick->chain)
		return;
	factor_chain_mix(tick->chain, wall_of(tick, ret->from_mono_ns), tick->t_wall_ns, &ret->mix);
	charge_slow(tick, ret);
	page->factor = ret->mix.now;
	page->factor_step = ret->mix.now_step;
	page->factor_until_s = ret->mix.now_until_s;
}

/*
 * Returns the factors of the time in which LINE existed: those of the whole window, or others, which are
 * computed in BUF.
 */
static const struct factor_mix *mix_of(const struct ledger_charge *p, const struct book_line *line,
				       struct factor_mix *buf)
{
	uint64_t from;

	if (!p->mix.changes || !line)
		return &p->mix;
	from = line->from_ns > p->from_mono_ns ? line->from_ns : p->from_mono_ns;
	if (from == p->from_mono_ns && line->until_ns >= p->tick->t_mono_ns)
		return &p->mix;
	factor_chain_mix(p->tick->chain, wall_of(p->tick, from), wall_of(p->tick, line->until_ns), buf);
	return buf;
}

static void add_factor_uj(const struct factor_mix *mix, uint64_t energy_uj, struct account *a)
{
	uint64_t uj[FACTOR_STEP_N];
	unsigned int i;

	factor_mix_split(mix, energy_uj, uj);
	for (i = 0; i < FACTOR_STEP_N; i++)
		a->factor_uj[i] += uj[i];
}

void ledger_charge_account(const struct ledger_page *page, const struct ledger_charge *p,
			   const struct book_line *line, struct account *a)
{
	uint64_t rest_uj = account_total_uj(a);
	const struct factor_mix *mix;
	struct factor_mix buf;
	unsigned int d;

	if (page->market_known)
		a->market_ng = emission_ng(rest_uj, page->market_mg_per_kwh * EMISSION_UG_PER_MG,
					   page->pue_milli);
	if (!page->factor_known)
		return;
	mix = mix_of(p, line, &buf);
	for (d = 0; d < DOMAIN_N; d++) {
		const struct factor_mix *m = p->is_slow[d] ? &p->slow[d] : mix;

		a->co2e_ng[d] = emission_ng(a->total_uj[d], m->mean_ug_per_kwh, page->pue_milli);
		if (!p->is_slow[d])
			continue;
		add_factor_uj(m, a->total_uj[d], a);
		rest_uj -= a->total_uj[d];
	}
	add_factor_uj(mix, rest_uj, a);
}
