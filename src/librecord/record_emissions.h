/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_emissions.h - completes a record's emissions: computes those that the nodes did not
 * compute, and names the sources of the factors.
 */
#ifndef CEEMS_RECORD_EMISSIONS_H
#define CEEMS_RECORD_EMISSIONS_H

#include "src/libcore/settings.h"
#include "src/libemission/factor_chain.h"
#include "src/librecord/record.h"

/*
 * Completes the emissions of R, whose metric values must have the final energy. Emissions computed
 * by the nodes stay (CO2E_PER_TICK), unless a node charged the world mean, for want of a Country in
 * its ceems.conf, and CHAIN has the site's; default_nodes then names it. Otherwise the energy of the
 * job and of each step counts as spread evenly over its run time. It is multiplied by CHAIN's factors
 * for that time (CO2E_MEAN_POWER). With CHAIN NULL no location-based emissions are added.
 *
 * The mean factor is emissions / energy. Both are rounded on each node, to micrograms and joules,
 * so a small job allows a range of factors. The factors of CHAIN in the job's time narrow that
 * range.
 */
void record_emissions_fill(struct record *r, const struct factor_chain *chain, const struct settings *s);

/*
 * Computes mean factor and PUE of step S of R; R's emissions must be filled in. The step gets the
 * job's factor if that is within the rounding of the step's values.
 */
void record_emissions_of_step(const struct record *r, const struct record_step *s,
			      struct record_emissions *ret);

#endif
