/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepd_side.h - the plugin in slurmstepd. Turns Slurm's step record into ours, asks stepside.c,
 * and writes the final metric values into the usage that slurmstepd sends to slurmctld. Calls come
 * one at a time, under a lock of Slurm's, from more than one thread.
 */
#ifndef CEEMS_STEPD_SIDE_H
#define CEEMS_STEPD_SIDE_H

#include "acct_gather/slurm_compat.h"

void stepd_side_begin(stepd_step_rec_t *step);

/*
 * Writes the step's energy so far; *ENERGY keeps its last value while nothing is known. IS_TASKS: ENERGY is part of
 * jobacct_gather's record of a task. Then the step's other TRES so far are written into that record, for sstat.
 */
void stepd_side_energy(acct_gather_energy_t *energy, bool is_tasks);

/* Adds a row to the step's series, if it has one: at the frequency that --acctg-freq=energy= says. */
void stepd_side_profile(void);

/* After the last task, before the step's completion is sent. */
void stepd_side_end(void);

#endif
