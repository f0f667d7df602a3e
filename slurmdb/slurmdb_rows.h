/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_rows.h - reads slurmdbd's rows as struct record; no other code does. Uses the public API
 * of libslurm, so the site's PrivateData decides what a user may see.
 *
 * Each question uses a connection of its own, unless one_connection is set. The reason is that
 * slurmdbd keeps one transaction open per connection. MariaDB shows that transaction the tables as
 * they were at the first question.
 *
 * A question may wait 900 s for slurmdbd. A program that must not wait uses slurmdb_client.h; a
 * program that may be ended sets `limit`.
 */
#ifndef CEEMS_SLURMDB_ROWS_H
#define CEEMS_SLURMDB_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slurmdb/slurmdb_signs.h"
#include "src/librecord/record.h"
#include "src/libutil/errmsg.h"

/*
 * Most jobs per question. For 200 jobs, MariaDB ignores its indexes and reads the whole job table.
 */
#define SLURMDB_ASK_MAX 100

/* A request for the rows of a job. A zero member means "any" or "unknown". */
struct slurmdb_want {
	/*
	 * id of the job; of an array or het job: all its tasks, or all components (see whole_het)
	 */
	uint32_t job_id;
	/*
	 * Select a task, if job_id is 0 or equals array_job_id: the first job id of an array would
	 * return the rows of all tasks. SLURMDB_NO_TASK selects the row of the array as a whole,
	 * which never ran and has no steps.
	 */
	uint32_t array_job_id, array_task_id;
	/* select a component of a het job, if het_job_id is not 0 */
	uint32_t het_job_id, het_offset;
	/* with job_id: one run of the job, or one part of a resized job; 0: all rows */
	uint64_t submit;
	bool no_steps;		    /* the job's row only */
	bool script;		    /* read the batch script, too; takes a second question */
	struct slurmdb_known known; /* what the plugin's hook knows about the job */
};
#define SLURMDB_NO_TASK UINT32_C(0xfffffffe) /* NO_VAL */

/* One row of the job table. */
struct slurmdb_job {
	enum slurmdb_state state;
	enum slurmdb_sign missing; /* what is missing, if state is SLURMDB_OPEN */
	/* slurmdbd has only the job's end; the rest of the record is unknown */
	bool is_half;
	/*
	 * Owned. Times, names, TRES and steps are as in the row, and energy.row_j is sacct's
	 * ConsumedEnergyRaw: record_fill() was not called. With no_steps, the steps are unknown.
	 */
	struct record *record;
};

struct slurmdb_jobs {
	struct slurmdb_job *job; /* owned */
	size_t n;
};
void slurmdb_jobs_free(struct slurmdb_jobs *jobs);

/* What slurmdbd is being asked for; the argument of slurmdb_options.limit. */
enum slurmdb_question {
	SLURMDB_ASKS_NOTHING, /* nothing: the answer is there */
	SLURMDB_ASKS_LITTLE,  /* names, or jobs by their ids */
	SLURMDB_ASKS_PERIOD,  /* all jobs of a period */
};
typedef void slurmdb_limit(enum slurmdb_question what);

struct slurmdb_options {
	const char *cluster; /* NULL: all clusters of that slurmdbd */
	bool whole_het;	     /* the id of a het job selects all its components, as in sacct */
	bool no_usage;	     /* JobAcctGatherType=none: no step has usage */
	/*
	 * Keeps the connection open. For a program that asks once: connecting takes longer than
	 * most answers.
	 */
	bool one_connection;
	bool no_qos; /* leave qos unknown; saves a question of 40 ms or more */
	/*
	 * Sets a time limit: called before each question with its kind, and after it with
	 * SLURMDB_ASKS_NOTHING. Connecting has the kind SLURMDB_ASKS_LITTLE. NULL: no limit.
	 */
	slurmdb_limit *limit;
};

/*
 * A reader of slurmdbd, which remembers the names of TRES and QOS between questions. The first
 * slurmdb_rows_create() of a process calls slurm_init(), which ends the process if there is no
 * slurm.conf.
 */
struct slurmdb_rows;
int slurmdb_rows_create(const struct slurmdb_options *o, struct slurmdb_rows **ret,
			struct errmsg *err) _must_check_;
void slurmdb_rows_destroy(struct slurmdb_rows *r);

/*
 * Reads the rows for WANT[n], n at most SLURMDB_ASK_MAX, in slurmdbd's order, including those of
 * earlier runs. Free RET with slurmdb_jobs_free(). A WANT without a row is no error. -ECONNREFUSED:
 * no connection to slurmdbd; -EIO: it did not answer; -ENOMEM.
 */
int slurmdb_rows_get(struct slurmdb_rows *r, const struct slurmdb_want *want, size_t n,
		     struct slurmdb_jobs *ret, struct errmsg *err) _must_check_;

/*
 * Reads the jobs that ended from FROM to TO, both included, without steps. Jobs that were cancelled
 * before they became eligible are included. If Slurm has no column for it, restart_count is 0: only
 * slurmdb_rows_get() reads the earlier runs and counts them. Errors: see slurmdb_rows_get().
 */
int slurmdb_rows_window(struct slurmdb_rows *r, uint64_t from, uint64_t to, struct slurmdb_jobs *ret,
			struct errmsg *err) _must_check_;

/* Matches any of the N texts; 0: matches everything. Borrowed. */
struct slurmdb_texts {
	const char *const *text;
	size_t n;
};

/* Matches a job if all four lists match. */
struct slurmdb_filter {
	struct slurmdb_texts uids; /* numbers, as text */
	struct slurmdb_texts accounts, partitions, names;
};

/*
 * Read jobs with their steps and all their runs. slurmdb_rows_ended() reads the jobs that ended
 * from FROM to TO, both included. slurmdb_rows_open_at() reads the jobs that were eligible before
 * AT and had not ended by then. On one connection all answers show one state of the database. So a
 * job is in exactly one of two windows that meet at AT. Errors: see slurmdb_rows_get().
 */
int slurmdb_rows_ended(struct slurmdb_rows *r, const struct slurmdb_filter *filter, uint64_t from,
		       uint64_t to, struct slurmdb_jobs *ret, struct errmsg *err) _must_check_;
int slurmdb_rows_open_at(struct slurmdb_rows *r, const struct slurmdb_filter *filter, uint64_t at,
			 struct slurmdb_jobs *ret, struct errmsg *err) _must_check_;

/*
 * Returns 1 if slurmdbd shows UID the jobs of all users, else 0; or an error of slurmdb_rows_get().
 * slurmdbd shows them if PrivateData does not have jobs, or if UID is an operator. A coordinator
 * does not see all. USER is the name of UID, or NULL.
 */
int slurmdb_rows_shows_all(struct slurmdb_rows *r, uint32_t uid, const char *user, struct errmsg *err);

/* Returns 1 if slurmdbd has a cluster NAME, else 0; or an error of slurmdb_rows_get(). */
int slurmdb_rows_has_cluster(struct slurmdb_rows *r, const char *name, struct errmsg *err);

/* Returns 0 if slurmdbd answers; or an error of slurmdb_rows_get(). */
int slurmdb_rows_ping(struct slurmdb_rows *r, struct errmsg *err);

/* Whether JOB is the run that WANT selects by job_id and submit. */
static inline bool slurmdb_want_is(const struct slurmdb_want *want, const struct record *job)
{
	return job->job_id == want->job_id && job->submit == want->submit;
}

#endif
