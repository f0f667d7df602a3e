/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gres.h - which GPUs of this node Slurm gave to a job and to one of its steps.
 */
#ifndef CEEMS_ACCT_GATHER_GRES_H
#define CEEMS_ACCT_GATHER_GRES_H

#include "acct_gather/slurm_compat.h"
#include "src/libledger/ledger.h"

/*
 * Fills in job_gpu_ppm and step_gpu_ppm. GPUs that gres.conf only counts (no File) cannot be told
 * apart: that is said in slurmd's log, and the job gets none of their energy.
 */
void gres_identify(const stepd_step_rec_t *step, struct ledger_identity *id);

#endif
