/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_ask.h - asks slurmdbd and sstat for jobs by their ids, for the commands that show jobs. The answer has
 * all tasks or components of a job, in the order in which they are shown.
 */
#ifndef CEEMS_CMD_JOB_ASK_H
#define CEEMS_CMD_JOB_ASK_H

#include "slurmdb/slurmdb_rows.h"
#include "src/cmd/job/job_ids.h"
#include "src/cmd/job/job_live.h"
#include "src/cmd/job/job_site.h"

struct job_question {
	const struct job_ids *ids;
	const char *cluster; /* cluster to ask for, or "all"; NULL: the site's */
	uint64_t wait_ns;    /* how long to repeat the question until slurmdbd has the end of all jobs */
	bool duplicates;     /* also give the earlier runs of a job */
	bool script, qos;    /* also give the batch script, the name of the QOS */
};

struct job_answer {
	struct job_site *site; /* borrowed */
	struct slurmdb_jobs jobs;
	char not_live[JOB_LIVE_WHY_MAX]; /* why values of running steps are missing; empty: they are not */
};
void job_answer_free(struct job_answer *a);

/*
 * Prints an error if $SLURM_CONF names a missing file, for which libslurm would wait a minute.
 * Returns enum cmd_exit.
 */
int job_ask_check_conf(void);

/* Returns the cluster to ask for: ASKED, or the site's; NULL: all. */
const char *job_ask_cluster(const struct job_site *site, const char *asked);

/*
 * Call it after an answer without jobs: prints an error if slurmdbd does not know CLUSTER. Returns
 * enum cmd_exit.
 */
int job_ask_check_cluster(struct slurmdb_rows *rows, const char *cluster);

/*
 * Asks question Q and fills A, whose site must be loaded. Prints errors. Returns enum cmd_exit. It is no
 * error if there is no job with one of the ids.
 */
int job_ask(const struct job_question *q, struct job_answer *a);

/* Prints each of IDS for which A has no job. Returns CMD_FAILED if there is one, else CMD_OK. */
int job_ask_missing(const struct job_ids *ids, const struct job_answer *a);

/* Returns true if A and B are parts of the same array or heterogeneous job. */
bool job_ask_is_group(const struct record *a, const struct record *b);

#endif
