/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_live.h - what running steps have used so far, by sstat: slurmd asks the stepds, and tells only the job's owner
 * and operators. slurmdbd hears of it when a step ends.
 *
 * sstat as a child, and not libslurm's slurm_job_step_stat(): that returns jobacctinfo_t, which no public function
 * reads, and has other arguments in other versions. One reading, so that power is a mean: two of them would have to be
 * some SampleInterval apart.
 */
#ifndef CEEMS_CMD_JOB_LIVE_H
#define CEEMS_CMD_JOB_LIVE_H

#include <stdio.h>

#include "src/librecord/record.h"

#define JOB_LIVE_MAX 50 /* jobs that are asked for: sstat takes them one by one */
#define JOB_LIVE_WHY_MAX 128

/*
 * Sets the figures of the steps of those of R[N] that run; where steps_known is not set, the steps are added. WHY is empty, or says why nothing is known of some.
 */
void job_live_ask(struct record *const *r, size_t n, char why[JOB_LIVE_WHY_MAX]);

/* The same, from what sstat prints. */
void job_live_read(FILE *from, struct record *const *r, size_t n, char why[JOB_LIVE_WHY_MAX]);

#endif
