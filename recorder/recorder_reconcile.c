/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorder_reconcile.c - finds job ends that were lost. An end is lost if slurmctld is killed
 * before the plugin has written it to disk, if a file of the inbox is damaged, or if the other
 * controller's host is lost. slurmdbd still has these ends. The recorder asks slurmdbd for the
 * jobs, without steps, that ended since the last known time. For each job that is not in the store
 * it asks slurmctld, which may still know everything about the job, or else slurmdbd by job id.
 * Then it puts the job into the store as if the job came from the inbox.
 */
#include "recorder/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

/* When to search: a new slurmctld sends slurmdbd what the killed one had not sent. */
static const uint64_t schedule_ns[] = { 10 * NSEC_PER_SEC, 50 * NSEC_PER_SEC, 240 * NSEC_PER_SEC };
/*
 * The search begins this long before the last known end, as ends are not reported in
 * the order of their times.
 */
#define SLACK_S 60
/* When to look again whether the store takes jobs. */
#define FULL_AGAIN_NS (30 * NSEC_PER_SEC)
/* Name in the store's table `meta`: reconcile.from, during a search. */
#define META_FROM "reconcile_from"
/* A search goes back no further; a marker may be of a host that is gone for good. */
#define BACK_MAX_S (7 * UINT64_C(86400))
/*
 * Length of a piece of the window, for one question. With 500,000 jobs a day an answer has some
 * 20,000.
 */
#define PIECE_S UINT64_C(3600)
/*
 * How often a second is asked for in which more jobs ended than can be asked for at a time. The jobs
 * that were found are in the store by the next time, but a job that slurmdbd lists and does not find
 * by its id never is.
 */
#define SHORT_MAX 100

int recorder_reconcile_load(struct recorder *r, struct errmsg *err)
{
	int rc = recorder_load_meta(r, META_FROM, &r->reconcile.from, sizeof(r->reconcile.from),
				    &r->reconcile.is_saved, err);

	if (rc == 0 && r->reconcile.is_saved)
		recorder_reconcile_begin(r, clock_mono_ns());
	return rc;
}

int recorder_reconcile_want(struct recorder *r, bool is_lost, struct errmsg *err)
{
	bool found;
	int rc = 0;

	if (!r->reconcile.from)
		r->reconcile.from = r->known_end;
	if (!r->reconcile.from && is_lost)
		rc = recorder_load_meta(r, STORE_META_BEGUN, &r->reconcile.from, sizeof(r->reconcile.from),
					&found, err);
	if (rc < 0)
		return rc;
	rc = store_meta_set(r->store, META_FROM, &r->reconcile.from, sizeof(r->reconcile.from), err);
	r->reconcile.is_saved |= rc == 0;
	return rc;
}

void recorder_reconcile_begin(struct recorder *r, uint64_t now_ns)
{
	r->reconcile.step = 0;
	r->reconcile.tag = r->reconcile.next = 0;
	r->reconcile.piece_s = PIECE_S;
	r->reconcile.has_missed = r->reconcile.is_short = false;
	r->reconcile.nshort = 0;
	r->reconcile.due_ns = now_ns + schedule_ns[0];
	r->reconcile.nfound = 0;
	if (r->marker)
		marker_ask(r->marker, r->reconcile.from);
}

/* Stores FROM; LEN 0 removes it. If removing fails, a restarted recorder searches once more. */
static int reconcile_save(struct recorder *r, uint64_t from, size_t len, struct errmsg *err)
{
	int rc = store_begin(r->store, err);

	r->reconcile.is_saved = len != 0;
	if (rc < 0)
		return rc;
	rc = store_meta_set(r->store, META_FROM, &from, len, err);
	if (rc == 0)
		return store_commit(r->store, err);
	store_rollback(r->store);
	return rc;
}

int recorder_reconcile_all(struct recorder *r, struct errmsg *err)
{
	int rc = reconcile_save(r, r->reconcile.from, sizeof(r->reconcile.from), err);

	recorder_reconcile_begin(r, clock_mono_ns());
	return rc;
}

/* Repeats the question for the present piece later, as there was no answer. */
static void reconcile_ask_later(struct recorder *r, uint64_t now_ns)
{
	r->reconcile.tag = 0;
	r->reconcile.due_ns = now_ns + schedule_ns[0];
}

