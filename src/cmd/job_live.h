/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_live.h - the use of running steps so far, from sstat. slurmd asks each slurmstepd, which answers only the job's
 * owner, root and SlurmUser. slurmdbd gets the values only when a step ends.
 *
 * sstat runs as a child. libslurm's slurm_job_step_stat() is not used: it returns jobacctinfo_t, which no public function
 * reads, and its arguments differ between versions. There is only one reading, so power is the mean since the start. For
 * the present power, two readings at least a SampleInterval apart would be needed.
 */
#ifndef CEEMS_CMD_JOB_LIVE_H
#define CEEMS_CMD_JOB_LIVE_H

#include <stdio.h>

#include "src/librecord/record.h"

#define JOB_LIVE_MAX 50 /* jobs that are asked for: sstat takes them one by one */
#define JOB_LIVE_WHY_MAX 128

/*
 * Sets the values of the steps of those of R[N] that run; where steps_known is not set, the steps are added. WHY is empty, or says why nothing is known of some.
 */
void job_live_ask(struct record *const *r, size_t n, char why[JOB_LIVE_WHY_MAX]);

/* The same, from what sstat prints. */
void job_live_read(FILE *from, struct record *const *r, size_t n, char why[JOB_LIVE_WHY_MAX]);

#endif
