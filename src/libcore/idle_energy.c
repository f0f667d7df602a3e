/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/idle_energy.h"

#include "src/libcore/domain.h"
#include "src/libutil/util.h"

/* TRES are in whole joules; on each node the four domains and METRIC_IDLE_UNKNOWN are rounded. */
#define ROUNDED_UJ (3 * UJ_PER_J)
#define ROUNDED_SHARE 100 /* domains that lack less than a hundredth of the energy are all domains */

struct domain_sums {
	uint64_t known_uj, idle_uj; /* of the domains with static energy */
	uint64_t missing_uj;	    /* energy of the other domains */
};

static bool has_energy(const struct values *f, size_t d)
{
	return values_has(f, domain_table[d].energy) && f->value[domain_table[d].energy];
}

static struct domain_sums sum_domains(const struct values *f)
{
	struct domain_sums sum = { 0 };
	size_t d;

	for (d = 0; d < DOMAIN_N; d++) {
		if (!has_energy(f, d))
			continue;
		if (!values_has(f, domain_table[d].fixed)) {
			sum.missing_uj += f->value[domain_table[d].energy];
			continue;
		}
		sum.known_uj += f->value[domain_table[d].energy];
		sum.idle_uj += f->value[domain_table[d].fixed];
	}
	return sum;
}

static uint64_t unknown_uj(const struct values *f)
{
	return values_has(f, METRIC_IDLE_UNKNOWN) ? f->value[METRIC_IDLE_UNKNOWN] : 0;
}

/* The energy of domains of which only some nodes know the static energy. */
static uint64_t partly_uj(const struct values *f, const struct domain_sums *sum)
{
	return unknown_uj(f) > sum->missing_uj ? unknown_uj(f) - sum->missing_uj : 0;
}

/* Whether the domains have all energy of F: a site may not keep the TRES of all. */
static bool has_all_domains(const struct values *f, const struct domain_sums *sum)
{
	uint64_t uj = values_has(f, METRIC_ENERGY) ? f->value[METRIC_ENERGY] : 0;
	uint64_t lack_uj = uj > sum->known_uj ? uj - sum->known_uj : 0;

	return lack_uj <= ROUNDED_UJ || lack_uj <= uj / ROUNDED_SHARE;
}

bool idle_energy_of(const struct values *f, struct idle_energy *ret)
{
	struct domain_sums sum = sum_domains(f);
	uint64_t partly = partly_uj(f, &sum);

	if (sum.known_uj <= partly)
		return false;
	*ret = (struct idle_energy){
		.idle_uj = sum.idle_uj,
		.of_uj = sum.known_uj - partly,
		.is_whole = !sum.missing_uj && !unknown_uj(f) && has_all_domains(f, &sum),
	};
	if (ret->idle_uj > ret->of_uj) /* by rounding */
		ret->idle_uj = ret->of_uj;
	return true;
}

void idle_energy_settle(struct values *f)
{
	struct domain_sums sum = sum_domains(f);
	uint64_t nodes = values_has(f, METRIC_ENERGY_NODES) ? f->value[METRIC_ENERGY_NODES] : 0;
	bool is_any_partial = partly_uj(f, &sum) > ROUNDED_UJ * (nodes ? nodes : 1);
	size_t d;

	if (!unknown_uj(f))
		return;
	for (d = 0; d < DOMAIN_N; d++)
		if (has_energy(f, d) && (is_any_partial || !values_has(f, domain_table[d].fixed)))
			values_miss(f, domain_table[d].fixed, REASON_NO_IDLE);
}
