/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/job/job_ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "src/cmd/cmd.h"
#include "src/cmd/job/dbd_deadline.h"
#include "src/cmd/job/job_step.h"
#include "src/libutil/clock.h"

/* The most unknown ids that are named one by one. */
#define MISSING_NAMED 5
#define WAIT_PAUSE_S 1

int job_ask_check_conf(void)
{
	const char *path = getenv("SLURM_CONF");

	return path && access(path, R_OK) < 0 ? cmd_error("SLURM_CONF=%s: %s", path, strerror(errno)) :
						CMD_OK;
}

/* If this returns NULL, slurmdbd searches all clusters. */
const char *job_ask_cluster(const struct job_site *site, const char *asked)
{
	const char *cluster = asked ? asked : *site->cluster ? site->cluster : NULL;

	return cluster && !strcasecmp(cluster, "all") ? NULL : cluster;
}

int job_ask_check_cluster(struct slurmdb_rows *rows, const char *cluster)
{
	struct errmsg err = { 0 };
	int rc = cluster ? slurmdb_rows_has_cluster(rows, cluster, &err) : 1;

	if (rc > 0)
		return CMD_OK;
	return rc < 0 ? cmd_error("%s", err.text) : cmd_error("slurmdbd knows no cluster '%s'", cluster);
}

/* --- asking slurmdbd --------------------------------------------------------------------------- */

static struct slurmdb_want job_want(const struct job_id *id, bool script)
{
	struct slurmdb_want want = { .job_id = id->job_id, .script = script };

	if (id->kind == JOB_ID_TASK) {
		want.array_job_id = id->job_id;
		want.array_task_id = id->part;
	} else if (id->kind == JOB_ID_COMPONENT) {
		want.het_job_id = id->job_id;
		want.het_offset = id->part;
	}
	return want;
}

static int jobs_append(struct slurmdb_jobs *all, struct slurmdb_jobs *more)
{
	struct slurmdb_job *job = realloc(all->job, (all->n + more->n + 1) * sizeof(*job));

	if (!job)
		return -ENOMEM;
	memcpy(job + all->n, more->job, more->n * sizeof(*job));
	all->job = job;
	all->n += more->n;
	free(more->job);
	*more = (struct slurmdb_jobs){ 0 };
	return 0;
}

static int jobs_get(struct slurmdb_rows *rows, const struct job_ids *ids, bool script,
		    struct slurmdb_jobs *ret, struct errmsg *err)
{
	struct slurmdb_want want[SLURMDB_ASK_MAX];
	size_t first = 0;
	int rc = 0;

	while (rc == 0 && first < ids->n) {
		struct slurmdb_jobs some = { 0 };
		size_t n = 0;

		while (n < SLURMDB_ASK_MAX && first < ids->n)
			want[n++] = job_want(&ids->id[first++], script);
		rc = slurmdb_rows_get(rows, want, n, &some, err);
		if (rc == 0 && jobs_append(ret, &some) < 0)
			rc = errmsg_set(err, -ENOMEM, "out of memory");
		slurmdb_jobs_free(&some);
	}
	return rc;
}

/*
 * Returns true if slurmdbd has the end of the job or step, its usage, and the job's start. slurmctld may send
 * the start up to 5 s late. The end of a job may come before those of its steps, and slurmdbd shows the job's
 * end for them until then.
 */
static bool has_ended(const struct job_id *id, const struct slurmdb_job *job)
{
	const struct record_step *step;

	if (!job->record->partition) /* slurmctld has not sent the start, which comes with the partition */
		return false;
	if (!id->has_step || job->record->end)
		return job->state == SLURMDB_FINAL;
	step = job_step_find(job->record, id->step_id);
	return step && step->end;
}

static bool have_ended(const struct job_ids *ids, const struct slurmdb_jobs *jobs)
{
	size_t i, k;

	for (i = 0; i < ids->n; i++) {
		bool is_known = false;

		for (k = 0; k < jobs->n; k++) {
			if (!job_id_is_of(&ids->id[i], jobs->job[k].record))
				continue;
			is_known = true;
			if (!has_ended(&ids->id[i], &jobs->job[k]))
				return false;
		}
		if (!is_known)
			return false;
	}
	return true;
}

