/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_refill.h - a job's record from its row in slurmdbd: for ends of which the hook's queue could
 * keep no more than the key (feed.h).
 */
#ifndef CEEMS_JOB_REFILL_H
#define CEEMS_JOB_REFILL_H

#include "src/librecord/record.h"

/*
 * Fills what R does not know: unknown numbers, times of 0, texts of NULL; what it knows stays. JOB is a
 * slurmdb_job_rec_t. -ENOMEM leaves R usable, with less in it.
 */
int job_refill(const void *job, struct record *r);

#endif
