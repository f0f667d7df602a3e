/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/jobs/jobs_walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/dbd_deadline.h"
#include "src/cmd/job/job_ask.h"
#include "src/cmd/jobs/progress.h"
#include "src/libutil/clock.h"

/*
 * The period is read in slices of time with about SLICE_JOBS jobs each. The number of jobs in a slice is
 * known only after it was read, so a slice is at most SLICE_GROWTH times as long as the one before, or
 * SLICE_GROWTH_EMPTY times after a slice without jobs: a question that returns nothing takes almost as long
 * as one that returns 100 jobs.
 */
#define SLICE_FIRST_S 3600
#define SLICE_MOST_S (16 * 86400)
/* The same where memory is saved, and in a time without jobs. A site may have 100,000 jobs a day. */
#define SLICE_MOST_SAVING_S 86400
#define SLICE_GAP_S (4 * 3600)
#define SLICE_JOBS 1000
#define SLICE_GROWTH 8
#define SLICE_GROWTH_EMPTY 32

struct walk {
	const struct jobs_walk *w;
	struct slurmdb_rows *rows;
	uint64_t jobs;
	/* the slice before which there were no jobs, and when it was begun */
	uint64_t first;
	uint64_t first_ns;
};

bool jobs_walk_is_listed(const struct slurmdb_job *job)
{
	const struct record *r = job->record;

	return job->is_half || r->start || (r->end && r->eligible);
}

/* RC of a function of the caller. */
static int walk_result(int rc, struct errmsg *err)
{
	return rc < 0 ? errmsg_set(err, rc, "%s", rc == -ENOMEM ? "out of memory" : strerror(-rc)) : 0;
}

static int show_jobs(struct walk *k, struct slurmdb_jobs *jobs, struct errmsg *err)
{
	int rc = 0;
	size_t i;

	for (i = 0; rc == 0 && i < jobs->n; i++)
		rc = k->w->each(k->w->arg, &jobs->job[i]);
	k->jobs += jobs->n;
	return walk_result(rc, err);
}

static int reached(struct walk *k, uint64_t at, struct errmsg *err)
{
	return walk_result(k->w->reached ? k->w->reached(k->w->arg, at) : 0, err);
}

static void show_progress(const struct walk *k, uint64_t at)
{
	struct progress p = { .done = at - k->w->from,
			      .all = k->w->to - k->w->from,
			      .empty = k->first - k->w->from,
			      .jobs = k->jobs,
			      .ns = clock_mono_ns() - k->first_ns };
	char line[200];

	if (!k->w->shows_progress)
		return;
	/*
	 * one column less than the terminal: after a character in the last one, some
	 * terminals begin a new line
	 */
	progress_text(&p, cmd_columns(STDERR_FILENO, 80) - 1, line, sizeof(line));
	(void)fprintf(stderr, "\r%s\033[K", line);
}

static void end_progress(const struct walk *k)
{
	if (k->w->shows_progress)
		(void)fputs("\r\033[K", stderr);
}

/*
 * Returns the length in seconds of the next slice, after a slice of SLICE seconds with N jobs. Where
 * memory is saved, a slice without jobs makes the next one little longer: a busy time may follow.
 */
static uint64_t next_slice(uint64_t slice, size_t n, bool saves_memory)
{
	uint64_t most = saves_memory ? SLICE_MOST_SAVING_S : SLICE_MOST_S;
	uint64_t longest = (n ? SLICE_GROWTH : SLICE_GROWTH_EMPTY) * slice;
	uint64_t next = n ? slice * SLICE_JOBS / n : UINT64_MAX;

	if (next > longest)
		next = longest;
	if (!n && saves_memory && next > SLICE_GAP_S)
		next = slice > SLICE_GAP_S ? slice : SLICE_GAP_S;
	return next > most ? most : next ? next : 1;
}

/* Reads the jobs that ended in the period, slice by slice. */
static int walk_ended(struct walk *k, struct errmsg *err)
{
	uint64_t slice = SLICE_FIRST_S;
	uint64_t at = k->w->from;
	int rc = 0;

	while (rc == 0 && at < k->w->to) {
		uint64_t next = k->w->to - at > slice ? at + slice : k->w->to;
		struct slurmdb_jobs jobs = { 0 };

		if (!k->jobs) {
			k->first = at;
			k->first_ns = clock_mono_ns();
		}
		show_progress(k, at);
		rc = slurmdb_rows_ended(k->rows, &k->w->filter, at, next - 1, &jobs, err);
		if (rc == 0)
			rc = show_jobs(k, &jobs, err);
		if (rc == 0)
			rc = reached(k, next, err);
		slice = next_slice(slice, jobs.n, k->w->saves_memory);
		slurmdb_jobs_free(&jobs);
		at = next;
	}
	return rc;
}

/* Reads the jobs that had not ended at the end of the period. */
static int walk_open(struct walk *k, struct errmsg *err)
{
	struct slurmdb_jobs jobs = { 0 };
	int rc;

	show_progress(k, k->w->to);
	rc = slurmdb_rows_open_at(k->rows, &k->w->filter, k->w->to, &jobs, err);
	if (rc == 0)
		rc = show_jobs(k, &jobs, err);
	slurmdb_jobs_free(&jobs);
	return rc;
}

int jobs_walk(const struct jobs_walk *w)
{
	struct slurmdb_options options = { .one_connection = true,
					   .no_usage = w->site->no_usage,
					   .no_qos = !w->with_qos,
					   .limit = dbd_deadline(w->site) };
	struct walk k = { .w = w, .first = w->from, .first_ns = clock_mono_ns() };
	struct errmsg err = { 0 };
	int rc = job_ask_check_conf();

	if (rc != CMD_OK)
		return rc;
	options.cluster = job_ask_cluster(w->site, w->cluster);
	rc = slurmdb_rows_create(&options, &k.rows, &err);
	if (rc == 0)
		rc = walk_ended(&k, &err);
	if (rc == 0 && w->with_open)
		rc = walk_open(&k, &err);
	end_progress(&k);
	/* a name that was typed may be wrong; of slurm.conf's own the question is not worth its time */
	if (rc < 0)
		rc = cmd_error("%s", err.text);
	else
		rc = w->cluster && !k.jobs ? job_ask_check_cluster(k.rows, options.cluster) : CMD_OK;
	slurmdb_rows_destroy(k.rows);
	return rc;
}
