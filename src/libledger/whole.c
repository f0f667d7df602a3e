/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libledger/whole.h"

#define JOULE ((int64_t)UJ_PER_J)

/* A row, or what a list of rows leaves of another one. */
struct piece {
	int64_t uj;	/* energy of the step */
	int64_t due_uj; /* the same with the carry, perhaps negative */
	int64_t lo, hi; /* the fewest and the most joules that keep both limits of whole.h */
	int64_t j;
};

static int64_t floor_j(int64_t uj)
{
	return uj / JOULE - (uj % JOULE < 0);
}

static int64_t smaller_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t larger_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Returns V, or the end of the range from LO to HI that is nearer. If the range is empty, returns HI. */
static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
	return smaller_of(larger_of(v, lo), hi);
}

static struct piece piece_of(int64_t uj, int64_t carry_uj)
{
	struct piece p = { .uj = uj, .due_uj = uj + carry_uj };

	if (!uj)
		return p;
	p.lo = larger_of(floor_j(larger_of(uj, p.due_uj)), 0);
	/* a whole number of joules is its own floor, and one more would be 1 J off */
	p.hi = larger_of(floor_j(smaller_of(uj, p.due_uj) + JOULE - 1), p.lo);
	return p;
}

/* The pieces of an account. Each list ends with what its rows leave of the whole. */
struct pieces {
	struct piece energy;
	struct piece domain[DOMAIN_N + 1];
	struct piece source[SOURCE_N + 1];
	struct piece factor[FACTOR_STEP_N + 1];
	struct piece fixed[DOMAIN_N][2];
	struct piece by_counters[2];
};

/* Fills PART with N rows from UJ and CARRY, and the last piece with what they leave of WHOLE. */
static void fill_list(const struct piece *whole, struct piece *part, size_t n, const uint64_t *uj,
		      const int64_t *carry_uj)
{
	int64_t rest_uj = whole->uj;
	int64_t rest_carry_uj = whole->due_uj - whole->uj;
	size_t i;

	for (i = 0; i < n; i++) {
		part[i] = piece_of((int64_t)uj[i], carry_uj[i]);
		rest_uj -= part[i].uj;
		rest_carry_uj -= carry_uj[i];
	}
	part[n] = piece_of(larger_of(rest_uj, 0), rest_carry_uj);
}

/* Narrows the range of WHOLE to what the N pieces of PART can add up to, if there is such a number. */
static void narrow(struct piece *whole, const struct piece *part, size_t n)
{
	int64_t lo = 0, hi = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		lo += part[i].lo;
		hi += part[i].hi;
	}
	whole->lo = clamp(lo, whole->lo, whole->hi);
	whole->hi = clamp(hi, whole->lo, whole->hi);
}

/* Gives each piece its fewest joules, then one more to those that lack most, until their sum is TOTAL. */
static void share_joules(struct piece *part, size_t n, int64_t total)
{
	struct piece *most;
	size_t i;

	for (i = 0; i < n; i++) {
		part[i].j = part[i].lo;
		total -= part[i].lo;
	}
	for (; total > 0; total--) {
		for (most = NULL, i = 0; i < n; i++)
			if (part[i].j < part[i].hi &&
			    (!most || part[i].due_uj - part[i].j * JOULE > most->due_uj - most->j * JOULE))
				most = &part[i];
		if (!most)
			return;
		most->j++;
	}
}

