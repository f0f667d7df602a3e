/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * account.h - energy and emissions of a step, job or node since its account was opened. The values only
 * grow.
 */
#ifndef CEEMS_ACCOUNT_H
#define CEEMS_ACCOUNT_H

#include <stdint.h>

#include "src/libcore/domain.h"
#include "src/libemission/factor_chain.h"

struct account {
	uint64_t total_uj[DOMAIN_N];
	uint64_t static_uj[DOMAIN_N]; /* part of total_uj */
	/* the part of total_uj of which nobody knows how much was static, as no idle power was known */
	uint64_t no_idle_uj[DOMAIN_N];
	uint64_t source_uj[SOURCE_N]; /* total_uj by its source */
	uint64_t by_counters_uj;      /* the part of the energy that was split by hardware counters */
	/* the part of the GPUs' energy that was split by the activity of MIG instances, not by size */
	uint64_t by_activity_uj;
	/* Emissions of total_uj, times PUE. */
	uint64_t co2e_ng[DOMAIN_N]; /* location-based: with the factor of the time of use */
	uint64_t market_ng;	    /* market-based: with the factor of the site's contract */
	/* total_uj by the kind of factor that its emissions were computed with */
	uint64_t factor_uj[FACTOR_STEP_N];
	/* Of these, account_add() takes the larger value, not the sum. */
	uint8_t doubt[DOMAIN_N]; /* enum doubt: why the domain's energy is not all that was used */
	uint64_t lost_ns;	 /* how long a part was in doubt, except those that never counted */
	uint64_t lag_ns;	 /* the largest lag of a source */
};

uint64_t account_total_uj(const struct account *a);
/* A lower bound unless account_idle_unknown_uj() is 0. */
uint64_t account_static_uj(const struct account *a);
/*
 * Energy of the domains whose static energy is not known, because for a part of it no idle power was known.
 */
uint64_t account_idle_unknown_uj(const struct account *a);
uint64_t account_co2e_ng(const struct account *a);
void account_add(struct account *to, const struct account *from);

#endif
