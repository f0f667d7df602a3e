/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_list.h - what is known of a job or step, a line each: for who wants more than the screen.
 */
#ifndef CEEMS_CMD_JOB_LIST_H
#define CEEMS_CMD_JOB_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "src/librecord/record.h"

/* All there is, also what was not asked for, as n/a, and a table of the steps. */
void job_list_print(const struct record *r);

/* ALL: also what was not asked for. False: R has no such step. */
bool job_list_step(const struct record *r, uint32_t step_id, bool all);

#endif
