/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_step.h - makes a job's record from a step, so that the screen of a job can show the step.
 */
#ifndef CEEMS_CMD_JOB_STEP_H
#define CEEMS_CMD_JOB_STEP_H

#include "src/librecord/record.h"

/* NULL: R has no such step. */
struct record_step *job_step_find(const struct record *r, uint32_t step_id);

/* The step's times, values and exit code with the job's names. RET borrows from R and its step S. */
void job_step_record(const struct record *r, struct record_step *s, struct record *ret);

#endif
