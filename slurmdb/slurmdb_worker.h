/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_worker.h - the process that asks slurmdbd for slurmdb_client.h. Links libslurm.
 */
#ifndef CEEMS_SLURMDB_WORKER_H
#define CEEMS_SLURMDB_WORKER_H

#include <stdbool.h>

/*
 * Runs `ceems-recorder --ask-slurmdbd`: answers the questions that come on FD, a socket (standard
 * input), until it is closed. FROM_SLURMCTLD (--ask-slurmctld): asks slurmctld instead
 * (ctld_rows.h). Returns the exit status.
 */
int slurmdb_worker_main(int fd, bool from_slurmctld);

#endif
