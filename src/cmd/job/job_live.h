/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_live.h - asks sstat for the use of running steps so far, since slurmdbd gets the values only
 * when a step ends. sstat asks slurmd and the slurmstepds, which answer only the job's owner, root
 * and SlurmUser.
 *
 * sstat runs as a child process. libslurm's slurm_job_step_stat() is not used: no public function
 * reads its result (jobacctinfo_t), and its arguments differ between versions. There is only one
 * reading, so power is the mean since the step's start. The present power would need two readings
 * at least a SampleInterval apart.
 */
#ifndef CEEMS_CMD_JOB_LIVE_H
#define CEEMS_CMD_JOB_LIVE_H

#include <stdio.h>

#include "src/librecord/record.h"

#define JOB_LIVE_MAX 50 /* the most jobs asked for; sstat takes them one by one */
#define JOB_LIVE_WHY_MAX 128

/*
 * Sets the values of the running steps of R[n]. Steps are added if steps_known is not set. WHY is
 * "", or tells why some values are missing.
 */
void job_live_ask(struct record *const *r, size_t n, char why[JOB_LIVE_WHY_MAX]);

/* As job_live_ask(), from sstat's output. */
void job_live_read(FILE *from, struct record *const *r, size_t n, char why[JOB_LIVE_WHY_MAX]);

#endif
