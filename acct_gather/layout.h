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

/* Of slurmd: its configuration, and what energy is told in. */
bool layout_is_right(void);

/* Of slurmstepd as well: a step; and what its usage is told in, which is there later, or NULL. */
bool layout_of_step_is_right(const stepd_step_rec_t *step);

/*
 * The task whose energy is asked for: jobacct_gather's common_jag.c, which alone asks in a slurmstepd (22.05 to
 * 26.05), hands over the struct in its record of a task. NULL: that record is not what the headers say.
 */
struct jobacctinfo *layout_task_of(acct_gather_energy_t *energy);

#endif