void recorder_reconcile_missed(struct recorder *r, uint64_t now_ns)
{
	if (r->reconcile.due_ns == UINT64_MAX) /* no search is active */
		return;
	r->reconcile.has_missed = true;
	if (r->reconcile.tag)
		reconcile_ask_later(r, now_ns);
}

static void reconcile_next_step(struct recorder *r, uint64_t now_ns)
{
	r->reconcile.next = 0;
	if (++r->reconcile.step < ARRAY_SIZE(schedule_ns))
		r->reconcile.due_ns = now_ns + schedule_ns[r->reconcile.step];
	else
		r->reconcile.due_ns = now_ns;
}

/*
 * Returns the last second of the piece that begins at NEXT. If slurmctld is asked, a piece is the
 * whole window: slurmctld sends all jobs anyway.
 */
static uint64_t reconcile_piece_end(const struct recorder *r)
{
	uint64_t left = r->reconcile.to - r->reconcile.next + 1;

	if (!r->ctld || left <= r->reconcile.piece_s)
		return r->reconcile.to;
	return r->reconcile.next + r->reconcile.piece_s - 1;
}

static void reconcile_next_piece(struct recorder *r, uint64_t now_ns)
{
	uint64_t end = reconcile_piece_end(r);

	r->reconcile.tag = 0;
	r->reconcile.nfails = r->reconcile.nshort = 0;
	r->reconcile.is_short = false;
	r->reconcile.next = end + 1;
	r->reconcile.due_ns = now_ns;
	if (end == r->reconcile.to)
		reconcile_next_step(r, now_ns);
}

static void reconcile_end_piece(struct recorder *r, uint64_t now_ns)
{
	reconcile_next_piece(r, now_ns);
	r->reconcile.piece_s *= 2;
	if (r->reconcile.piece_s > PIECE_S)
		r->reconcile.piece_s = PIECE_S;
}

/*
 * Halves the piece after a failure, down to one second: the answer may be too large, or a job in
 * the piece may crash slurmdbd.
 */
static void reconcile_fail_piece(struct recorder *r, uint64_t now_ns, const char *reason)
{
	uint64_t len_s = reconcile_piece_end(r) - r->reconcile.next + 1;

	reconcile_ask_later(r, now_ns);
	if (!r->ctld)
		return;
	if (len_s > 1) {
		r->reconcile.piece_s = len_s / 2;
	} else if (++r->reconcile.nfails == SLURMDB_ALONE_MAX) {
		logger_error("ceems: slurmdbd does not say which jobs ended at %" PRIu64
			     " (seconds since 1970): %s; jobs "
			     "that ended then and are missing in InboxDir have no record",
			     r->reconcile.next, reason);
		reconcile_next_piece(r, now_ns);
	}
}

/*
 * Repeats a piece that had more jobs than there was room to ask for, or half of it, once those that
 * were asked for are answered.
 */
static void reconcile_repeat_piece(struct recorder *r, uint64_t now_ns)
{
	uint64_t len_s = reconcile_piece_end(r) - r->reconcile.next + 1;

	reconcile_ask_later(r, now_ns);
	if (!r->reconcile.nasked) /* questions about other jobs had all the room */
		return;
	r->reconcile.due_ns = now_ns + NSEC_PER_SEC;
	if (r->ctld && len_s > 1) {
		r->reconcile.piece_s = len_s / 2;
	} else if (++r->reconcile.nshort == SHORT_MAX) {
		logger_error("ceems: too many jobs ended at %" PRIu64
			     " (seconds since 1970) to ask for each; jobs "
			     "that ended then and are missing in InboxDir may have no record",
			     r->reconcile.next);
		reconcile_next_piece(r, now_ns);
	}
}

static bool reconcile_is_asking(const struct recorder *r)
{
	size_t i;

	for (i = 0; i < r->nasked; i++)
		if (!*r->asked[i].key)
			return true;
	return false;
}

/*
 * Ends the search after the last window, or repeats that window if a question about one of its jobs
 * failed.
 */
