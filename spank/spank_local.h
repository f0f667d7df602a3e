/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_local.h - --ceems-report in srun, for steps on several nodes. No node knows the sums over all nodes,
 * so srun lets `ceems job` read them from slurmdbd.
 */
#ifndef CEEMS_SPANK_LOCAL_H
#define CEEMS_SPANK_LOCAL_H

#include <slurm/spank.h>

/* Notes a step of this srun that is about to start. In a heterogeneous job, each component has a step. */
void spank_local_step(spank_t sp);

/* After the end of the steps: runs `ceems job` for those on several nodes, and waits for it at most 15 s. */
void spank_local_end(void);

#endif
