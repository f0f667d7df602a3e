/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/finaliser.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "jobcomp/dbd_told.h"
#include "jobcomp/finality.h"
#include "jobcomp/written.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define CURSOR "finaliser"

/* Entries per hold of the store's lock, for which the intake may have to wait. */
#define READ_ENTRIES 256

#define POLL_FIRST_NS (300 * NSEC_PER_MSEC)
#define POLL_MAX_NS (2 * NSEC_PER_SEC)

#define WRITE_BATCH 256 /* records between two syncs */
#define WRITE_RETRY_NS (5 * NSEC_PER_SEC)
#define FOLLOWUP_TURN 4 /* of so many looks, corrections come first in one */
#define IDLE_NS (60 * NSEC_PER_SEC)
/* Jobs that end one after the other are looked at together; none is of interest before POLL_FIRST_NS. */
#define LOOK_NS (100 * NSEC_PER_MSEC)

static struct logger_once write_trouble;
static struct logger_once read_trouble;

int finaliser_open(struct finaliser *f, struct errmsg *err)
{
	int rc;

	f->waiting = waitlist_create(FINALISER_MAX);
	if (!f->waiting)
		return errmsg_set(err, -ENOMEM, "out of memory");
	f->finish = (struct finish){ .store = f->store,
				     .settings = f->settings,
				     .factors = f->factors,
				     .unmeasured = f->unmeasured };
	dbd_pace_init(&f->dbd, f->steps);
	f->rows = (struct dbd_rows){ .waiting = f->waiting,
				     .settings = f->settings,
				     .finish = &f->finish,
				     .pace = &f->dbd,
				     .opened_wall_ns = clock_wall_ns(),
				     .told_ns = DBD_TOLD_NS };
	rc = spool_cursor_open(f->store->spool, CURSOR, &f->cursor, err);
	if (rc < 0)
		return rc;
	/* without a RECORD that was written the next start writes it again */
	spool_cursor_spare(f->cursor, SPOOL_MASK(SPOOL_RECORD) | SPOOL_MASK(SPOOL_STEPS) |
					      SPOOL_MASK(SPOOL_START));
	return followup_open(&f->followup, &f->finish, &f->dbd, err);
}

/* --- from the spool ------------------------------------------------------------------------ */

static bool is_state(const struct record *r, const char *state)
{
	return r->state && !strcmp(r->state, state);
}

/* -ENOMEM: it has to be read again. */
static int take_pending(struct finaliser *f, const struct spool_entry *e, uint64_t now)
{
	struct errmsg err = { 0 };
	struct record *r = NULL;
	struct waiting *w = waitlist_find(f->waiting, e->key, e->key_len);
	int rc;

	if (w && e->kind == SPOOL_KEY)
		return 0; /* all that is in it is known */
	rc = record_from_json(e->data, e->len, &r, &err);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0 || e->key_len >= sizeof(w->key)) {
		record_destroy(r);
		logger_error("ceems: jobcomp: %.*s: skipped: %s", (int)e->key_len, e->key,
			     rc < 0 ? err.text : "its key is too long");
		return 0;
	}
	w = waitlist_add(f->waiting, e->key, e->key_len, &e->pos, r);
	if (!w)
		return -ENOMEM;
	w->needs_refill = e->kind == SPOOL_KEY;
	w->requeued = is_state(r, "REQUEUED");
	if (!r->start) {
		/* never ran: no step, no energy, nothing to wait for */
		w->ended = true;
		r->steps_known = true;
		/* but slurmdbd may know of a run that slurmctld, killed, forgot */
		w->needs_refill = w->needs_refill || f->steps;
		dbd_rows_enter(&f->rows, w, now, /* late= */ false);
	} else if (is_state(r, "RESIZING")) {
		/* the job goes on: what slurmctld has now is of its next part */
		w->ended = true;
		dbd_rows_enter(&f->rows, w, now, /* late= */ false);
	} else {
		waitlist_begin(f->waiting, w, WAIT_END, now, POLL_FIRST_NS,
			       f->settings->final_energy_wait_ns);
	}
	return 0;
}

static bool is_same_pos(const struct spool_pos *a, const struct spool_pos *b)
{
	return a->segment == b->segment && a->offset == b->offset;
}

