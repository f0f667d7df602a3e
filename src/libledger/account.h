/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * account.h - energy and emissions of one line, job or node since its account was opened. An account
 * only grows.
 */
#ifndef CEEMS_ACCOUNT_H
#define CEEMS_ACCOUNT_H

#include <stdint.h>

#include "src/libcore/domain.h"
#include "src/libemission/factor_chain.h"

struct account {
	uint64_t total_uj[DOMAIN_N];
	uint64_t static_uj[DOMAIN_N]; /* part of total_uj */
	uint64_t source_uj[SOURCE_N]; /* the same energy by where it was read */
	uint64_t by_counters_uj;      /* part of it that was split by hardware counters */
	/* Emissions of total_uj, times PUE: at the factor of its own time, and by the contract's. */
	uint64_t co2e_ng[DOMAIN_N];
	uint64_t market_ng;
	uint64_t factor_uj[FACTOR_STEP_N]; /* the same energy by where that factor came from */
	/* For how long a source was lost meanwhile (sources.h); of what is added, the longest. */
	uint64_t lost_ns;
	uint64_t lag_ns; /* the largest of the sources' meanwhile */
};

uint64_t account_total_uj(const struct account *a);
uint64_t account_static_uj(const struct account *a);
uint64_t account_co2e_ng(const struct account *a);
void account_add(struct account *to, const struct account *from);

#endif
