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

#define POLL_BATCH 256
#define POLL_FIRST_NS (300 * NSEC_PER_MSEC)
#define POLL_MAX_NS (2 * NSEC_PER_SEC)

/* Questions to slurmdbd: slurmctld's own messages with the steps are on their way there. */
#define FETCH_FIRST_NS (500 * NSEC_PER_MSEC)
#define FETCH_MAX_NS (8 * NSEC_PER_SEC)
/* Of a job that did not end in time: its rows are not complete either, so one or two tries. */
#define FETCH_LATE_NS (2 * NSEC_PER_SEC)
/* Of one that ended: steps without usage are those of a node that failed, or slurmctld is behind. */
#define FETCH_USAGE_NS (30 * NSEC_PER_SEC)
/* accounting_storage/ctld_relay looks at what it has to send every 2 s, if it missed a signal. */
#define FETCH_RELAY_NS (3 * NSEC_PER_SEC)

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
	f->opened_wall_ns = clock_wall_ns();
	f->told_ns = DBD_TOLD_NS;
	rc = spool_cursor_open(f->store->spool, CURSOR, &f->cursor, err);
	if (rc < 0)
		return rc;
	/* without a RECORD that was written the next start writes it again */
	spool_cursor_spare(f->cursor, SPOOL_MASK(SPOOL_RECORD) | SPOOL_MASK(SPOOL_STEPS) |
					      SPOOL_MASK(SPOOL_START));
	return followup_open(&f->followup, &f->finish, &f->dbd, err);
}

static void enter(struct finaliser *f, struct waiting *w, enum wait_phase phase, uint64_t now,
		  uint64_t first_ns, uint64_t patience_ns)
{
	w->begin_mono_ns = now;
	w->interval_ns = first_ns;
	w->next_try_mono_ns = now + first_ns;
	w->deadline_mono_ns = now + patience_ns;
	waitlist_enter(f->waiting, w, phase);
}

/* Again later; the pauses grow, as most jobs are through with the first. */
static void later(struct finaliser *f, struct waiting *w, uint64_t now, uint64_t max_ns)
{
	w->next_try_mono_ns = now + w->interval_ns;
	if (w->told_since_ns && w->next_try_mono_ns > w->told_since_ns + f->told_ns)
		w->next_try_mono_ns = w->told_since_ns + f->told_ns;
	w->interval_ns += w->interval_ns / 2;
	if (w->interval_ns > max_ns)
		w->interval_ns = max_ns;
	waitlist_enter(f->waiting, w, w->phase);
}

/*
 * StepDetailsWait runs from the job's end, so that a backlog does not wait for it over and over;
 * after a start from there, as slurmdbd may start as late as we do.
 */
static uint64_t steps_patience(const struct finaliser *f, const struct record *r)
{
	uint64_t wall = clock_wall_ns();
	uint64_t since = r->end * NSEC_PER_SEC;
	uint64_t wait = f->settings->step_details_wait_ns;

	if (since < f->opened_wall_ns)
		since = f->opened_wall_ns;
	if (wall <= since)
		return wait;
	return wall - since < wait ? wait - (wall - since) : 0;
}

static bool asks_dbd(const struct finaliser *f, const struct waiting *w)
{
	if (!f->steps)
		return false;
	return w->needs_refill ||
	       (w->record->start &&
		(f->settings->step_details || f->settings->record_script || !w->ended));
}

static void enter_steps(struct finaliser *f, struct waiting *w, uint64_t now, bool late)
{
	uint64_t patience_ns = steps_patience(f, w->record);

	if (late && patience_ns > FETCH_LATE_NS)
		patience_ns = FETCH_LATE_NS;
	if (asks_dbd(f, w))
		enter(f, w, WAIT_STEPS, now, FETCH_FIRST_NS, patience_ns);
	else
		enter(f, w, WAIT_WRITE, now, 0, 0);
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
		enter_steps(f, w, now, /* late= */ false);
	} else if (is_state(r, "RESIZING")) {
		/* the job goes on: what slurmctld has now is of its next part */
		w->ended = true;
		enter_steps(f, w, now, /* late= */ false);
	} else {
		enter(f, w, WAIT_END, now, POLL_FIRST_NS, f->settings->final_energy_wait_ns);
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
			later(f, w, now, POLL_MAX_NS);
			return;
		}
		logger_info("ceems: jobcomp: %s: not over within FinalEnergyWait; its record "
			    "says final: false", w->key);
		enter_steps(f, w, now, /* late= */ true);
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
	enter_steps(f, w, now, /* late= */ false);
}