/* The cursor stays at the oldest job that waits. */
static void acknowledge(struct finaliser *f)
{
	const struct spool_pos *to = f->waiting->first ? &f->waiting->first->pos : &f->read_to;
	struct errmsg err = { 0 };

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
	unsigned int n;
	int rc = 0;

	f->has_more = false;
	for (n = 0; f->waiting->n < FINALISER_MAX; n++) {
		if (n == READ_ENTRIES) {
			f->has_more = true;
			break;
		}
		rc = spool_read(f->cursor, &e, &err);
		if (rc <= 0)
			break;
		switch (e.kind) {
		case SPOOL_PENDING:
		case SPOOL_KEY:
			rc = take_pending(f, &e, now);
			break;
		case SPOOL_RECORD:
			written_take_record(f->waiting, &e);
			break;
		case SPOOL_STEPS:
			written_take_part(f->waiting, &e);
			break;
		case SPOOL_FOLLOWUP:
		case SPOOL_START:
			break;
		}
		if (rc < 0) {
			(void)errmsg_set(&err, rc, "out of memory");
			spool_rewind(f->cursor);
			break;
		}
		f->read_to = e.next;
	}
	if (rc < 0)
		logger_log_once(&read_trouble, LOGGER_ERROR, "ceems: jobcomp: %s", err.text);
	acknowledge(f);
}

/* --- the end in slurmctld -------------------------------------------------------------------- */

static void take_answer(struct finaliser *f, struct waiting *w, const struct finality_query *q,
			uint64_t now)
{
	if (q->energy_j.known)
		w->ctld_energy_j = q->energy_j;
	switch (q->state) {
	case FINALITY_COMPLETING:
		if (now < w->deadline_mono_ns) {
			waitlist_again(f->waiting, w, now, POLL_MAX_NS, UINT64_MAX);
			return;
		}
		logger_info("ceems: jobcomp: %s: not over within FinalEnergyWait; its record "
			    "says final: false", w->key);
		dbd_rows_enter(&f->rows, w, now, /* late= */ true);
		return;
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
		w->gone = true;
		break;
	}
	dbd_rows_enter(&f->rows, w, now, /* late= */ false);
}

/* Without the store's lock. */
static void poll_ends(struct finaliser *f, uint64_t now)
{
	struct finality_query q[FINALITY_BATCH];
	struct waiting *of[FINALITY_BATCH];
	struct waiting *w;
	size_t n;
	size_t i;

	do {
		for (n = 0; n < FINALITY_BATCH; n++) {
			w = waitlist_take_due(f->waiting, WAIT_END, now);
			if (!w)
				break;
			q[n] = (struct finality_query){ .job_id = w->record->job_id,
							.restart_count = w->record->restart_count,
							.submit = w->record->submit,
							.start = w->record->start };
			of[n] = w;
		}
		if (n)
			finality_poll(q, n);
		for (i = 0; i < n; i++)
			take_answer(f, of[i], &q[i], now);
	} while (n == FINALITY_BATCH);
}

/* --- into the spool -------------------------------------------------------------------------- */

/* Whether what W's record lacks may come later, and somebody will know. */
static bool wants_followup(const struct finaliser *f, const struct waiting *w)
{
	bool lacks_steps = f->steps && f->settings->step_details &&
			   (!w->record->steps_known || w->steps_open);

	if (!f->settings->correction_wait_ns || w->all_told || (w->gone && !f->steps))
		return false;
	return !w->ended || lacks_steps || (w->needs_refill && f->steps);
}

static int write_record(struct finaliser *f, struct waiting *w, uint64_t now, struct errmsg *err)
{
	struct record_ending end = { .ended = w->ended,
				     .unmeasured = f->unmeasured,
				     .requeued = w->requeued ||
						 (w->all_told && w->dbd_energy_j.known),
				     .ctld_energy_j = w->ctld_energy_j,
				     .dbd_energy_j = w->dbd_energy_j };
	bool follow = wants_followup(f, w);
	int rc = finish_append(&f->finish, w->key, w->record, &end, follow, err);

	if (rc == 0 && follow)
		followup_hint(&f->followup, now);
	return rc;
}

