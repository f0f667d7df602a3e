/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/top/top_rates.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/top/top_column.h"
#include "src/libcore/domain.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define SAMPLES 20 /* most readings that are kept; if the window has more, it is shortened */

/*
 * The counters from which values are computed: for each value its metric, and for TOP_IDLE the static energy.
 */
struct sample {
	uint64_t t_ns;
	uint64_t counter[TOP_N];
	bool known[TOP_N];
};

struct series {
	uint64_t key;
	bool is_seen;
	double value[TOP_N]; /* of the last reading */
	size_t n;
	struct sample sample[SAMPLES]; /* oldest first */
};

struct top_rates {
	uint64_t window_ns;
	struct series **series; /* owned, sorted by key */
	size_t n;
};

struct top_rates *top_rates_create(uint64_t window_ns)
{
	struct top_rates *r = calloc(1, sizeof(*r));

	if (r)
		r->window_ns = window_ns;
	return r;
}

void top_rates_destroy(struct top_rates *r)
{
	if (!r)
		return;
	while (r->n)
		free(r->series[--r->n]);
	free(r->series);
	free(r);
}

void top_rates_sweep(struct top_rates *r)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < r->n; i++) {
		if (!r->series[i]->is_seen) {
			free(r->series[i]);
			continue;
		}
		r->series[i]->is_seen = false;
		r->series[kept++] = r->series[i];
	}
	r->n = kept;
}

