/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_walk.h - calls a function for each job of a period. It asks slurmdbd for one slice of the
 * period at a time, to limit memory.
 */
#ifndef CEEMS_CMD_JOBS_WALK_H
#define CEEMS_CMD_JOBS_WALK_H

#include "src/cmd/job/job_site.h"

struct jobs_walk {
	struct job_site *site;
	struct slurmdb_filter filter;
	const char *cluster; /* a cluster or "all"; NULL: the site's */
	uint64_t from, to;   /* Unix seconds: jobs that ended at FROM or later, and before TO */
	/* slices are at most a day, 4 hours in a time without jobs; else 16 days, for few questions */
	bool saves_memory;
	bool with_open; /* also read the jobs that had not ended at TO */
	bool with_qos;
	bool shows_progress; /* print a progress bar on stderr */
	/*
	 * Called for each job. It may call job_site_finish(). JOB is freed afterwards. Returns 0,
	 * or -errno to end the walk.
	 */
	int (*each)(void *arg, struct slurmdb_job *job);
	/*
	 * Called when all jobs that ended before AT were given to EACH, several times in a
	 * walk; as EACH. NULL: not.
	 */
	int (*reached)(void *arg, uint64_t at);
	void *arg;
};

/* Returns CMD_OK, or CMD_FAILED after printing the reason. */
int jobs_walk(const struct jobs_walk *w);

/* Returns true if JOB has started, or may have. sacct lists other jobs only if their state is asked for. */
bool jobs_walk_is_listed(const struct slurmdb_job *job);

#endif
