/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_ask.h - asks slurmdbd and sstat for jobs by their ids, for the commands that show jobs. The jobs come with all their
 * parts, in the order in which they are shown.
 */
#ifndef CEEMS_CMD_JOB_ASK_H
#define CEEMS_CMD_JOB_ASK_H

#include "recorder/slurmdb_rows.h"
#include "src/cmd/job_ids.h"
#include "src/cmd/job_live.h"
#include "src/cmd/job_site.h"

struct job_question {
	const struct job_ids *ids;
	const char *cluster; /* NULL: the site's */
	uint64_t wait_ns;    /* how long to ask again, until slurmdbd has the end of all of them */
	bool duplicates;     /* also the earlier runs of a job */
	bool script, qos;    /* are wanted */
};

struct job_answer {
	struct job_site *site; /* borrowed */
	struct slurmdb_jobs jobs;
	char not_live[JOB_LIVE_WHY_MAX]; /* why nothing is known of running steps, or empty */
};
void job_answer_free(struct job_answer *a);

/* Prints an error if the file $SLURM_CONF is missing; libslurm would wait a minute for it. Returns enum cmd_exit. */
int job_ask_check_conf(void);

/* The cluster to ask for: ASKED, or the site's; NULL: all. */
const char *job_ask_cluster(const struct job_site *site, const char *asked);

/* After an answer without jobs: prints an error if slurmdbd knows no such CLUSTER. Returns enum cmd_exit. */
int job_ask_check_cluster(struct slurmdb_rows *rows, const char *cluster);

/* Fills A, whose site is loaded. Prints errors; returns enum cmd_exit. An id without a job is not an error. */
int job_ask(const struct job_question *q, struct job_answer *a);

/* Prints each of IDS that A has no job of. Returns CMD_FAILED if there is one, else CMD_OK. */
int job_ask_missing(const struct job_ids *ids, const struct job_answer *a);

/* Whether both are parts of one array or het job. */
bool job_ask_is_group(const struct record *a, const struct record *b);

#endif
