/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_fill.h - completes the record of an ended job: its energy, metric values and emissions.
 */
#ifndef CEEMS_RECORD_FILL_H
#define CEEMS_RECORD_FILL_H

#include "src/librecord/record_emissions.h"
#include "src/librecord/record_names.h"

/*
 * Sets the energy, metric values, emissions and tres_alloc of R. R must already have its steps, if
 * they are known, and energy.row_j and energy.final. UNMEASURED: AcctGatherEnergyType is none on this
 * host, so 0 J means that nothing was measured. Other values are kept: other nodes have sensors, or
 * this one had them earlier. CHAIN may be NULL: no factor. Returns 0, or -ENOMEM: tres_alloc is
 * unchanged, the rest is set.
 *
 * The energy is Slurm's, so that the record agrees with sacct: the row's, else the extern step's,
 * else the sum of the steps. The metric values are those of the extern step, which measures the
 * whole job, else the sum of the steps.
 */
int record_fill(struct record *r, bool unmeasured, const struct factor_chain *chain,
		const struct settings *s);

/*
 * Looks up the names of user and group if R has none, then calls record_fill() and returns its
 * result. The caller owns NAMES and zeroes it before the first call.
 */
int record_finish(struct record *r, bool unmeasured, const struct factor_chain *chain,
		  const struct settings *s, struct record_names *names);

#endif
