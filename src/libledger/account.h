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
	uint64_t source_uj[SOURCE_N]; /* the same energy by its source */
	uint64_t by_counters_uj;      /* the part of the energy that was split by hardware counters */
	/* Emissions of total_uj, times PUE: co2e_ng by the factor of its time, market_ng by the contract's factor. */
	uint64_t co2e_ng[DOMAIN_N];
	uint64_t market_ng;
	uint64_t factor_uj[FACTOR_STEP_N]; /* the same energy by the kind of its factor */
	/* How long a source was lost in the time of the account (sources.h). account_add() takes the longer time. */
	uint64_t lost_ns;
	uint64_t lag_ns; /* the largest lag of the sources in that time */
};

uint64_t account_total_uj(const struct account *a);
uint64_t account_static_uj(const struct account *a);
uint64_t account_co2e_ng(const struct account *a);
void account_add(struct account *to, const struct account *from);

#endif
