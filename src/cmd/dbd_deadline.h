/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbd_deadline.h - ends a command to which slurmdbd gives no answer. libslurm waits up to 900 s for one, and cannot be told
 * to stop.
 */
#ifndef CEEMS_CMD_DBD_DEADLINE_H
#define CEEMS_CMD_DBD_DEADLINE_H

#include "src/cmd/job_site.h"

#define DBD_DEADLINE_S 30 /* or MessageTimeout of slurm.conf, if that is longer */
#define DBD_DEADLINE_PERIOD 10 /* a question about all jobs of a period may take so many times as long */
#define DBD_DEADLINE_VARIABLE "CEEMS_SLURMDBD_TIMEOUT" /* in seconds instead; 0: as long as libslurm waits */

/* For slurmdb_options.limit: when the time is over, prints an error and ends the process with CMD_FAILED. */
slurmdb_limit *dbd_deadline(const struct job_site *site);

#endif
