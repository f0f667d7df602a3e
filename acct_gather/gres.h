/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gres.h - which GPUs of this node Slurm gave to a job and to one of its steps.
 */
#ifndef CEEMS_ACCT_GATHER_GRES_H
#define CEEMS_ACCT_GATHER_GRES_H

#include "acct_gather/slurm_compat.h"
#include "src/libcore/settings.h"
#include "src/libledger/ledger.h"

/*
 * Fills in job_gpu_ppm, job_gpu_instances, step_gpu_ppm and step_gpu_instances of ID. This is not possible
 * for GPUs without File in gres.conf, nor for MIG instances of an unknown GPU or size. Then the job gets none
 * of their energy, and slurmd's log says so, once per job with PrologFlags=Contain. The sizes of MIG
 * instances are in the ledger of NODE.
 */
void gres_identify(const stepd_step_rec_t *step, const struct settings *settings, const char *node,
		   struct ledger_identity *id);

#endif
