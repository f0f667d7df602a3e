/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_rows.h - the one reader of slurmdbd's rows: jobs and steps as struct record. Asks through the
 * public API of libslurm, so that the site's PrivateData decides what a user may see.
 *
 * Each question has a connection of its own, unless one_connection is set. slurmdbd keeps one transaction
 * open for each connection, and in this transaction MariaDB shows the tables as they were at the first
 * question.
 *
 * A question waits for slurmdbd up to 900 s. A program that may not wait asks through slurmdb_client.h. One that may end
 * instead sets a limit.
 */
#ifndef CEEMS_RECORDER_SLURMDB_ROWS_H
#define CEEMS_RECORDER_SLURMDB_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/slurmdb_signs.h"
#include "src/librecord/record.h"
#include "src/libutil/errmsg.h"

/* Jobs per question: of 200 MariaDB no longer uses the indexes and reads the whole job table. */
#define SLURMDB_ASK_MAX 100

/* What is wanted. Zeroed members are "any" or "unknown". */
struct slurmdb_want {
	uint32_t job_id; /* of an array or a het job also: all its tasks or, see whole_het, components */
	/*
	 * If job_id is 0 or array_job_id, the task is asked for by these two, since the first job
	 * id of an array brings the rows of all tasks. SLURMDB_NO_TASK: the array as a whole, which
	 * never ran and so has no steps.
	 */
	uint32_t array_job_id, array_task_id;
	uint32_t het_job_id, het_offset; /* asked by these two instead, if het_job_id is not 0 */
	uint64_t submit; /* with job_id, one run, or one part of a resized job; 0: every row */
	bool no_steps;	 /* the job's row only */
	bool script;	 /* of a batch job; costs a second question */
	struct slurmdb_known known; /* what the hook knows */
};
#define SLURMDB_NO_TASK UINT32_C(0xfffffffe) /* NO_VAL */

/* One row of the job table. */
struct slurmdb_job {
	enum slurmdb_state state;
	enum slurmdb_sign missing; /* of SLURMDB_OPEN */
	bool is_half;		  /* slurmdbd knows the end only: the rest of the record is unknown */
	struct maybe_u64 energy_j; /* of the job's row: sacct's ConsumedEnergyRaw */
	/*
	 * Owned. As the row has it: times, names, TRES, steps; record_fill() was not called. Steps are
	 * not known after no_steps.
	 */
	struct record *record;
};

struct slurmdb_jobs {
	struct slurmdb_job *job; /* owned */
	size_t n;
};
void slurmdb_jobs_free(struct slurmdb_jobs *jobs);

/* What slurmdbd is being asked for. */
enum slurmdb_question {
	SLURMDB_ASKS_NOTHING, /* the answer is there */
	SLURMDB_ASKS_LITTLE,  /* names, or jobs by their ids */
	SLURMDB_ASKS_PERIOD,  /* all jobs of a period */
};
typedef void slurmdb_limit(enum slurmdb_question what);

struct slurmdb_options {
	const char *cluster; /* NULL: every cluster of that slurmdbd */
	bool whole_het;	     /* the id of a het job brings all its components, as of sacct */
	bool no_usage;	     /* JobAcctGatherType=none: no step has usage */
	bool one_connection; /* for who asks once and ends: connecting takes longer than most answers */
	bool no_qos;	     /* the records' qos is not wanted: a question less, of 40 ms at least */
	slurmdb_limit *limit; /* called before each question, and after it with SLURMDB_ASKS_NOTHING; NULL: none */
};

/*
 * Names of TRES and QOS, kept from question to question. The first one calls slurm_init(), which ends the
 * process when there is no slurm.conf.
 */
struct slurmdb_rows;
int slurmdb_rows_create(const struct slurmdb_options *o, struct slurmdb_rows **ret,
			struct errmsg *err);
void slurmdb_rows_destroy(struct slurmdb_rows *r);

/*
 * The rows of N wants, at most SLURMDB_ASK_MAX, in slurmdbd's order, with those of earlier runs.
 * The caller frees *ret. A want without a row is no error. -ECONNREFUSED: there is no connection to
 * slurmdbd; -EIO: it gave no answer.
 */
int slurmdb_rows_get(struct slurmdb_rows *r, const struct slurmdb_want *want, size_t n,
		     struct slurmdb_jobs *ret, struct errmsg *err);

/*
 * The jobs that ended from FROM to TO, both included, without steps. Jobs that were cancelled
 * before they became eligible are among them. Before Slurm has it as a column, restart_count is 0:
 * it needs the earlier runs, which slurmdb_rows_get() brings.
 */
int slurmdb_rows_window(struct slurmdb_rows *r, uint64_t from, uint64_t to,
			struct slurmdb_jobs *ret, struct errmsg *err);

/* Any of these texts; none: every one. Borrowed. */
struct slurmdb_texts {
	const char *const *text;
	size_t n;
};

/* Jobs that all four allow. */
struct slurmdb_filter {
	struct slurmdb_texts uids; /* numbers */
	struct slurmdb_texts accounts, partitions, names;
};

/*
 * The jobs that ended from FROM to TO, both included, and the jobs that became eligible before AT
 * and had not ended by then. With steps, and with every run of each job. On one connection all
 * answers are of one state of the database. So each job is in exactly one of the windows that end
 * and begin at AT.
 */
int slurmdb_rows_ended(struct slurmdb_rows *r, const struct slurmdb_filter *filter, uint64_t from, uint64_t to,
		       struct slurmdb_jobs *ret, struct errmsg *err);
int slurmdb_rows_open_at(struct slurmdb_rows *r, const struct slurmdb_filter *filter, uint64_t at,
			 struct slurmdb_jobs *ret, struct errmsg *err);

/*
 * Whether slurmdbd shows the jobs of all users to this one: PrivateData has no jobs, or the user is an operator. USER: the
 * name, or NULL. 1, 0, or as slurmdb_rows_get(). A coordinator does not see all.
 */
int slurmdb_rows_shows_all(struct slurmdb_rows *r, uint32_t uid, const char *user, struct errmsg *err);

/* Whether slurmdbd has a cluster of that name: 1, 0, or as slurmdb_rows_get(). */
int slurmdb_rows_has_cluster(struct slurmdb_rows *r, const char *name, struct errmsg *err);

/* Whether slurmdbd answers: 0, or as slurmdb_rows_get(). */
int slurmdb_rows_ping(struct slurmdb_rows *r, struct errmsg *err);

/* Whether JOB is the one run that WANT, which has job_id and submit, asks for. */
static inline bool slurmdb_want_is(const struct slurmdb_want *want, const struct record *job)
{
	return job->job_id == want->job_id && job->submit == want->submit;
}

#endif
