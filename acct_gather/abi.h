/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * abi.h - whether Slurm's structs have the size that they had in the headers of the build. Slurm compares version
 * numbers only (see jobcomp/abi_check.h). A plugin built with other headers would write to the wrong memory.
 */
#ifndef CEEMS_ACCT_GATHER_ABI_H
#define CEEMS_ACCT_GATHER_ABI_H

#include "acct_gather/slurm_compat.h"

#include <stdbool.h>

/* xsize() returns the size that was allocated; P must be an allocation of its own. The cast drops const. */
#define ABI_IS_AS_BUILT(p) (xsize((void *)(p)) == sizeof(*(p)))

/* For slurmd: its configuration and acct_gather_energy_t. */
bool abi_is_right(void);

/* For slurmstepd: the step, and its jobacct, which is NULL at first. */
bool abi_step_is_right(const stepd_step_rec_t *step);

/* Of lists of gres_state_t with the records of a job or of a step; of gres_device_t; of shared_dev_info_t. */
bool abi_gres_is_right(CEEMS_LIST gres, bool is_job);
bool abi_devices_is_right(CEEMS_LIST devices);
bool abi_shares_is_right(CEEMS_LIST shares);

/*
 * Returns jobacct_gather's record of a task, in which ENERGY is a member. In a slurmstepd only common_jag.c asks for
 * energy, and it passes a pointer into such a record (22.05 to 26.05). NULL: the record is not as the headers say.
 */
struct jobacctinfo *abi_task_of(acct_gather_energy_t *energy);

#endif
