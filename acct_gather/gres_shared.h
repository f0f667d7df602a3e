/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gres_shared.h - how much of a GPU somebody holds who has some of its shares (gres/shard, gres/mps).
 */
#ifndef CEEMS_ACCT_GATHER_GRES_SHARED_H
#define CEEMS_ACCT_GATHER_GRES_SHARED_H

#include "acct_gather/slurm_compat.h"
#include "src/libcore/domain.h"

/*
 * PPM has the GPUs that are held according to GRES, all as whole ones. A GPU that is held by shares
 * alone counts by these shares. Where Slurm does not say how many shares there are, it stays whole.
 */
void gres_shared_scale(CEEMS_LIST gres, bool is_job, uint32_t ppm[GPUS_MAX]);

#endif
