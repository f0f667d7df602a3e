/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/finaliser.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "jobcomp/finality.h"
#include "jobcomp/waitlist.h"
#include "src/libjob/record_fill.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define CURSOR "finaliser"
#define BUCKETS 8192

/* Jobs per hold of slurmctld's job read lock: a lookup each, well below 0.1 ms together. */
#define POLL_BATCH 256
#define POLL_FIRST_NS (300 * NSEC_PER_MSEC)
#define POLL_MAX_NS (2 * NSEC_PER_SEC)

/* Questions to slurmdbd: slurmctld's own messages with the steps are on their way there. */
#define FETCH_BATCH 64
#define FETCH_PACE_NS (250 * NSEC_PER_MSEC)
#define FETCH_FIRST_NS (500 * NSEC_PER_MSEC)
#define FETCH_MAX_NS (8 * NSEC_PER_SEC)
#define FETCH_DOWN_NS (5 * NSEC_PER_SEC)
/* Of a job that did not end in time: its rows are not complete either, so one or two tries. */
#define FETCH_LATE_NS (2 * NSEC_PER_SEC)

#define WRITE_RETRY_NS (5 * NSEC_PER_SEC)
#define IDLE_NS (60 * NSEC_PER_SEC)

static struct logger_once dbd_trouble;
static struct logger_once write_trouble;
static struct logger_once read_trouble;

int finaliser_open(struct finaliser *f, struct errmsg *err)
{
	f->waiting = waitlist_create(BUCKETS);
	if (!f->waiting)
		return errmsg_set(err, -ENOMEM, "out of memory");
	return spool_cursor_open(f->store->spool, CURSOR, &f->cursor, err);
}

static void enter(struct waiting *w, enum wait_phase phase, uint64_t now, uint64_t first_ns,
		  uint64_t patience_ns)
{
	w->phase = phase;
	w->interval_ns = first_ns;
	w->next_try_mono_ns = now + first_ns;
	w->deadline_mono_ns = now + patience_ns;
}

/* Again later; the pauses grow, as most jobs are through with the first. */
static void later(struct waiting *w, uint64_t now, uint64_t max_ns)
{
	w->next_try_mono_ns = now + w->interval_ns;
	w->interval_ns += w->interval_ns / 2;
	if (w->interval_ns > max_ns)
		w->interval_ns = max_ns;
}

static void enter_steps(const struct finaliser *f, struct waiting *w, uint64_t now,
			uint64_t patience_ns)
{
	if (f->steps)
		enter(w, WAIT_STEPS, now, FETCH_FIRST_NS, patience_ns);
	else
		enter(w, WAIT_WRITE, now, 0, 0);
}

/* --- from the spool ------------------------------------------------------------------------ */

static void take_pending(struct finaliser *f, const struct spool_entry *e, uint64_t now)
{
	struct errmsg err = { 0 };
	struct record *r = NULL;
	struct waiting *w;

	if (record_from_json(e->data, e->len, &r, &err) < 0) {
		logger_error("ceems: jobcomp: %.*s: skipped: %s", (int)e->key_len, e->key,
			     err.text);
		return;
	}
	w = waitlist_add(f->waiting, e->key, e->key_len, &e->pos, r);
	if (!w) {
		logger_error("ceems: jobcomp: %.*s: skipped: out of memory", (int)e->key_len,
			     e->key);
		return;
	}
	w->requeued = r->state && !strcmp(r->state, "REQUEUED");
	if (r->state && !strcmp(r->state, "RESIZING")) {
		/* the job goes on: what slurmctld has now is of its next part */
		w->ended = true;
		enter_steps(f, w, now, f->settings->final_energy_wait_ns);
		return;
	}
	if (r->start) {
		enter(w, WAIT_END, now, POLL_FIRST_NS, f->settings->final_energy_wait_ns);
		return;
	}
	/* never ran: no step, no energy, nothing to wait for */
	w->ended = true;
	r->steps_known = true;
	enter(w, WAIT_WRITE, now, 0, 0);
}

static bool is_same_pos(const struct spool_pos *a, const struct spool_pos *b)
{
	return a->segment == b->segment && a->offset == b->offset;
}

/* The cursor stays at the oldest job that waits. */
static void acknowledge(struct finaliser *f)
{
	const struct spool_pos *to;
	struct errmsg err = { 0 };

	(void)waitlist_trim(f->waiting);
	to = f->waiting->first ? &f->waiting->first->pos : &f->read_to;
	if (is_same_pos(to, &f->acked))
		return;
	if (spool_ack(f->cursor, to, &err) < 0)
		logger_debug("ceems: jobcomp: %s; the next start reads more again", err.text);
	f->acked = *to;
}