static void reconcile_end(struct recorder *r, uint64_t now_ns)
{
	if (reconcile_is_asking(r)) {
		r->reconcile.due_ns = now_ns + NSEC_PER_SEC;
		return;
	}
	if (r->reconcile.has_missed) {
		r->reconcile.has_missed = false;
		r->reconcile.step--;
		r->reconcile.due_ns = now_ns + schedule_ns[0];
		return;
	}
	if (r->marker)
		marker_ask_end(r->marker);
	if (r->reconcile.nfound)
		logger_info("ceems: %" PRIu64 " job ends were missing in InboxDir; slurmdbd had them",
			    r->reconcile.nfound);
	r->reconcile.from = 0;
	r->reconcile.due_ns = UINT64_MAX;
}

/* Returns the begin of the window of a search from FROM on. */
static uint64_t reconcile_window_begin(uint64_t from, uint64_t now_s)
{
	if (from + BACK_MAX_S < now_s)
		from = now_s - BACK_MAX_S;
	if (from > now_s) /* the clock was set back */
		from = now_s;
	return from > SLACK_S ? from - SLACK_S : 1;
}

uint64_t recorder_reconcile_since(const struct recorder *r)
{
	uint64_t from = r->reconcile.due_ns == UINT64_MAX ? r->known_end : r->reconcile.from;
	uint64_t begin = from ? reconcile_window_begin(from, r->wall_s()) : 0;

	return begin > SLACK_S ? begin - SLACK_S : 0;
}

/* Begins a window. False: this is the first start, so there are no earlier jobs to find. */
static bool reconcile_begin_window(struct recorder *r)
{
	uint64_t now_s = r->wall_s();
	uint64_t from = r->reconcile.from;
	uint64_t others = r->marker ? marker_others_since(r->marker) : 0;
	struct errmsg err = { 0 };

	/*
	 * Another controller had the jobs since our last end. It delivered those that ended before
	 * its marker's time.
	 */
	if (others > from)
		from = others;
	if (!from)
		return false;
	if (!r->reconcile.from) {
		/* keep it: this recorder will overwrite its own marker soon */
		r->reconcile.from = from;
		(void)reconcile_save(r, from, sizeof(from), &err);
	}
	r->reconcile.next = reconcile_window_begin(from, now_s);
	r->reconcile.to = now_s;
	return true;
}

void recorder_reconcile_run(struct recorder *r, uint64_t now_ns)
{
	struct errmsg err = { 0 };
	struct store_size size;

	if (r->reconcile.is_saved && r->reconcile.due_ns == UINT64_MAX)
		(void)reconcile_save(r, 0, 0, &err);
	if (r->reconcile.tag || now_ns < r->reconcile.due_ns || !r->client)
		return;
	if (r->reconcile.step == ARRAY_SIZE(schedule_ns)) {
		reconcile_end(r, now_ns);
		return;
	}
	if (!r->reconcile.next && !reconcile_begin_window(r)) {
		reconcile_next_step(r, now_ns);
		return;
	}
	/* an end in the inbox is not lost */
	if (r->inbox_has_more || (r->reconcile.is_short && reconcile_is_asking(r))) {
		r->reconcile.due_ns = now_ns + NSEC_PER_SEC;
		return;
	}
	store_get_size(r->store, &size);
	if (size.is_full) { /* it has no room for what would be found */
		r->reconcile.due_ns = now_ns + FULL_AGAIN_NS;
		return;
	}
	r->reconcile.is_short = false;
	r->reconcile.nasked = 0;
	r->reconcile.tag = ++r->next_tag;
	if (slurmdb_client_ask_window(r->client, r->reconcile.next, reconcile_piece_end(r),
				      r->reconcile.tag) < 0)
		reconcile_ask_later(r, now_ns);
}

/* Whether this row of slurmdbd is an ended job, and no part of a resized job that still runs. */
static bool reconcile_has_ended(const struct record *row)
{
	return row && row->end && !(row->state && !strcmp(row->state, "RESIZING"));
}

/*
 * Whether this recorder, or that of another controller, has the job. The other one's record is
 * better, since it has the values of the hook. If the row has no restart count, only a job's first
 * run is found.
 */
static bool reconcile_is_known(struct recorder *r, const struct record *row, struct errmsg *err)
{
	struct store_job job;
	char key[RECORD_KEY_MAX];

	return record_key(row, key, sizeof(key)) < 0 || store_job_get(r->store, key, &job, err) > 0 ||
	       (r->marker && marker_others_have(r->marker, key, row->end, r->wall_s()));
}

static uint32_t reconcile_number(struct maybe_u64 n)
{
	return n.known ? (uint32_t)n.value : FACT_UNKNOWN;
}

