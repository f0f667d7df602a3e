/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs.h - a job as slurmdbd knows it, asked for through libslurm, so that the site's PrivateData
 * decides what a user may see. The only part of the ceems command that knows Slurm.
 */
#ifndef CEEMS_ACCT_JOBS_H
#define CEEMS_ACCT_JOBS_H

#include <stddef.h>
#include <stdint.h>

#include "src/librecord/record.h"
#include "src/libutil/errmsg.h"

/* Several, because clusters that share a slurmdbd may each have a job of that number. */
struct acct_jobs {
	struct record **job; /* owned */
	size_t njobs;
};

/*
 * Job JOB_ID with all its steps, of CLUSTER or of every cluster (NULL). -ENOENT: no such job, or
 * none that this user may see; -EIO: slurmdbd does not answer. Ends the process, as every user of
 * libslurm does, when there is no slurm.conf.
 */
int acct_jobs_get(uint32_t job_id, const char *cluster, struct acct_jobs *ret,
		  struct errmsg *err);
void acct_jobs_free(struct acct_jobs *jobs);

#endif
