/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "recorder/job_record.h"
#include "src/librecord/record_fill.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define ANSWERS_BATCH 256 /* per transaction */
#define STORE_RETRY_NS (2 * NSEC_PER_SEC)
#define OVER_AGAIN_NS (30 * NSEC_PER_SEC)
/* Steps that are missing an hour after a job's end will not come, for example if a node failed. */
#define HOPELESS_S 3600
/*
 * When to ask again for the steps of a job that slurmdbd could not send in time; each try costs
 * slurmdbd minutes.
 */
#define ALONE_AGAIN_S 1800
#define DOWN_AGAIN_S 5

/* The pause before the next try: an eighth of the time waited so far, 1 s to 2 min. */
static uint64_t jobs_pause_s(uint64_t waited_s)
{
	uint64_t pause = waited_s / 8;

	return pause < 1 ? 1 : pause > 120 ? 120 : pause;
}

/*
 * --- questions -----------------------------------------------------------------------------------
 */

/* Asks for one due job; called by store_jobs_due(). */
static int jobs_ask_one(void *ctx, const struct store_job *job)
{
	struct recorder *r = ctx;
	struct slurmdb_want want;

	if (r->nasked == RECORDER_ASKED_MAX)
		return -ECANCELED;
	if (recorder_is_asked(r, job->key))
		return 0;
	if (!job->facts || !job_facts_is_whole(job->facts, job->facts_len)) {
		logger_error("ceems: %s: the store has no valid facts of this job; it gets no record",
			     job->key);
		return store_job_delete(r->store, job->key, NULL);
	}
	recorder_want(r, job->facts, &want);
	return recorder_ask(r, r->client, &want, job);
}

/*
 * Asks for the jobs that are due. With no room for their records the answers would be dropped, and
 * slurmdbd asked again and again for as long as a sink is down.
 */
static int jobs_ask(struct recorder *r, uint64_t now_ns, struct errmsg *err)
{
	uint64_t now_s = r->wall_s();
	uint64_t next = STORE_NEVER;
	struct store_size size;
	int rc = store_begin(r->store, err);

	if (rc < 0)
		return rc;
	store_get_size(r->store, &size);
	if (size.is_over) {
		store_rollback(r->store);
		r->jobs_due_ns = now_ns + OVER_AGAIN_NS;
		return 0;
	}
	rc = store_jobs_pull(r->store, now_s, ALONE_AGAIN_S, err);
	/* due jobs include those already asked for, so read twice as many */
	if (rc >= 0)
		rc = store_jobs_due(r->store, now_s, 2 * RECORDER_ASKED_MAX, jobs_ask_one, r, err);
	if (rc >= 0 || rc == -ECANCELED)
		rc = store_jobs_next_due(r->store, &next, err);
	if (rc < 0) {
		store_rollback(r->store);
		return rc;
	}
	rc = store_commit(r->store, err);
	/* the answers of sent questions come first */
	r->jobs_due_ns = next == STORE_NEVER ? UINT64_MAX :
			 next > now_s	     ? now_ns + (next - now_s) * NSEC_PER_SEC :
					       now_ns + NSEC_PER_SEC / 4;
	return rc;
}

/* --- the record ---------------------------------------------------------------------------------- */

/* Writes the job's record. ROW is slurmdbd's, or NULL; its content is moved to the record. */
static int jobs_write(struct recorder *r, const struct store_job *job, struct slurmdb_job *row, bool ended,
		      struct errmsg *err)
{
	struct record *record;
	int rc = job_record_create(job->facts, job->facts_len, r->site.cluster, &record);

	if (rc < 0)
		return errmsg_errno(err, rc, "%s", job->key);
	if (row && row->record)
		job_record_complete(record, row->record);
	record->energy.final = ended;
	if (!record->start && ended)
		record->steps_known = true;
	rc = record_finish(record, r->site.flags & SITE_UNMEASURED, factors_now(&r->factors), &r->settings,
			   &r->names);
	if (rc == 0 && *record->emissions.default_nodes)
		rc = recorder_defaults_saw(r, record->emissions.default_nodes, err);
	if (rc == 0)
		rc = store_put_record(r->store, job->key, record, err);
	else
		(void)errmsg_errno(err, rc, "%s", job->key);
	if (rc == 0)
		r->total.records[record->energy.final]++;
	record_destroy(record);
	return rc;
}

