/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctld_running.h - asks slurmctld for the running jobs, as squeue does. If no job has changed since
 * the last question, slurmctld does not send them again. Uses the public API of libslurm, and waits
 * for slurmctld as long as squeue does.
 */
#ifndef CEEMS_RECORDER_CTLD_RUNNING_H
#define CEEMS_RECORDER_CTLD_RUNNING_H

#include <stdbool.h>

#include "recorder/slurmdb_rows.h"

struct ctld_running;

/*
 * For the jobs of user UID, or of all users whose jobs slurmctld shows (PrivateData). NULL: out of
 * memory.
 */
struct ctld_running *ctld_running_create(bool all_users, uint32_t uid);
void ctld_running_destroy(struct ctld_running *c);

/*
 * Returns 1 if *RET was replaced, and 0 if no job has changed. The records have no steps
 * (steps_known is false). -EIO: slurmctld does not answer. -ENOMEM. After 0 and after an error *RET
 * is unchanged.
 */
int ctld_running_get(struct ctld_running *c, struct slurmdb_jobs *ret, struct errmsg *err);

#endif
