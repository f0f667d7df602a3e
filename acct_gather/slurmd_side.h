/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmd_side.h - the plugin in slurmd: runs the sampler, tells Slurm the node's energy. Calls come
 * one at a time: Slurm holds its own lock around the plugin.
 */
#ifndef CEEMS_SLURMD_SIDE_H
#define CEEMS_SLURMD_SIDE_H

#include "acct_gather/slurm_compat.h"

/*
 * Starts the sampler in this process, the first time. Some versions of slurmd load plugins before
 * they become a daemon, and a thread does not survive that fork. So nothing starts before the first
 * question, and a sampler of another process is not used.
 */
void slurmd_side_start(void);
void slurmd_side_stop(void);

/* NO_VAL watts and NO_VAL64 joules while nothing is known. */
void slurmd_side_energy(acct_gather_energy_t *energy);

#endif