/* --- the answer ---------------------------------------------------------------------------------- */

/*
 * The next three ask another question about JOB, whose answer replaces that to A. False: not needed, or not
 * possible now.
 */

/* Asks slurmctld for the energy of a job if slurmdbd does not answer. That answer has no steps. */
static bool jobs_ask_slurmctld(struct recorder *r, const struct asked_job *a, const struct store_job *job)
{
	return r->ctld && !a->of_slurmctld && recorder_ask(r, r->ctld, &a->want, job) == 0;
}

/*
 * Asks again for a task. The array as a whole was asked for, but slurmdbd has a task under that id.
 * This happens if a slurmctld that was killed had started the task, and its successor knew only the
 * array.
 */
static bool jobs_ask_task(struct recorder *r, const struct asked_job *a, const struct store_job *job,
			  const struct slurmdb_answer *ans)
{
	struct slurmdb_want want = a->want;

	if (a->of_slurmctld || !want.array_job_id || want.array_task_id != SLURMDB_NO_TASK ||
	    !ans->job.record || !ans->job.record->array_task_id.known)
		return false;
	want.array_task_id = (uint32_t)ans->job.record->array_task_id.value;
	return recorder_ask(r, r->client, &want, job) == 0;
}

/*
 * Asks again by job id, for the task that has the array's own id. A row that slurmdbd made from an
 * end alone has no task number, so only the id finds it, together with all tasks.
 */
static bool jobs_ask_by_id(struct recorder *r, const struct asked_job *a, const struct store_job *job,
			   const struct slurmdb_answer *ans)
{
	struct slurmdb_want want = a->want;

	if (a->of_slurmctld || ans->kind != SLURMDB_JOB || ans->job.record ||
	    want.array_job_id != want.job_id || want.array_task_id == SLURMDB_NO_TASK)
		return false;
	want.array_job_id = 0;
	return recorder_ask(r, r->client, &want, job) == 0;
}

/* Whether slurmdbd has the job's last end, but still lacks other rows of the job. */
static bool jobs_has_ended(const struct slurmdb_answer *ans)
{
	return ans->kind == SLURMDB_JOB && ans->job.state == SLURMDB_OPEN && ans->job.missing != SIGN_END &&
	       ans->job.missing != SIGN_THIS_END;
}

/* Whether this is a part of a resized job: the job's steps may still run. */
static bool jobs_goes_on(const struct slurmdb_answer *ans)
{
	const struct record *row = ans->job.record;

	return row && row->state && !strcmp(row->state, "RESIZING");
}

/* Whether the job ended so long ago that nothing more will come. */
static bool jobs_is_hopeless(const struct recorder *r, const struct asked_job *a,
			     const struct slurmdb_answer *ans)
{
	return jobs_has_ended(ans) && !a->of_slurmctld && r->wall_s() > a->ended + HOPELESS_S &&
	       !jobs_goes_on(ans);
}

/* Whether the answer is complete. An answer of slurmctld is not: it has no steps. */
static bool jobs_is_final(const struct asked_job *a, const struct slurmdb_answer *ans)
{
	return ans->kind == SLURMDB_JOB && ans->job.state == SLURMDB_FINAL && !a->of_slurmctld;
}

/* Writes the last record of the job. */
static int jobs_write_last(struct recorder *r, const struct store_job *job, struct slurmdb_job *row,
			   bool ended, struct errmsg *err)
{
	int rc = jobs_write(r, job, row, ended, err);

	if (rc < 0)
		return rc;
	r->ncorrected += job->state == STORE_JOB_FINAL;
	r->total.corrected += job->state == STORE_JOB_FINAL;
	return store_job_set(r->store, job->key, STORE_JOB_CORRECTED, STORE_NEVER, err);
}

