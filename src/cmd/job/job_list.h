/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_list.h - prints all known values of a job or step, one per line, for `ceems job --long`.
 */
#ifndef CEEMS_CMD_JOB_LIST_H
#define CEEMS_CMD_JOB_LIST_H

#include "src/librecord/record.h"

/* Prints all values of job R, and a table of its steps. A value that is unknown or was not counted is n/a. */
void job_list_print(const struct record *r);

/* Prints all values of step S of R. */
void job_list_step(const struct record *r, const struct record_step *s);

#endif