/* Without the store's lock. */
static void poll_ends(struct finaliser *f, uint64_t now)
{
	struct finality_query q[POLL_BATCH];
	struct waiting *of[POLL_BATCH];
	struct waiting *w;
	size_t n;
	size_t i;

	do {
		for (n = 0; n < POLL_BATCH; n++) {
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
	} while (n == POLL_BATCH);
}

/* --- the steps in slurmdbd ------------------------------------------------------------------- */

/* Not before: slurmdbd may know more then. */
static uint64_t steps_wanted_until(const struct waiting *w, const struct steps_query *q)
{
	if (q->all_told)
		return 0;
	if (w->complete_since_ns)
		return q->is_relayed ? w->complete_since_ns + FETCH_RELAY_NS : 0;
	/* told all, it may still have to store it */
	if (!w->told_since_ns && w->ended && q->unsure &&
	    w->deadline_mono_ns - w->begin_mono_ns > FETCH_USAGE_NS)
		return w->begin_mono_ns + FETCH_USAGE_NS;
	return w->deadline_mono_ns;
}

static void take_steps(struct finaliser *f, struct waiting *w, struct steps_query *q,
		       uint64_t now)
{
	if (q->state != STEPS_ABSENT)
		w->needs_refill = false; /* steps_fetch() did it */
	if (q->is_saved)
		w->told_since_ns = 0; /* slurmctld's queue is not all there is to tell */
	if (q->state != STEPS_ENDED || q->unsure)
		w->complete_since_ns = 0;
	else if (!w->complete_since_ns)
		w->complete_since_ns = now;
	if (now < steps_wanted_until(w, q)) {
		later(f, w, now, FETCH_MAX_NS);
		record_steps_destroy(q->steps, q->nsteps);
		free(q->script);
		return;
	}
	w->all_told = q->all_told;
	if (w->gone && outcome_is_of_another(&q->outcome, w->record)) {
		/* of the run that has the record behind this one */
		record_steps_destroy(TAKE_PTR(q->steps), q->nsteps);
		free(TAKE_PTR(q->script));
	} else if (q->state != STEPS_ABSENT) {
		w->dbd_energy_j = q->job_energy_j;
		w->ended = w->ended || q->state == STEPS_ENDED;
		w->steps_open = q->state == STEPS_OPEN;
		(void)outcome_apply(&q->outcome, w->record);
		finish_take_steps(&f->finish, w->record, q);
	}
	enter(f, w, WAIT_WRITE, now, 0, 0);
}

/* slurmdbd does not answer: what it was told and had not stored may be lost, or be told again. */
static void go_without(struct finaliser *f, struct waiting *w, uint64_t now)
{
	w->told_since_ns = 0;
	take_steps(f, w, &(struct steps_query){ .state = STEPS_ABSENT }, now);
}

/* While slurmdbd is not asked: who has waited long enough goes without. */
static void take_nothing(struct finaliser *f, uint64_t now)
{
	struct waiting *w;

	while ((w = waitlist_take_due(f->waiting, WAIT_STEPS, now)))
		go_without(f, w, now);
}

/* Of which of them slurmdbd will have no more than it has now. */
static void find_told(const struct finaliser *f, struct steps_query *q, struct waiting *const *of,
		      size_t n)
{
	struct finality_query job[POLL_BATCH];
	uint64_t now;
	bool told;
	size_t i = 0;
	size_t k;

	while (i < n) {
		size_t some = n - i < POLL_BATCH ? n - i : POLL_BATCH;

		for (k = 0; k < some; k++)
			job[k] = (struct finality_query){ .job_id = q[i + k].job_id,
							  .submit = q[i + k].submit };
		finality_poll(job, some);
		for (k = 0; k < some; k++, i++) {
			q[i].is_relayed = job[k].is_relayed;
			q[i].all_told = (of[i]->ended || of[i]->gone) && !job[k].start_untold &&
					!job[k].is_relayed;
		}
	}
	/* asked last: what slurmctld had done with before is in its queue or through it */
	told = dbd_told_all();
	now = clock_mono_ns();
	for (i = 0; i < n; i++) {
		struct waiting *w = of[i];

		if (!q[i].all_told)
			w->told_since_ns = 0;
		else if (told && !w->told_since_ns)
			w->told_since_ns = now; /* what is queued from now on is of others */
		q[i].all_told = w->told_since_ns && now - w->told_since_ns >= f->told_ns;
	}
}

/* Without the store's lock. One question at most, so that ends are looked at in between. */
static void fetch_steps(struct finaliser *f, uint64_t now)
{
	struct steps_query *q;
	struct waiting **of;
	size_t n;
	size_t i;

	/* what cannot be written is not to fill the memory */
	if (now < f->next_write_mono_ns || waitlist_next_due(f->waiting, WAIT_STEPS) > now)
		return;
	if (now < f->dbd.next_mono_ns) {
		if (f->dbd.is_down)
			take_nothing(f, now);
		return;
	}
	q = calloc(f->dbd.limit, sizeof(*q));
	of = calloc(f->dbd.limit, sizeof(struct waiting *));
	for (n = 0; q && of && n < f->dbd.limit; n++) {
		struct waiting *w = waitlist_take_due(f->waiting, WAIT_STEPS, now);

		if (!w)
			break;
		q[n] = (struct steps_query){
			.job_id = w->record->job_id,
			.submit = w->record->submit,
			.end = w->record->end,
			/* a slurmctld that began without slurmdbd knows no accounts */
			.refill = w->record,
			.wants_script = f->settings->record_script };
		of[n] = w;
	}
	if (!q || !of)
		f->dbd.next_mono_ns = now + NSEC_PER_SEC;
	if (n) {
		bool is_down;

		find_told(f, q, of, n);
		is_down = dbd_pace_ask(&f->dbd, q, n) < 0;
		now = clock_mono_ns();
		for (i = 0; i < n; i++) {
			if (is_down)
				go_without(f, of[i], now);
			else
				take_steps(f, of[i], &q[i], now);
		}
		if (is_down)
			take_nothing(f, now);
	}
	free(q);
	free(of);
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

static uint64_t next_question(const struct finaliser *f)
{
	uint64_t steps = waitlist_next_due(f->waiting, WAIT_STEPS);

	steps = later_of(steps, f->next_write_mono_ns);
	return f->dbd.is_down ? steps : later_of(steps, f->dbd.next_mono_ns);
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
		fetch_steps(f, now);
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