/* Asks slurmdbd again and again until all jobs have ended or the time is over. */
static int jobs_await(struct slurmdb_rows *rows, const struct job_question *q, struct slurmdb_jobs *ret,
		      struct errmsg *err)
{
	const struct timespec pause = { .tv_sec = WAIT_PAUSE_S };
	const uint64_t until = clock_mono_ns() + q->wait_ns;
	int rc;

	for (;;) {
		rc = jobs_get(rows, q->ids, q->script, ret, err);
		if (rc < 0 || clock_mono_ns() >= until || have_ended(q->ids, ret))
			return rc;
		slurmdb_jobs_free(ret);
		*ret = (struct slurmdb_jobs){ 0 };
		(void)nanosleep(&pause, NULL);
	}
}

/* --- their order ------------------------------------------------------------------------------- */

static uint64_t group_of(const struct record *r)
{
	return r->array_job_id.known ? r->array_job_id.value :
	       r->het_job_id.known   ? r->het_job_id.value :
				       r->job_id;
}

/* The number by which parts are sorted. Array tasks that never ran have none and come last. */
static uint64_t part_of(const struct record *r)
{
	if (r->array_job_id.known)
		return r->array_task_id.known ? r->array_task_id.value : UINT64_MAX;
	return r->het_job_offset.known ? r->het_job_offset.value : 0;
}

static bool is_same_cluster(const struct record *a, const struct record *b)
{
	return a->cluster && b->cluster && !strcmp(a->cluster, b->cluster);
}

