/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_emissions.h - completes a record's emissions: computes those that the nodes did not, and
 * adds the sources of the numbers.
 */
#ifndef CEEMS_RECORD_EMISSIONS_H
#define CEEMS_RECORD_EMISSIONS_H

#include "src/libcore/settings.h"
#include "src/libemission/factor_chain.h"
#include "src/librecord/record.h"

/*
 * Completes R, whose metric values have the final energy. Emissions that the nodes computed stay
 * (CO2E_PER_TICK). Otherwise the energy of the job, and of each step, is taken as spread evenly
 * over its life, with CHAIN's factors for that time (CO2E_MEAN_POWER). CHAIN NULL: there is no
 * factor, so no location-based emissions are added.
 *
 * The mean factor is emissions / energy. Both are rounded per node, to micrograms and joules. For a
 * small job this leaves a range of factors, which the factors in use at that time narrow.
 */
void record_emissions_fill(struct record *r, const struct factor_chain *chain,
			   const struct settings *s);

/*
 * The mean factor and the PUE of step S of R, whose emissions are filled in. The job's factor is taken if the rounding of
 * S allows it.
 */
void record_emissions_of_step(const struct record *r, const struct record_step *s, struct record_emissions *ret);

#endif