/* Under the store's lock. */
static void read_spool(struct finaliser *f, uint64_t now)
{
	struct errmsg err = { 0 };
	struct spool_entry e;
	struct waiting *w;
	int rc = 0;

	while (f->waiting->n < FINALISER_MAX &&
	       (rc = spool_read(f->cursor, &e, &err)) > 0) {
		f->read_to = e.next;
		if (e.kind == SPOOL_PENDING) {
			take_pending(f, &e, now);
			continue;
		}
		w = waitlist_find(f->waiting, e.key, e.key_len);
		/*
		 * It was written before slurmctld was restarted. In WAIT_SYNC it is what we just
		 * wrote and could not sync: it can be read and yet be lost.
		 */
		if (w && w->phase != WAIT_SYNC)
			w->phase = WAIT_DONE;
	}
	if (rc < 0)
		logger_log_once(&read_trouble, LOGGER_ERROR, "ceems: jobcomp: %s", err.text);
	acknowledge(f);
}

/* --- the end in slurmctld -------------------------------------------------------------------- */

static void take_answer(const struct finaliser *f, struct waiting *w,
			const struct finality_query *q, uint64_t now)
{
	uint64_t patience_ns = f->settings->final_energy_wait_ns;

	if (q->energy_j.known)
		w->ctld_energy_j = q->energy_j;
	switch (q->state) {
	case FINALITY_COMPLETING:
		if (now < w->deadline_mono_ns) {
			later(w, now, POLL_MAX_NS);
			return;
		}
		logger_info("ceems: jobcomp: %s: not over within FinalEnergyWait; its record "
			    "says final: false", w->key);
		patience_ns = FETCH_LATE_NS;
		break;
	case FINALITY_ENDED:
		w->ended = true;
		break;
	case FINALITY_GONE:
		/*
		 * Of a requeued job that is how it ends; else the record was purged while we were
		 * not running. Either way the last value seen may lack a step, and only slurmdbd
		 * can still say that there is none.
		 */
		w->requeued = true;
		break;
	}
	enter_steps(f, w, now, patience_ns);
}

/* Without the store's lock. */
static void poll_ends(struct finaliser *f, uint64_t now)
{
	struct finality_query q[POLL_BATCH];
	struct waiting *of[POLL_BATCH];
	struct waiting *w = f->waiting->first;
	size_t n;
	size_t i;

	while (w) {
		for (n = 0; w && n < POLL_BATCH; w = w->next) {
			if (w->phase != WAIT_END || now < w->next_try_mono_ns)
				continue;
			q[n] = (struct finality_query){ .job_id = w->record->job_id,
							.restart_count = w->record->restart_count,
							.start = w->record->start };
			of[n++] = w;
		}
		if (!n)
			return;
		finality_poll(q, n);
		for (i = 0; i < n; i++)
			take_answer(f, of[i], &q[i], now);
	}
}

/* --- the steps in slurmdbd ------------------------------------------------------------------- */

static void take_steps(struct waiting *w, struct steps_query *q, uint64_t now)
{
	bool is_late = now >= w->deadline_mono_ns;

	if (q->state != STEPS_ENDED && !is_late) {
		later(w, now, FETCH_MAX_NS);
		free(q->steps);
		return;
	}
	if (q->state != STEPS_ABSENT) {
		w->dbd_energy_j = q->job_energy_j;
		free(w->record->steps);
		w->record->steps = q->steps;
		w->record->nsteps = q->nsteps;
		w->record->steps_known = true;
		if (!w->record->db_index.known && q->db_index)
			w->record->db_index = (struct maybe_u64){ q->db_index, true };
		w->ended = w->ended || q->state == STEPS_ENDED;
	}
	enter(w, WAIT_WRITE, now, 0, 0);
}

/* Without the store's lock. One question at most, so that ends are looked at in between. */
static void fetch_steps(struct finaliser *f, uint64_t now)
{
	struct steps_query q[FETCH_BATCH];
	struct waiting *of[FETCH_BATCH];
	struct errmsg err = { 0 };
	struct waiting *w;
	size_t n = 0;
	size_t i;

	if (!f->steps || now < f->next_fetch_mono_ns)
		return;
	for (w = f->waiting->first; w && n < FETCH_BATCH; w = w->next) {
		if (w->phase != WAIT_STEPS || now < w->next_try_mono_ns)
			continue;
		q[n] = (struct steps_query){ .job_id = w->record->job_id,
					     .submit = w->record->submit };
		of[n++] = w;
	}
	if (!n)
		return;
	if (steps_fetch(f->steps, q, n, &err) < 0) {
		logger_log_once(&dbd_trouble, LOGGER_ERROR,
				"ceems: jobcomp: %s; records wait for their steps, at most "
				"FinalEnergyWait", err.text);
		now = clock_mono_ns();
		f->next_fetch_mono_ns = now + FETCH_DOWN_NS;
		/* that goes for all, else a long queue would wait for its turn to be told so */
		for (w = f->waiting->first; w; w = w->next)
			if (w->phase == WAIT_STEPS && now >= w->next_try_mono_ns)
				take_steps(w, &(struct steps_query){ .state = STEPS_ABSENT },
					   now);
		return;
	}
	if (logger_once_reset(&dbd_trouble))
		logger_info("ceems: jobcomp: slurmdbd answers again");
	now = clock_mono_ns();
	f->next_fetch_mono_ns = now + FETCH_PACE_NS;
	for (i = 0; i < n; i++)
		take_steps(of[i], &q[i], now);
}