/* Records that were appended are done when they are on disk, all of them or none. */
static int write_batch(struct finaliser *f, uint64_t now, size_t *ret_n, struct errmsg *err)
{
	struct waiting *of[WRITE_BATCH];
	struct waiting *failed = NULL;
	size_t n;
	size_t i;
	int rc = 0;
	int sync_rc;

	for (n = 0; n < WRITE_BATCH && !failed; n++) {
		of[n] = waitlist_take_due(f->waiting, WAIT_WRITE, now);
		if (!of[n])
			break;
		rc = write_record(f, of[n], now, err);
		if (rc < 0) {
			failed = of[n];
			break;
		}
	}
	*ret_n = n;
	sync_rc = n ? finish_sync(&f->finish, rc == 0 ? err : NULL) : 0;
	for (i = 0; i < n; i++) {
		if (sync_rc == 0) {
			waitlist_remove(f->waiting, of[i]);
			continue;
		}
		of[i]->is_written = true;
		waitlist_enter(f->waiting, of[i], WAIT_WRITE);
	}
	if (failed)
		waitlist_enter(f->waiting, failed, WAIT_WRITE);
	return rc < 0 ? rc : sync_rc;
}

static void write_records(struct finaliser *f, uint64_t now)
{
	struct errmsg err = { 0 };
	size_t n = 0;
	int rc = 0;

	if (now < f->next_write_mono_ns)
		return;
	do {
		rc = write_batch(f, now, &n, &err);
		if (rc == 0 && n && logger_once_reset(&write_trouble))
			logger_info("ceems: jobcomp: records are written again");
	} while (rc == 0 && n == WRITE_BATCH);
	if (rc == 0)
		return;
	f->next_write_mono_ns = now + WRITE_RETRY_NS;
	logger_log_once(&write_trouble, LOGGER_ERROR,
			"ceems: jobcomp: cannot write a record: %s; it is tried again",
			err.text[0] ? err.text : strerror(-rc));
}

/* --- the loop -------------------------------------------------------------------------------- */

static uint64_t later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What cannot be written is not to fill the memory. */
static uint64_t next_question(const struct finaliser *f)
{
	return later_of(dbd_rows_next(&f->rows), f->next_write_mono_ns);
}

static uint64_t until_next_try(const struct finaliser *f, uint64_t now)
{
	uint64_t next = now + IDLE_NS;

	if (f->has_more)
		return 0;
	next = earlier_of(next, waitlist_next_due(f->waiting, WAIT_END));
	next = earlier_of(next, next_question(f));
	next = earlier_of(next, later_of(waitlist_next_due(f->waiting, WAIT_WRITE),
					 f->next_write_mono_ns));
	next = earlier_of(next, followup_next(&f->followup, now));
	return next > now ? next - now : 0;
}

/* Between two looks, unless there is a backlog. False: the daemon ends. */
static bool rest(struct finaliser *f)
{
	uint64_t now = clock_mono_ns();
	uint64_t end = earlier_of(now + LOOK_NS, next_question(f));
	uint64_t none = 0;

	if (f->has_more || end <= now)
		return !store_is_stopping(f->store);
	return store_wait(f->store, STORE_STOP, &none, end - now);
}

void finaliser_run(struct finaliser *f)
{
	unsigned int turn = 0;
	uint64_t seen = 0;
	uint64_t now;

	do {
		now = clock_mono_ns();
		store_lock(f->store);
		read_spool(f, now);
		store_unlock(f->store);
		poll_ends(f, now);
		/* with a backlog there is always a new job to ask slurmdbd for */
		if (++turn % FOLLOWUP_TURN == 0)
			followup_run(&f->followup, now);
		if (now >= next_question(f))
			dbd_rows_ask(&f->rows, now);
		write_records(f, clock_mono_ns());
		followup_run(&f->followup, clock_mono_ns());
	} while (rest(f) && store_wait(f->store, STORE_ENTRIES, &seen,
				       until_next_try(f, clock_mono_ns())));

	store_lock(f->store);
	acknowledge(f);
	spool_cursor_close(f->cursor);
	f->cursor = NULL;
	followup_close(&f->followup);
	store_unlock(f->store);
	waitlist_destroy(f->waiting);
	f->waiting = NULL;
}
