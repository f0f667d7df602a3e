/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepd_side.h - the plugin in slurmstepd. Turns Slurm's step record into ours, gets the step's metric values
 * from stepside.c, and writes them into the usage that slurmstepd sends to slurmctld. Several threads call
 * these functions, but never at once: Slurm holds a lock.
 */
#ifndef CEEMS_STEPD_SIDE_H
#define CEEMS_STEPD_SIDE_H

#include "acct_gather/slurm_compat.h"

/* Begins to account STEP, which must live until stepd_side_end(). Nothing is forked yet. */
void stepd_side_begin(stepd_step_rec_t *step);

/*
 * Writes the step's energy so far to ENERGY, or nothing if it is not known. IS_TASKS: ENERGY is part of
 * jobacct_gather's record of a task. Then the step's other TRES so far are written into that record, for
 * sstat.
 */
void stepd_side_energy(acct_gather_energy_t *energy, bool is_tasks);

/* Adds a row for --profile=energy. Slurm calls it as often as --acctg-freq=energy= says. */
void stepd_side_profile(void);

/*
 * Writes the final metric values. To be called after the last task, before slurmstepd reports the step's end.
 */
void stepd_side_end(void);

#endif
