/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctld_running.h - the running jobs, asked of slurmctld as squeue does: if no job has changed since the last question,
 * slurmctld does not send them again. Uses the public API of libslurm, and waits for slurmctld as long as squeue does.
 */
#ifndef CEEMS_RECORDER_CTLD_RUNNING_H
#define CEEMS_RECORDER_CTLD_RUNNING_H

#include <stdbool.h>

#include "recorder/slurmdb_rows.h"

struct ctld_running;

/* Of one user, or of all that slurmctld shows (PrivateData). NULL: out of memory. */
struct ctld_running *ctld_running_create(bool all_users, uint32_t uid);
void ctld_running_destroy(struct ctld_running *c);

/*
 * Returns 1 if *RET was replaced, and 0 if no job has changed. The records have no steps, and steps_known is not set. -EIO:
 * slurmctld does not answer; -ENOMEM. After 0 and after an error *RET is as before.
 */
int ctld_running_get(struct ctld_running *c, struct slurmdb_jobs *ret, struct errmsg *err);

#endif
