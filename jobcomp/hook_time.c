/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/hook_time.h"

/* Octave and the two bits behind its leading one: 4, 5, 6, 7, 8, 10, 12, 14, 16, 20 ... */
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

/* The largest time in a bin. */
static uint64_t end_of(unsigned int bin)
{
	unsigned int octave = bin / 4 + 1;

	if (bin < 4)
		return bin;
	return ((UINT64_C(4) + bin % 4 + 1) << (octave - 2)) - 1;
}

void hook_time_add(struct hook_time *t, uint64_t ns)
{
	t->n++;
	t->bin[bin_of(ns)]++;
	if (ns > t->max_ns)
		t->max_ns = ns;
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
