/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbd_deadline.h - ends a command if slurmdbd does not answer. libslurm would wait up to 900 s for the
 * answer, and has no option for that time.
 */
#ifndef CEEMS_CMD_DBD_DEADLINE_H
#define CEEMS_CMD_DBD_DEADLINE_H

#include "src/cmd/job/job_site.h"

#define DBD_DEADLINE_S 30      /* how long to wait; or MessageTimeout of slurm.conf, if that is longer */
#define DBD_DEADLINE_PERIOD 10 /* factor for a question about all jobs of a period */
/* replaces that time, in seconds; 0: no limit of ours */
#define DBD_DEADLINE_VARIABLE "CEEMS_SLURMDBD_TIMEOUT"

/*
 * Returns a function for slurmdb_options.limit. When the time of a question is over, it prints an error and
 * ends the process with CMD_FAILED.
 */
slurmdb_limit *dbd_deadline(const struct job_site *site);

#endif