/*
 * Whether the wait for missing values is over: FinalEnergyWait before the first record,
 * CorrectionWait after it. While slurmdbd is down, CorrectionWait is doubled.
 */
static bool jobs_is_late(const struct settings *s, bool has_record, const struct slurmdb_answer *ans,
			 uint64_t waited_s)
{
	uint64_t wait_ns = has_record ? s->correction_wait_ns : s->final_energy_wait_ns;

	if (has_record && ans->kind == SLURMDB_NO_ANSWER)
		wait_ns *= 2;
	return waited_s >= wait_ns / NSEC_PER_SEC;
}

/* Handles an incomplete answer: once the wait is over, writes what there is; asks again later. */
static int jobs_wait_on(struct recorder *r, const struct asked_job *a, const struct store_job *job,
			struct slurmdb_answer *ans, struct errmsg *err)
{
	const struct settings *s = &r->settings;
	/* counted from the recorder's start if that is later: slurmdbd may have started as late */
	uint64_t since = job->ended > r->started_s ? job->ended : r->started_s;
	uint64_t now = r->wall_s();
	uint64_t waited = now > since ? now - since : 0;
	uint64_t last = since + s->correction_wait_ns / NSEC_PER_SEC;
	uint64_t next = now + jobs_pause_s(waited);
	bool has_record = job->state != STORE_JOB_ENDED;
	bool is_late = jobs_is_late(s, has_record, ans, waited);
	int rc;

	if (ans->kind == SLURMDB_JOB_ALONE)
		next = now + ALONE_AGAIN_S;
	else if (ans->kind == SLURMDB_NO_ANSWER && next < now + DOWN_AGAIN_S)
		next = now + DOWN_AGAIN_S;
	if (now < last && next > last) /* make the last try at the end of CorrectionWait */
		next = last;
	if ((ans->kind == SLURMDB_JOB_ALONE || a->of_slurmctld) && !has_record)
		is_late = true;
	if (!is_late)
		return store_job_set(r->store, job->key, job->state, next, err);
	if (jobs_ask_by_id(r, a, job, ans))
		return 0;
	if (has_record && jobs_has_ended(ans))
		return jobs_write_last(r, job, &ans->job, /* ended= */ true, err);
	if (has_record) {
		if (!r->ngiven_up++)
			logger_info("ceems: %s stays incomplete: slurmdbd did not have the rest within "
				    "CorrectionWait",
				    job->key);
		return store_job_set(r->store, job->key, STORE_JOB_CORRECTED, STORE_NEVER, err);
	}
	if (ans->kind == SLURMDB_NO_ANSWER && jobs_ask_slurmctld(r, a, job))
		return 0;
	rc = jobs_write(r, job, &ans->job, /* ended= */ false, err);
	if (rc < 0)
		return rc;
	if (!s->correction_wait_ns)
		return store_job_set(r->store, job->key, STORE_JOB_CORRECTED, STORE_NEVER, err);
	return store_job_set(r->store, job->key, STORE_JOB_FINAL, next, err);
}

static int jobs_settle(struct recorder *r, const struct asked_job *a, const struct store_job *job,
		       struct slurmdb_answer *ans, struct errmsg *err)
{
	enum job_record_run run = ans->job.record ? job_record_run_of(job->facts, ans->job.record) : RUN_SAME;

	if (jobs_ask_task(r, a, job, ans))
		return 0;
	if (run == RUN_LATER)
		return jobs_write_last(r, job, NULL, /* ended= */ false, err);
	if (run == RUN_EARLIER) {
		record_destroy(TAKE_PTR(ans->job.record));
		ans->job.state = SLURMDB_ABSENT;
	}
	if (jobs_is_final(a, ans) || jobs_is_hopeless(r, a, ans))
		return jobs_write_last(r, job, &ans->job, /* ended= */ true, err);
	return jobs_wait_on(r, a, job, ans, err);
}

