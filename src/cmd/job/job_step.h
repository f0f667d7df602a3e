/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_step.h - makes a record of one step, so that the screen of a job can show it.
 */
#ifndef CEEMS_CMD_JOB_STEP_H
#define CEEMS_CMD_JOB_STEP_H

#include "src/librecord/record.h"

/* Returns step STEP_ID of job R, borrowed. NULL: R has no such step. */
struct record_step *job_step_find(const struct record *r, uint32_t step_id);

/* Bytes of the longest id of a step, with its NUL. */
#define JOB_STEP_ID_MAX sizeof("4294967295.interactive")

/* Writes the id of step STEP_ID of job JOB_ID, such as "12.0" or "12.batch", into BUF and returns BUF. */
const char *job_step_id(uint32_t job_id, uint32_t step_id, char buf[JOB_STEP_ID_MAX]);

/*
 * Fills RET with the times, values and exit code of step S and the names of its job R. RET borrows
 * from R and S.
 */
void job_step_record(const struct record *r, struct record_step *s, struct record *ret);

#endif