static void fill_pieces(struct pieces *p, const struct account *a, const struct whole_carry *carry)
{
	const int64_t *c = carry->uj;
	unsigned int d;

	p->energy = piece_of((int64_t)account_total_uj(a), c[WHOLE_ENERGY]);
	fill_list(&p->energy, p->domain, DOMAIN_N, a->total_uj, c + WHOLE_DOMAIN);
	fill_list(&p->energy, p->source, SOURCE_N, a->source_uj, c + WHOLE_SOURCE);
	fill_list(&p->energy, p->factor, FACTOR_STEP_N, a->factor_uj, c + WHOLE_FACTOR);
	for (d = 0; d < DOMAIN_N; d++) {
		fill_list(&p->domain[d], p->fixed[d], 1, &a->static_uj[d], &c[WHOLE_STATIC + d]);
		narrow(&p->domain[d], p->fixed[d], 2);
	}
	fill_list(&p->domain[DOMAIN_CPU], p->by_counters, 1, &a->by_counters_uj, &c[WHOLE_BY_COUNTERS]);
	narrow(&p->domain[DOMAIN_CPU], p->by_counters, 2);
	narrow(&p->energy, p->domain, DOMAIN_N + 1);
	narrow(&p->energy, p->source, SOURCE_N + 1);
	narrow(&p->energy, p->factor, FACTOR_STEP_N + 1);
}

static void share_pieces(struct pieces *p)
{
	unsigned int d;

	p->energy.j = clamp(floor_j(p->energy.due_uj + JOULE / 2), p->energy.lo, p->energy.hi);
	share_joules(p->domain, DOMAIN_N + 1, p->energy.j);
	share_joules(p->source, SOURCE_N + 1, p->energy.j);
	share_joules(p->factor, FACTOR_STEP_N + 1, p->energy.j);
	for (d = 0; d < DOMAIN_N; d++)
		share_joules(p->fixed[d], 2, p->domain[d].j);
	share_joules(p->by_counters, 2, p->domain[DOMAIN_CPU].j);
}

/* Writes what N pieces have been given to J, and what they still lack to CARRY_UJ. */
static void take_joules(const struct piece *part, size_t n, uint64_t *j, int64_t *carry_uj)
{
	size_t i;

	for (i = 0; i < n; i++) {
		j[i] = (uint64_t)part[i].j;
		carry_uj[i] = part[i].due_uj - part[i].j * JOULE;
	}
}

void whole_round(struct whole_carry *carry, const struct account *a, struct whole *ret)
{
	int64_t *c = carry->uj;
	struct pieces p;
	unsigned int d;

	fill_pieces(&p, a, carry);
	share_pieces(&p);
	take_joules(&p.energy, 1, &ret->j[WHOLE_ENERGY], &c[WHOLE_ENERGY]);
	take_joules(p.domain, DOMAIN_N, ret->j + WHOLE_DOMAIN, c + WHOLE_DOMAIN);
	take_joules(p.source, SOURCE_N, ret->j + WHOLE_SOURCE, c + WHOLE_SOURCE);
	take_joules(p.factor, FACTOR_STEP_N, ret->j + WHOLE_FACTOR, c + WHOLE_FACTOR);
	for (d = 0; d < DOMAIN_N; d++)
		take_joules(p.fixed[d], 1, &ret->j[WHOLE_STATIC + d], &c[WHOLE_STATIC + d]);
	take_joules(p.by_counters, 1, &ret->j[WHOLE_BY_COUNTERS], &c[WHOLE_BY_COUNTERS]);
}

/* --- as metric values --------------------------------------------------------------------- */

static void set_joules(struct values *f, enum metric m, uint64_t j)
{
	if (values_has(f, m))
		values_set(f, m, metric_from_tres(m, j));
}

void whole_values(const struct whole *w, struct values *f)
{
	unsigned int i;

	set_joules(f, METRIC_ENERGY, w->j[WHOLE_ENERGY]);
	for (i = 0; i < DOMAIN_N; i++) {
		set_joules(f, domain_table[i].energy, w->j[WHOLE_DOMAIN + i]);
		set_joules(f, domain_table[i].fixed, w->j[WHOLE_STATIC + i]);
	}
	for (i = 0; i < SOURCE_N; i++)
		set_joules(f, source_metric(i), w->j[WHOLE_SOURCE + i]);
	for (i = 0; i < FACTOR_STEP_N; i++)
		set_joules(f, metric_of_kind(KIND_FACTOR, i), w->j[WHOLE_FACTOR + i]);
	set_joules(f, METRIC_BY_COUNTERS, w->j[WHOLE_BY_COUNTERS]);
}