bool job_ask_is_group(const struct record *a, const struct record *b)
{
	return (a->array_job_id.known || a->het_job_id.known) && is_same_cluster(a, b) &&
	       a->array_job_id.known == b->array_job_id.known && group_of(a) == group_of(b);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/*
 * Sorts jobs so that parts of an array or het job are together, and runs of a job are in order of
 * time.
 */
static int compare_jobs(const void *x, const void *y)
{
	const struct record *a = ((const struct slurmdb_job *)x)->record;
	const struct record *b = ((const struct slurmdb_job *)y)->record;
	int rc = strcmp(a->cluster ? a->cluster : "", b->cluster ? b->cluster : "");

	rc = rc ? rc : compare_numbers(group_of(a), group_of(b));
	rc = rc ? rc : compare_numbers(part_of(a), part_of(b));
	rc = rc ? rc : compare_numbers(a->job_id, b->job_id);
	rc = rc ? rc : compare_numbers(a->submit, b->submit);
	return rc ? rc : compare_numbers(a->db_index.value, b->db_index.value);
}

static bool is_repeat(const struct record *a, const struct record *b)
{
	return is_same_cluster(a, b) && a->db_index.known && b->db_index.known &&
	       a->db_index.value == b->db_index.value;
}

/* Returns true if NEXT is a later run of R's job. The parts of a resized job are not runs. */
static bool is_superseded(const struct record *r, const struct record *next)
{
	return (!r->state || strcmp(r->state, "RESIZING") != 0) && is_same_cluster(r, next) &&
	       next->job_id == r->job_id && next->submit > r->submit;
}

/* Marks the later parts of resized jobs, since slurmdbd may have their own start, which does not tell. */
static void mark_resized(struct slurmdb_jobs *jobs)
{
	size_t i;

	for (i = 1; i < jobs->n; i++) {
		const struct record *before = jobs->job[i - 1].record;
		struct record *r = jobs->job[i].record;

		r->is_resized |= before->state && !strcmp(before->state, "RESIZING") &&
				 is_same_cluster(before, r) && before->job_id == r->job_id;
	}
}

/* Sorts the jobs and removes duplicates; without DUPLICATES, also all but the last run of a job. */
static void jobs_sort(struct slurmdb_jobs *jobs, bool duplicates)
{
	size_t kept = 0;
	size_t i;

	if (!jobs->n)
		return;
	qsort(jobs->job, jobs->n, sizeof(*jobs->job), compare_jobs);
	for (i = 0; i < jobs->n; i++) {
		const struct record *next = i + 1 < jobs->n ? jobs->job[i + 1].record : NULL;
		struct record *r = jobs->job[i].record;

		if (next && (is_repeat(r, next) || (!duplicates && is_superseded(r, next))))
			record_destroy(r);
		else
			jobs->job[kept++] = jobs->job[i];
	}
	jobs->n = kept;
}

/*
 * Asks sstat for the values of running steps, which slurmdbd does not have. sstat knows
 * only jobs of this cluster.
 */
static void ask_running(struct job_answer *a)
{
	_cleanup_free_ struct record **running = calloc(a->jobs.n + 1, sizeof(*running));
	const char *cluster = a->site->cluster;
	size_t n = 0;
	size_t i;

	for (i = 0; running && i < a->jobs.n; i++) {
		struct record *r = a->jobs.job[i].record;

		if (!r->start || r->end)
			continue;
		if (*cluster && r->cluster && strcasecmp(cluster, r->cluster) != 0)
			(void)snprintf(a->not_live, sizeof(a->not_live),
				       "shown only on the job's own cluster");
		else
			running[n++] = r;
	}
	if (n)
		job_live_ask(running, n, a->not_live);
}

/* --- all of it --------------------------------------------------------------------------------- */

static int finish_jobs(struct job_answer *a)
{
	size_t i;

	for (i = 0; i < a->jobs.n; i++)
		if (job_site_finish(a->site, &a->jobs.job[i]) < 0)
			return cmd_error("out of memory");
	return CMD_OK;
}

int job_ask(const struct job_question *q, struct job_answer *a)
{
	const struct slurmdb_options options = { .cluster = job_ask_cluster(a->site, q->cluster),
						 .whole_het = true,
						 /*
						  * slurmdbd shows a connection the tables as they were at
						  * its first question, so each repetition needs a new one
						  */
						 .one_connection = !q->wait_ns,
						 .no_usage = a->site->no_usage,
						 .no_qos = !q->qos,
						 .limit = dbd_deadline(a->site) };
	struct slurmdb_rows *rows = NULL;
	struct errmsg err = { 0 };
	int rc = slurmdb_rows_create(&options, &rows, &err);

	if (rc == 0)
		rc = jobs_await(rows, q, &a->jobs, &err);
	if (rc < 0)
		rc = cmd_error("%s", err.text);
	else
		rc = a->jobs.n ? CMD_OK : job_ask_check_cluster(rows, options.cluster);
	slurmdb_rows_destroy(rows);
	if (rc != CMD_OK)
		return rc;
	jobs_sort(&a->jobs, q->duplicates);
	mark_resized(&a->jobs);
	ask_running(a);
	return finish_jobs(a);
}

void job_answer_free(struct job_answer *a)
{
	slurmdb_jobs_free(&a->jobs);
}

static void id_text(const struct job_id *id, char *buf, size_t size)
{
	static const char *const sign[] = { "", "_", "+" };

	if (id->kind == JOB_ID_WHOLE)
		(void)snprintf(buf, size, "%u", id->job_id);
	else
		(void)snprintf(buf, size, "%u%s%u", id->job_id, sign[id->kind], id->part);
}

int job_ask_missing(const struct job_ids *ids, const struct job_answer *a)
{
	const struct slurmdb_jobs *jobs = &a->jobs;
	size_t missing = 0;
	char text[32];
	size_t i, k;

	for (i = 0; i < ids->n; i++) {
		for (k = 0; k < jobs->n && !job_id_is_of(&ids->id[i], jobs->job[k].record); k++)
			;
		if (k < jobs->n || missing++ >= MISSING_NAMED)
			continue;
		id_text(&ids->id[i], text, sizeof(text));
		(void)cmd_error("slurmdbd shows no job %s to this user", text);
	}
	if (missing > MISSING_NAMED)
		(void)cmd_error("nor %zu others", missing - MISSING_NAMED);
	return missing ? CMD_FAILED : CMD_OK;
}
