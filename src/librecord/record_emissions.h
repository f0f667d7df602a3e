/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_emissions.h - completes a record's emissions: what the nodes did not compute, and where the
 * numbers come from.
 */
#ifndef CEEMS_RECORD_EMISSIONS_H
#define CEEMS_RECORD_EMISSIONS_H

#include "src/libcore/settings.h"
#include "src/libemission/factor_chain.h"
#include "src/librecord/record.h"

/*
 * R has its final energy in the metric values; CHAIN NULL: no factor, so location-based emissions
 * only where nodes had one. What the nodes computed stays (CO2E_PER_TICK). Where they did not, the
 * energy of the job, and of each step, is assumed to be spread evenly over its life, with the
 * factors of the chain for that time (CO2E_MEAN_POWER).
 *
 * The mean factor is that of the emissions, so weighted by energy. Both are whole micrograms and
 * joules of each node. For a small job this rounding leaves a range of factors; the factors that
 * were in force narrow it.
 */
void record_emissions_fill(struct record *r, const struct factor_chain *chain,
			   const struct settings *s);

/*
 * The mean factor and the PUE of step S of R, whose emissions are filled in. The job's factor is taken if the rounding of
 * S allows it.
 */
void record_emissions_of_step(const struct record *r, const struct record_step *s, struct record_emissions *ret);

#endif
