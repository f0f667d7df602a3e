/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_rows.h - reads slurmdbd's rows: jobs and steps as struct record. It is the only reader.
 * It asks through the public API of libslurm, so that the site's PrivateData decides what a user
 * may see.
 *
 * Each question has a connection of its own, unless one_connection is set. slurmdbd keeps one
 * transaction open per connection, in which MariaDB shows the tables as they were at the first
 * question.
 *
 * A question may wait 900 s for slurmdbd. A program that must not wait uses slurmdb_client.h. A program that may end
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

/*
 * Jobs per question. For 200 jobs, MariaDB does not use the indexes and reads the whole job table.
 */
#define SLURMDB_ASK_MAX 100

/* A request for the rows of a job. Zeroed members mean "any" or "unknown". */
struct slurmdb_want {
	uint32_t job_id; /* for an array or a het job: all its tasks, or (see whole_het) components */
	/*
	 * If job_id is 0 or equals array_job_id, the task is asked for by these two, since the
	 * first job id of an array brings the rows of all tasks. SLURMDB_NO_TASK: the row of the
	 * array as a whole, which never ran and has no steps.
	 */
	uint32_t array_job_id, array_task_id;
	uint32_t het_job_id, het_offset; /* asked by these two instead, if het_job_id is not 0 */
	uint64_t submit; /* with job_id: one run of the job, or one part of a resized job; 0: all rows */
	bool no_steps;	 /* the job's row only */
	bool script;	 /* the batch script, too; takes a second question */
	struct slurmdb_known known; /* what the plugin's hook knows about the job */
};
#define SLURMDB_NO_TASK UINT32_C(0xfffffffe) /* NO_VAL */

/* One row of the job table. */
struct slurmdb_job {
	enum slurmdb_state state;
	enum slurmdb_sign missing; /* if state is SLURMDB_OPEN: what is missing */
	bool is_half;		  /* slurmdbd knows only the job's end; the rest of the record is unknown */
	struct maybe_u64 energy_j; /* sacct's ConsumedEnergyRaw of the job's row */
	/*
	 * Owned. Times, names, TRES and steps as the row has them; record_fill() was not called.
	 * With no_steps, the steps are unknown.
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
	bool whole_het;	     /* the id of a het job stands for all its components, as with sacct */
	bool no_usage;	     /* JobAcctGatherType=none: no step has usage */
	bool one_connection; /* keep the connection open; for a program that asks once, since connecting takes
				longer than most answers */
	bool no_qos;	     /* leave the records' qos out; saves a question of 40 ms or more */
	slurmdb_limit *limit; /* called before each question, and after it with SLURMDB_ASKS_NOTHING; NULL: no limit */
};

/*
 * A reader of slurmdbd. It remembers the names of TRES and QOS from one question to the next. The
 * first slurmdb_rows_create() of a process calls slurm_init(), which ends the process if there is no
 * slurm.conf.
 */
struct slurmdb_rows;
int slurmdb_rows_create(const struct slurmdb_options *o, struct slurmdb_rows **ret,
			struct errmsg *err);
void slurmdb_rows_destroy(struct slurmdb_rows *r);

/*
 * Reads the rows for WANT[n], at most SLURMDB_ASK_MAX, in slurmdbd's order, with those of earlier
 * runs. The caller frees *ret. A WANT without a row is no error. -ECONNREFUSED: no connection to
 * slurmdbd. -EIO: it did not answer.
 */
int slurmdb_rows_get(struct slurmdb_rows *r, const struct slurmdb_want *want, size_t n,
		     struct slurmdb_jobs *ret, struct errmsg *err);

/*
 * Reads the jobs that ended from FROM to TO, both included, without steps. Jobs that were cancelled
 * before they became eligible are included. If Slurm has no column for it, restart_count is 0: it
 * is counted from the earlier runs, which only slurmdb_rows_get() reads.
 */
int slurmdb_rows_window(struct slurmdb_rows *r, uint64_t from, uint64_t to,
			struct slurmdb_jobs *ret, struct errmsg *err);

/* Matches any of these texts; n 0: matches everything. Borrowed. */
struct slurmdb_texts {
	const char *const *text;
	size_t n;
};

/* Matches a job if all four lists match. */
struct slurmdb_filter {
	struct slurmdb_texts uids; /* numbers */
	struct slurmdb_texts accounts, partitions, names;
};

/*
 * The first function reads the jobs that ended from FROM to TO, both included; the second those
 * that were eligible before AT and had not ended by then. Both with steps and with all runs of a
 * job. On one connection, all answers are of one state of the database. So a job is in exactly one
 * of two windows of which one ends and the other begins at AT.
 */
int slurmdb_rows_ended(struct slurmdb_rows *r, const struct slurmdb_filter *filter, uint64_t from, uint64_t to,
		       struct slurmdb_jobs *ret, struct errmsg *err);
int slurmdb_rows_open_at(struct slurmdb_rows *r, const struct slurmdb_filter *filter, uint64_t at,
			 struct slurmdb_jobs *ret, struct errmsg *err);

/*
 * Returns 1 if slurmdbd shows UID the jobs of all users, 0 if not, or an error of slurmdb_rows_get(). It shows them if
 * PrivateData has no jobs, or if UID is an operator; a coordinator does not see all. USER is the name of UID, or NULL.
 */
int slurmdb_rows_shows_all(struct slurmdb_rows *r, uint32_t uid, const char *user, struct errmsg *err);

/* Returns 1 if slurmdbd has a cluster NAME, 0 if not, or an error of slurmdb_rows_get(). */
int slurmdb_rows_has_cluster(struct slurmdb_rows *r, const char *name, struct errmsg *err);

/* Returns 0 if slurmdbd answers, or an error of slurmdb_rows_get(). */
int slurmdb_rows_ping(struct slurmdb_rows *r, struct errmsg *err);

/* Returns true if JOB is the run that WANT asks for by job_id and submit. */
static inline bool slurmdb_want_is(const struct slurmdb_want *want, const struct record *job)
{
	return job->job_id == want->job_id && job->submit == want->submit;
}

#endif