/* --- into the spool -------------------------------------------------------------------------- */

static int write_record(struct finaliser *f, struct waiting *w, struct errmsg *err)
{
	struct record_ending end = { .ended = w->ended,
				     .unmeasured = f->unmeasured,
				     .requeued = w->requeued,
				     .ctld_energy_j = w->ctld_energy_j,
				     .dbd_energy_j = w->dbd_energy_j };
	_cleanup_free_ char *json = NULL;
	struct record *r = w->record;
	bool is_cut;
	size_t len;
	int rc;

	rc = record_fill(r, &end, f->factor, f->settings->pue_milli);
	/* one job with tens of thousands of steps must not keep all others waiting */
	if (rc == 0)
		rc = record_to_json_within(r, SPOOL_DATA_MAX, &json, &len, &is_cut, err);
	if (rc < 0)
		return rc;
	if (is_cut)
		logger_info("ceems: jobcomp: %s: %zu steps are too many for a record; its sums "
			    "have them, its steps are null", w->key, r->nsteps);
	store_lock(f->store);
	rc = store_append(f->store, SPOOL_RECORD, w->key, json, len, err);
	store_unlock(f->store);
	return rc;
}

static void add_names(struct finaliser *f, struct record *r)
{
	if (!r->user_name)
		r->user_name = names_of_user(&f->names, r->user_id);
	if (!r->group_name)
		r->group_name = names_of_group(&f->names, r->group_id);
}

/* Records that were appended are done when they are on disk, all of them or none. */
static int sync_records(struct finaliser *f, struct errmsg *err)
{
	struct waiting *w;
	int rc;

	store_lock(f->store);
	rc = spool_sync(f->store->spool, err);
	if (rc == 0)
		store_announce(f->store);
	store_unlock(f->store);
	if (rc < 0)
		return rc;
	for (w = f->waiting->first; w; w = w->next) {
		if (w->phase != WAIT_SYNC)
			continue;
		w->phase = WAIT_DONE;
		record_destroy(w->record);
		w->record = NULL;
	}
	return 0;
}

static void write_records(struct finaliser *f, uint64_t now)
{
	struct errmsg err = { 0 };
	struct waiting *w;
	size_t n = 0;
	int rc = 0;

	if (now < f->next_write_mono_ns)
		return;
	for (w = f->waiting->first; w; w = w->next) {
		/* WAIT_SYNC: the last sync failed, so it is appended again */
		if (w->phase != WAIT_WRITE && w->phase != WAIT_SYNC)
			continue;
		add_names(f, w->record);
		rc = write_record(f, w, &err);
		if (rc < 0)
			break;
		w->phase = WAIT_SYNC;
		n++;
	}
	if (n && rc == 0)
		rc = sync_records(f, &err);
	else if (n)
		(void)sync_records(f, NULL);
	if (rc < 0)
		f->next_write_mono_ns = now + WRITE_RETRY_NS;
	if (rc < 0)
		logger_log_once(&write_trouble, LOGGER_ERROR,
				"ceems: jobcomp: cannot write a record: %s; it is tried again",
				err.text[0] ? err.text : strerror(-rc));
	else if (n && logger_once_reset(&write_trouble))
		logger_info("ceems: jobcomp: records are written again");
}

/* --- the loop -------------------------------------------------------------------------------- */

static uint64_t until_next_try(const struct finaliser *f, uint64_t now)
{
	uint64_t next = now + IDLE_NS;
	const struct waiting *w;

	for (w = f->waiting->first; w; w = w->next) {
		uint64_t t = w->next_try_mono_ns;

		if (w->phase == WAIT_DONE)
			continue;
		if (w->phase == WAIT_STEPS && t < f->next_fetch_mono_ns)
			t = f->next_fetch_mono_ns;
		if (w->phase == WAIT_WRITE || w->phase == WAIT_SYNC)
			t = f->next_write_mono_ns;
		if (t < next)
			next = t;
	}
	return next > now ? next - now : 0;
}

void finaliser_run(struct finaliser *f)
{
	uint64_t seen = 0;
	uint64_t now;

	do {
		now = clock_mono_ns();
		store_lock(f->store);
		read_spool(f, now);
		store_unlock(f->store);
		poll_ends(f, now);
		fetch_steps(f, now);
		write_records(f, clock_mono_ns());
	} while (store_wait(f->store, &seen, until_next_try(f, clock_mono_ns())));

	store_lock(f->store);
	acknowledge(f);
	spool_cursor_close(f->cursor);
	f->cursor = NULL;
	store_unlock(f->store);
	waitlist_destroy(f->waiting);
	f->waiting = NULL;
}