/* Returns the index of KEY, or the index at which it would be inserted. */
static size_t find_key(const struct top_rates *r, uint64_t key)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->series[middle]->key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct series *get_series(struct top_rates *r, uint64_t key)
{
	size_t at = find_key(r, key);
	struct series **more;
	struct series *s;

	if (at < r->n && r->series[at]->key == key)
		return r->series[at];
	more = realloc(r->series, (r->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	r->series = more;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->key = key;
	memmove(more + at + 1, more + at, (r->n - at) * sizeof(*more));
	more[at] = s;
	r->n++;
	return s;
}

/* Sets the static energy of all domains; unknown if that of one domain with energy is unknown. */
static void set_static(struct sample *s, const struct values *f)
{
	bool is_known = false;
	uint64_t sum = 0;
	size_t d;

	for (d = 0; d < DOMAIN_N; d++) {
		if (!values_has(f, domain_table[d].energy) || !f->value[domain_table[d].energy])
			continue;
		if (!values_has(f, domain_table[d].fixed))
			return;
		is_known = true;
		sum += f->value[domain_table[d].fixed];
	}
	s->known[TOP_IDLE] = is_known;
	s->counter[TOP_IDLE] = sum;
}

static void sample_init(struct sample *s, uint64_t t_ns, const struct values *f)
{
	unsigned int v;

	*s = (struct sample){ .t_ns = t_ns };
	set_static(s, f);
	for (v = 0; v < TOP_N; v++) {
		const struct top_column *c = top_column_of((enum top_value)v);

		if (c->from != TOP_FROM_RATE || !values_has(f, c->metric))
			continue;
		s->known[v] = true;
		s->counter[v] = f->value[c->metric];
	}
}

/*
 * Returns false if a counter of B is lower than in A: then B is of other steps, and no rate can be computed.
 */
static bool is_after(const struct sample *a, const struct sample *b)
{
	unsigned int c;

	for (c = 0; c < TOP_N; c++)
		if (a->known[c] && b->known[c] && b->counter[c] < a->counter[c])
			return false;
	return b->t_ns >= a->t_ns;
}

/* Adds NOW, and drops the samples that are older than the window, but keeps the newest one of them. */
static void push_sample(struct series *s, const struct sample *now, uint64_t window_ns)
{
	size_t drop = 0;

	if (s->n && !is_after(&s->sample[s->n - 1], now))
		s->n = 0;
	if (s->n && s->sample[s->n - 1].t_ns == now->t_ns)
		s->n--; /* replace the sample of the same time: the same page of the ledger was read twice */
	while (drop + 1 < s->n &&
	       (now->t_ns - s->sample[drop + 1].t_ns >= window_ns || s->n - drop == SAMPLES))
		drop++;
	s->n -= drop;
	memmove(s->sample, s->sample + drop, s->n * sizeof(*s->sample));
	s->sample[s->n++] = *now;
}

/* Returns the rate of the counter of value V per second from A to B. NAN: unknown. */
static double rate_of(const struct sample *a, const struct sample *b, enum top_value v)
{
	if (!a->known[v] || !b->known[v] || b->t_ns <= a->t_ns)
		return NAN;
	return (double)(b->counter[v] - a->counter[v]) / ((double)(b->t_ns - a->t_ns) / (double)NSEC_PER_SEC);
}

static void set_rates(const struct sample *a, const struct sample *b, struct top_row *row)
{
	double fixed = rate_of(a, b, TOP_IDLE);
	double all = rate_of(a, b, TOP_POWER);
	unsigned int v;

	if (all > 0 && fixed <= all)
		row->value[TOP_IDLE] = fixed / all;
	for (v = 0; v < TOP_N; v++) {
		const struct top_column *c = top_column_of((enum top_value)v);

		if (c->from == TOP_FROM_RATE)
			row->value[v] = rate_of(a, b, (enum top_value)v) / top_column_unit(c);
	}
}

static void set_totals(const struct values *f, struct top_row *row)
{
	unsigned int v;

	for (v = 0; v < TOP_N; v++) {
		const struct top_column *c = top_column_of((enum top_value)v);

		if (c->from == TOP_FROM_TOTAL && values_has(f, c->metric))
			row->value[v] = (double)f->value[c->metric] / top_column_unit(c);
	}
}

/*
 * Returns the sample from which rates are computed. Most counters change only every TOP_RATES_LIVE_NS. If a
 * span of time is not a multiple of that, it may contain one change more or less. So this returns the sample
 * whose age is nearest to a multiple, and the oldest of several. NULL: all samples are too young.
 */
static const struct sample *find_base(const struct series *s)
{
	uint64_t now = s->sample[s->n - 1].t_ns;
	const struct sample *best = NULL;
	uint64_t least = UINT64_MAX;
	size_t i;

	for (i = 0; i + 1 < s->n; i++) {
		uint64_t age = now - s->sample[i].t_ns;
		uint64_t off = age % TOP_RATES_LIVE_NS;

		off = off > TOP_RATES_LIVE_NS / 2 ? TOP_RATES_LIVE_NS - off : off;
		/* a distance below 5 % counts as 0, because a reading itself takes some time */
		off = off < TOP_RATES_LIVE_NS / 20 ? 0 : off;
		if (age > TOP_RATES_LIVE_NS - TOP_RATES_LIVE_NS / 10 && off < least) {
			least = off;
			best = &s->sample[i];
		}
	}
	return best;
}

int top_rates_set(struct top_rates *r, uint64_t key, uint64_t t_ns, uint64_t since_ns, const struct values *f,
		  struct top_row *row)
{
	struct series *s = get_series(r, key);
	const struct sample *base;
	struct sample now;
	unsigned int c;

	if (!s)
		return -ENOMEM;
	sample_init(&now, t_ns, f);
	s->is_seen = true;
	push_sample(s, &now, r->window_ns);
	base = find_base(s);
	if (base) {
		set_rates(base, &now, row);
	} else if (since_ns < t_ns) {
		struct sample start = { .t_ns = since_ns };

		for (c = 0; c < TOP_N; c++)
			start.known[c] = true;
		set_rates(&start, &now, row);
	} else if (s->n > 1) {
		set_rates(&s->sample[0], &now, row);
	}
	set_totals(f, row);
	memcpy(s->value, row->value, sizeof(s->value));
	return 0;
}

void top_rates_keep(struct top_rates *r, uint64_t key, struct top_row *row)
{
	size_t at = find_key(r, key);

	if (at == r->n || r->series[at]->key != key)
		return;
	r->series[at]->is_seen = true;
	memcpy(row->value, r->series[at]->value, sizeof(row->value));
}
