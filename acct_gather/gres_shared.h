/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gres_shared.h - which part of a GPU a job or step holds that has some of its shares (gres/shard, gres/mps).
 */
#ifndef CEEMS_ACCT_GATHER_GRES_SHARED_H
#define CEEMS_ACCT_GATHER_GRES_SHARED_H

#include "acct_gather/slurm_compat.h"
#include "src/libcore/domain.h"

/*
 * Corrects PPM, in which each GPU of GRES counts as a whole one. If GRES has only shares, a GPU counts by the
 * shares held. If Slurm does not say how many shares a GPU has, it stays a whole one.
 */
void gres_shared_scale(CEEMS_LIST gres, bool is_job, uint32_t ppm[GPUS_MAX]);

#endif
