/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_local.h - srun's side of --ceems-report: no node knows what a step used on all of them, slurmdbd does.
 */
#ifndef CEEMS_SPANK_LOCAL_H
#define CEEMS_SPANK_LOCAL_H

#include <slurm/spank.h>

/* Before a step of this srun is launched; each component of a het job has one. */
void spank_local_step(spank_t sp);

/* Steps are over: `ceems job` shows those that were on several nodes. Waits for it, up to 15 s. */
void spank_local_end(void);

#endif
