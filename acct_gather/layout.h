/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - are Slurm's structs as large as the headers say that this was built with? Slurm takes a plugin
 * for its version number, which says less (jobcomp/layout.h). Such a plugin would write into memory that is
 * not meant.
 */
#ifndef CEEMS_ACCT_GATHER_LAYOUT_H
#define CEEMS_ACCT_GATHER_LAYOUT_H

#include "acct_gather/slurm_compat.h"

#include <stdbool.h>

/* Slurm's allocator knows the size of what it gave, each of these alone. xsize() takes no const. */
#define LAYOUT_IS_AS_BUILT(p) (xsize((void *)(p)) == sizeof(*(p)))

/* Of slurmd: its configuration, and what energy is told in. */
bool layout_is_right(void);

/* Of slurmstepd as well: a step; and what its usage is told in, which is there later, or NULL. */
bool layout_of_step_is_right(const stepd_step_rec_t *step);

/* Of lists of gres_state_t with the records of a job or of a step; of gres_device_t; of shared_dev_info_t. */
bool layout_of_gres_is_right(CEEMS_LIST gres, bool is_job);
bool layout_of_devices_is_right(CEEMS_LIST devices);
bool layout_of_shares_is_right(CEEMS_LIST shares);

/*
 * Returns jobacct_gather's record of a task, in which ENERGY is a member. In a slurmstepd only common_jag.c asks for
 * energy, and it passes a pointer into such a record (22.05 to 26.05). NULL: the record is not as the headers say.
 */
struct jobacctinfo *layout_task_of(acct_gather_energy_t *energy);

#endif
