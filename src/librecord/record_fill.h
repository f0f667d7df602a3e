/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_fill.h - completes the record of an ended job: its energy, metric values and emissions.
 */
#ifndef CEEMS_RECORD_FILL_H
#define CEEMS_RECORD_FILL_H

#include "src/librecord/record_emissions.h"
#include "src/librecord/record_names.h"

struct record_ending {
	bool ended;	/* by slurmctld or slurmdbd, all steps have reported */
	struct maybe_u64 ctld_energy_j; /* from slurmctld's memory; the same as in sacct's job row later */
	struct maybe_u64 dbd_energy_j;	/* sacct's job row */
	bool unmeasured; /* AcctGatherEnergyType is none, so Slurm's 0 J is not a measurement */
	bool requeued;	/* the job was requeued, so slurmctld's value may be from before the last step reported */
};

/*
 * Sets the energy, metric values, tres_alloc and emissions of R, which must have its steps if they
 * are known. CHAIN may be NULL. -ENOMEM: R is unchanged.
 *
 * The energy is Slurm's, so that the record agrees with sacct: slurmctld's value, else slurmdbd's,
 * else that of the extern step, from which Slurm takes the job's, else the sum of the steps. The
 * metric values are those of the extern step, which has the whole job, else the sum of the steps.
 */
int record_fill(struct record *r, const struct record_ending *end,
		const struct factor_chain *chain, const struct settings *s);

/*
 * Finishes a record: adds the names of user and group if they are missing, and calls record_fill().
 * NAMES belongs to the caller; zero it before the first call.
 */
int record_finish(struct record *r, const struct record_ending *end, const struct factor_chain *chain,
		  const struct settings *s, struct record_names *names);

#endif
