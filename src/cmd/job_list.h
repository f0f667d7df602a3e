/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_list.h - prints all known values of a job or step, one per line, for `ceems job --long`.
 */
#ifndef CEEMS_CMD_JOB_LIST_H
#define CEEMS_CMD_JOB_LIST_H

#include "src/librecord/record.h"

/*
 * Prints all values, as n/a those that are unknown or were not asked for, and a table of the steps.
 */
void job_list_print(const struct record *r);

/* The same of R's step S. */
void job_list_step(const struct record *r, const struct record_step *s);

#endif