static void reconcile_key_of(const struct record *row, struct job_key *ret)
{
	*ret = (struct job_key){ .job_id = row->job_id,
				 .restart_count = row->restart_count,
				 .array_job_id = reconcile_number(row->array_job_id),
				 .array_task_id = reconcile_number(row->array_task_id),
				 .het_job_id = reconcile_number(row->het_job_id),
				 .het_job_offset = reconcile_number(row->het_job_offset),
				 .user_id = row->user_id,
				 .submit = row->submit,
				 .start = row->start,
				 .end = row->end };
}

static int reconcile_ask(struct recorder *r, struct slurmdb_client *whom, const struct record *row)
{
	struct slurmdb_want want;
	struct job_facts facts;
	struct job_key key;

	if (r->nasked >= RECORDER_ASKED_MAX) {
		r->reconcile.is_short = true;
		return 0;
	}
	r->reconcile.nasked++;
	reconcile_key_of(row, &key);
	job_facts_from_key(&key, &facts);
	recorder_want(r, &facts, &want);
	want.no_steps = true;
	want.script = false;
	return recorder_ask(r, whom, &want, &(struct store_job){ .ended = row->end });
}

static int reconcile_put(struct recorder *r, const struct record *row, const struct asked_job *asked,
			 struct errmsg *err)
{
	struct job_facts facts;
	struct job_key job;
	char key[RECORD_KEY_MAX];
	int rc;

	if (record_key(row, key, sizeof(key)) < 0)
		return 0;
	reconcile_key_of(row, &job);
	job_facts_from_key(&job, &facts);
	/* slurmdbd does not have these two */
	job_facts_add_text(&facts, FACT_SUBMIT_HOST,
			   row->submit_host || !asked ? row->submit_host : asked->submit_host);
	job_facts_add_text(&facts, FACT_COMMENT, row->comment);
	rc = recorder_put_job(r, key, &facts, job_facts_size(&facts), err);
	if (rc < 0)
		return rc;
	logger_info("ceems: %s: its end was missing in InboxDir; slurmdbd has it", key);
	r->reconcile.nfound++;
	r->total.found++;
	r->jobs_due_ns = 0;
	return 0;
}

/*
 * Asks slurmdbd for the job, since slurmctld has forgotten it, or knows only its submit host HOST
 * (may be NULL).
 */
static int reconcile_ask_again(struct recorder *r, const struct asked_job *asked, const char *host)
{
	int rc = recorder_ask(r, r->client, &asked->want, &(struct store_job){ .ended = asked->ended });

	if (rc == 0 && host)
		(void)snprintf(r->asked[r->nasked - 1].submit_host, sizeof(asked->submit_host), "%s", host);
	return rc;
}

int recorder_reconcile_take(struct recorder *r, const struct slurmdb_answer *a, const struct asked_job *asked,
			    struct errmsg *err)
{
	const struct record *row = a->job.record;

	switch (a->kind) {
	case SLURMDB_WINDOW_JOB:
		if (!reconcile_has_ended(row) || reconcile_is_known(r, row, err))
			return 0;
		return reconcile_ask(r, r->ctld ? r->ctld : r->client, row);
	case SLURMDB_WINDOW_END:
		if (r->reconcile.is_short)
			reconcile_repeat_piece(r, clock_mono_ns());
		else
			reconcile_end_piece(r, clock_mono_ns());
		return 0;
	case SLURMDB_WINDOW_FAILED:
		reconcile_fail_piece(r, clock_mono_ns(), a->reason);
		return 0;
	case SLURMDB_NO_ANSWER:
		if (asked && asked->of_slurmctld)
			return reconcile_ask_again(r, asked, NULL);
		if (a->tag == r->reconcile.tag)
			reconcile_ask_later(r, clock_mono_ns());
		else
			r->reconcile.has_missed = true;
		return 0;
	case SLURMDB_JOB:
	case SLURMDB_JOB_ALONE:
		if (asked && asked->of_slurmctld && (!row || !row->end))
			return reconcile_ask_again(r, asked, row ? row->submit_host : NULL);
		if (!reconcile_has_ended(row) || reconcile_is_known(r, row, err))
			return 0;
		return reconcile_put(r, row, asked, err);
	}
	return 0;
}
