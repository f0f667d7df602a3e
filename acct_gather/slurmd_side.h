/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmd_side.h - the plugin in slurmd: runs the sampler, and gives Slurm the node's energy. Slurm holds a
 * lock during each call, so calls never overlap.
 */
#ifndef CEEMS_SLURMD_SIDE_H
#define CEEMS_SLURMD_SIDE_H

#include "acct_gather/slurm_compat.h"

/*
 * Starts the sampler in this process, at the first call; later calls try again if the ledger was busy. To be
 * called when Slurm asks for energy, not when it loads the plugin. Some versions of slurmd fork after loading
 * it, to become a daemon, and a thread does not survive a fork.
 */
void slurmd_side_start(void);
void slurmd_side_stop(void);

/* Gives the node's energy and power; NO_VAL64 and NO_VAL while they are not known. */
void slurmd_side_energy(acct_gather_energy_t *energy);

#endif
