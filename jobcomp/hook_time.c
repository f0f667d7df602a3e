/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/hook_time.h"

/*
 * Returns the bin of a time. From 4 ns on, bins begin at 4, 5, 6, 7, 8, 10, 12, 14, 16,
 * 20 ...: four per octave.
 */
static unsigned int bin_of(uint64_t ns)
{
	unsigned int octave;
	unsigned int bin;

	if (ns < 4)
		return (unsigned int)ns;
	octave = 63 - (unsigned int)__builtin_clzll(ns);
	bin = (octave - 1) * 4 + (unsigned int)((ns >> (octave - 2)) & 3);
	return bin < HOOK_TIME_BINS ? bin : HOOK_TIME_BINS - 1;
}

/* Returns the largest time in a bin. */
static uint64_t end_of(unsigned int bin)
{
	unsigned int octave = bin / 4 + 1;

	if (bin < 4)
		return bin;
	return ((UINT64_C(4) + bin % 4 + 1) << (octave - 2)) - 1;
}

static uint64_t hook_get(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

/* A plain store is enough, since only one thread writes. An atomic addition would lock the bus. */
static void hook_put(_Atomic uint64_t *p, uint64_t value)
{
	atomic_store_explicit(p, value, memory_order_relaxed);
}

void hook_time_add(struct hook_time *t, uint64_t ns)
{
	_Atomic uint64_t *bin = &t->bin[bin_of(ns)];

	hook_put(&t->n, hook_get(&t->n) + 1);
	hook_put(&t->sum_ns, hook_get(&t->sum_ns) + ns);
	hook_put(bin, hook_get(bin) + 1);
	if (ns > hook_get(&t->max_ns))
		hook_put(&t->max_ns, ns);
}

void hook_time_cost(const struct hook_time *t, struct hook_cost *ret)
{
	uint64_t n = 0;
	unsigned int bucket = 0;
	unsigned int i;

	*ret = (struct hook_cost){ .sum_ns = hook_get(&t->sum_ns), .max_ns = hook_get(&t->max_ns) };
	for (i = 0; i < HOOK_TIME_BINS; i++) {
		while (bucket < HOOK_COST_BUCKETS && end_of(i) >= hook_cost_bound_ns(bucket))
			ret->upto[bucket++] = n;
		n += hook_get(&t->bin[i]);
	}
	ret->n = n; /* not t->n, which may have changed since the bins were read */
}

uint64_t hook_time_quantile_ns(const struct hook_time *t, unsigned int permille)
{
	uint64_t rank = (t->n * permille + 999) / 1000;
	uint64_t seen = 0;
	unsigned int i;

	if (!t->n)
		return 0;
	for (i = 0; i < HOOK_TIME_BINS - 1; i++) { /* the last bin has no end */
		seen += t->bin[i];
		if (seen >= rank)
			return end_of(i) < t->max_ns ? end_of(i) : t->max_ns;
	}
	return t->max_ns;
}