static int jobs_take_answer(struct recorder *r, struct slurmdb_answer *ans, struct errmsg *err)
{
	struct asked_job *a;
	struct store_job job;
	int rc;

	if (ans->kind == SLURMDB_WINDOW_JOB || (r->reconcile.tag && ans->tag == r->reconcile.tag))
		return recorder_reconcile_take(r, ans, NULL, err);
	a = recorder_find_asked(r, ans->tag);
	if (!a)
		return 0;
	if (!*a->key)
		return recorder_reconcile_take(r, ans, a, err);
	/* a newer end may have come since the question; then this answer is not about that end */
	rc = store_job_get(r->store, a->key, &job, err);
	if (rc > 0 && job.ended == a->ended && job.facts_len == a->facts_len)
		rc = jobs_settle(r, a, &job, ans, err);
	return rc < 0 ? rc : 0;
}

static void jobs_note_dbd(struct recorder *r, const struct slurmdb_answer *ans)
{
	bool is_down = ans->kind == SLURMDB_NO_ANSWER || ans->kind == SLURMDB_WINDOW_FAILED;

	if (is_down && !r->dbd_is_down)
		logger_error(
			"ceems: %s does not answer: %s; records wait, or go out with what is known and are "
			"corrected later",
			r->ctld ? "slurmdbd" : "slurmctld", ans->reason);
	else if (!is_down && r->dbd_is_down)
		logger_info("ceems: %s answers again", r->ctld ? "slurmdbd" : "slurmctld");
	r->dbd_is_down = is_down;
}

static bool jobs_next_answer(struct recorder *r, uint64_t now_ns, struct slurmdb_answer *ret)
{
	if (slurmdb_client_take(r->client, now_ns, ret) > 0) {
		jobs_note_dbd(r, ret);
		return true;
	}
	return r->ctld && slurmdb_client_take(r->ctld, now_ns, ret) > 0;
}

/*
 * Handles answers; returns how many, or -errno. If the store fails they are dropped and asked for
 * again.
 */
static int jobs_take_answers(struct recorder *r, uint64_t now_ns, struct errmsg *err)
{
	struct slurmdb_answer ans;
	struct asked_job *a;
	bool has_begun = false;
	int n = 0;
	int rc = 0;

	while (n < ANSWERS_BATCH && jobs_next_answer(r, now_ns, &ans)) {
		if (n++ == 0) {
			rc = store_begin(r->store, err);
			has_begun = rc == 0;
		}
		if (rc == 0)
			rc = jobs_take_answer(r, &ans, err);
		record_destroy(ans.job.record);
		a = recorder_find_asked(r, ans.tag);
		if (a)
			recorder_forget_asked(r, a);
	}
	if (!n)
		return 0;
	if (rc == 0)
		rc = store_commit(r->store, err);
	else if (has_begun)
		store_rollback(r->store);
	if (rc < 0)
		recorder_reconcile_missed(r, now_ns);
	return rc < 0 ? rc : n;
}

bool recorder_jobs_run(struct recorder *r, uint64_t now_ns)
{
	struct errmsg err = { 0 };
	int rc;

	if (!r->client || now_ns < r->store_retry_ns)
		return false;
	rc = jobs_take_answers(r, now_ns, &err);
	if (rc >= 0 && now_ns >= r->jobs_due_ns && r->nasked < RECORDER_ASKED_MAX) {
		int n = rc;

		rc = jobs_ask(r, now_ns, &err);
		rc = rc < 0 ? rc : n;
	}
	if (rc < 0) {
		/* the store logs its own trouble */
		logger_debug("ceems: records wait for the store: %s", err.text);
		r->store_retry_ns = now_ns + STORE_RETRY_NS;
		r->jobs_due_ns = 0;
		return false;
	}
	if (r->ncorrected && !r->nasked) {
		logger_info("ceems: %" PRIu64 " records corrected", r->ncorrected);
		r->ncorrected = 0;
	}
	return rc == ANSWERS_BATCH;
}

void recorder_jobs_fini(struct recorder *r)
{
	r->nasked = 0;
	slurmdb_client_destroy(r->client);
	slurmdb_client_destroy(r->ctld);
	r->client = r->ctld = NULL;
}
