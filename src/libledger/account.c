/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libledger/account.h"

static uint64_t sum_domains(const uint64_t v[DOMAIN_N])
{
	uint64_t sum = 0;
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		sum += v[d];
	return sum;
}

uint64_t account_total_uj(const struct account *a)
{
	return sum_domains(a->total_uj);
}

uint64_t account_static_uj(const struct account *a)
{
	return sum_domains(a->static_uj);
}

uint64_t account_idle_unknown_uj(const struct account *a)
{
	uint64_t sum = 0;
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++)
		sum += a->no_idle_uj[d] ? a->total_uj[d] : 0;
	return sum;
}

uint64_t account_co2e_ng(const struct account *a)
{
	return sum_domains(a->co2e_ng);
}

void account_add(struct account *to, const struct account *from)
{
	unsigned int i;

	for (i = 0; i < DOMAIN_N; i++) {
		to->total_uj[i] += from->total_uj[i];
		to->static_uj[i] += from->static_uj[i];
		to->no_idle_uj[i] += from->no_idle_uj[i];
		if (from->doubt[i] > to->doubt[i])
			to->doubt[i] = from->doubt[i];
		to->co2e_ng[i] += from->co2e_ng[i];
	}
	for (i = 0; i < SOURCE_N; i++)
		to->source_uj[i] += from->source_uj[i];
	to->by_counters_uj += from->by_counters_uj;
	to->by_activity_uj += from->by_activity_uj;
	to->market_ng += from->market_ng;
	for (i = 0; i < FACTOR_STEP_N; i++)
		to->factor_uj[i] += from->factor_uj[i];
	if (from->lost_ns > to->lost_ns)
		to->lost_ns = from->lost_ns;
	if (from->lag_ns > to->lag_ns)
		to->lag_ns = from->lag_ns;
}
