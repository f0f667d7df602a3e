/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_fill.h - completes a record when its job is over: the energy, the job's metric values, and
 * the emissions.
 */
#ifndef CEEMS_RECORD_FILL_H
#define CEEMS_RECORD_FILL_H

#include "src/librecord/record_emissions.h"
#include "src/librecord/record_names.h"

struct record_ending {
	bool ended;	/* slurmctld or slurmdbd says that all steps have reported */
	struct maybe_u64 ctld_energy_j; /* in slurmctld's memory: sacct's job row, once it is there */
	struct maybe_u64 dbd_energy_j;	/* sacct's job row */
	bool unmeasured; /* AcctGatherEnergyType is none: Slurm's 0 J mean nothing then */
	bool requeued;	/* slurmctld's value may have been read before the last step reported */
};

/*
 * R has its steps, if they are known. Sets energy, metric values, tres_alloc and emissions; CHAIN may be
 * NULL. -ENOMEM: R is as good as before.
 *
 * The energy is Slurm's own, so that sacct and the record say the same: slurmctld's value, else
 * slurmdbd's, else that of the extern step, from which Slurm takes the job's. Without an extern
 * step it is the sum of the steps. The metric values are the extern step's, which has the whole
 * job, else the steps' sum.
 */
int record_fill(struct record *r, const struct record_ending *end,
		const struct factor_chain *chain, const struct settings *s);

/*
 * The last step of making a record: adds the names of user and group if they are missing, then calls record_fill().
 * NAMES is the caller's, zeroed at first.
 */
int record_finish(struct record *r, const struct record_ending *end, const struct factor_chain *chain,
		  const struct settings *s, struct record_names *names);

#endif
