/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * abi.h - checks that Slurm's structs have the sizes that they had in the headers of the build. A plugin that
 * was built with other headers would write to the wrong memory. Slurm compares version numbers only, which
 * may be equal although the structs differ (see jobcomp/abi_check.h).
 */
#ifndef CEEMS_ACCT_GATHER_ABI_H
#define CEEMS_ACCT_GATHER_ABI_H

#include "acct_gather/slurm_compat.h"

#include <stdbool.h>

/*
 * True if *P has the size of its type. P must come from xmalloc(), of which xsize()
 * knows the size. Drops const.
 */
#define ABI_IS_AS_BUILT(p) (xsize((void *)(p)) == sizeof(*(p)))

/* Checks slurmd_conf_t and acct_gather_energy_t. */
bool abi_is_right(void);

/* Checks the step, and its jobacct if it has one already. */
bool abi_step_is_right(const stepd_step_rec_t *step);

/* Check each element of a list: gres_state_t of a job or a step, gres_device_t, and shared_dev_info_t. */
bool abi_gres_is_right(CEEMS_LIST gres, bool is_job);
bool abi_devices_is_right(CEEMS_LIST devices);
bool abi_shares_is_right(CEEMS_LIST shares);

/*
 * Returns the record of a task whose member ENERGY is. In a slurmstepd, only common_jag.c asks for energy,
 * and it passes a pointer into the record that jobacct_gather has of a task (22.05 to 26.05). NULL: the
 * record differs from the headers.
 */
struct jobacctinfo *abi_task_of(acct_gather_energy_t *energy);

#endif
