/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctld_running.h - asks slurmctld for the running jobs, as squeue does. slurmctld sends them again
 * only if a job has changed. Uses the public API of libslurm, and waits for slurmctld as long as
 * squeue does.
 */
#ifndef CEEMS_SLURMDB_CTLD_RUNNING_H
#define CEEMS_SLURMDB_CTLD_RUNNING_H

#include <stdbool.h>

#include "slurmdb/slurmdb_rows.h"
#include "src/libutil/must_check.h"

struct ctld_running;

/*
 * Creates a client for the jobs of user UID, or of all users whose jobs slurmctld shows
 * (PrivateData). NULL: out of memory. Calls slurm_init(), which ends the process if there is no
 * slurm.conf.
 */
struct ctld_running *ctld_running_create(bool all_users, uint32_t uid);
void ctld_running_destroy(struct ctld_running *c);

/*
 * Reads the running jobs. Returns 1: *RET was replaced; 0: no job has changed. The records have no
 * steps (steps_known is false). -EIO: slurmctld does not answer; -ENOMEM. On 0 and on error *RET is
 * unchanged.
 */
int ctld_running_get(struct ctld_running *c, struct slurmdb_jobs *ret, struct errmsg *err) _must_check_;

#endif
