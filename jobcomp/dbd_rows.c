/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/dbd_rows.h"

#include <stdlib.h>

#include "jobcomp/dbd_told.h"
#include "jobcomp/finality.h"
#include "src/libutil/clock.h"

/* Questions to slurmdbd: slurmctld's own messages with the steps are on their way there. */
#define FETCH_FIRST_NS (500 * NSEC_PER_MSEC)
#define FETCH_MAX_NS (8 * NSEC_PER_SEC)
/* Of a job that did not end in time: its rows are not complete either, so one or two tries. */
#define FETCH_LATE_NS (2 * NSEC_PER_SEC)
/* Of one that ended: steps without usage are those of a node that failed, or slurmctld is behind. */
#define FETCH_USAGE_NS (30 * NSEC_PER_SEC)
/* accounting_storage/ctld_relay looks at what it has to send every 2 s, if it missed a signal. */
#define FETCH_RELAY_NS (3 * NSEC_PER_SEC)

/*
 * StepDetailsWait runs from the job's end, so that a backlog does not wait for it over and over;
 * after a start from there, as slurmdbd may start as late as we do.
 */
static uint64_t steps_patience(const struct dbd_rows *d, const struct record *r)
{
	uint64_t wall = clock_wall_ns();
	uint64_t since = r->end * NSEC_PER_SEC;
	uint64_t wait = d->settings->step_details_wait_ns;

	if (since < d->opened_wall_ns)
		since = d->opened_wall_ns;
	if (wall <= since)
		return wait;
	return wall - since < wait ? wait - (wall - since) : 0;
}

static bool asks_dbd(const struct dbd_rows *d, const struct waiting *w)
{
	if (!d->pace->steps)
		return false;
	return w->needs_refill ||
	       (w->record->start &&
		(d->settings->step_details || d->settings->record_script || !w->ended));
}

/* W has what there is: it waits to be written. */
static void end_wait(const struct dbd_rows *d, struct waiting *w, uint64_t now)
{
	waitlist_begin(d->waiting, w, WAIT_WRITE, now, 0, 0);
}

void dbd_rows_enter(const struct dbd_rows *d, struct waiting *w, uint64_t now, bool late)
{
	uint64_t patience_ns = steps_patience(d, w->record);

	if (late && patience_ns > FETCH_LATE_NS)
		patience_ns = FETCH_LATE_NS;
	if (asks_dbd(d, w))
		waitlist_begin(d->waiting, w, WAIT_STEPS, now, FETCH_FIRST_NS, patience_ns);
	else
		end_wait(d, w, now);
}

static uint64_t told_at(const struct dbd_rows *d, const struct waiting *w)
{
	return w->told_since_ns ? w->told_since_ns + d->told_ns : UINT64_MAX;
}

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

static void take_steps(const struct dbd_rows *d, struct waiting *w, struct steps_query *q,
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
		waitlist_again(d->waiting, w, now, FETCH_MAX_NS, told_at(d, w));
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
		finish_take_steps(d->finish, w->record, q);
	}
	end_wait(d, w, now);
}

/* slurmdbd does not answer: what it was told and had not stored may be lost, or be told again. */
static void go_without(const struct dbd_rows *d, struct waiting *w, uint64_t now)
{
	w->told_since_ns = 0;
	take_steps(d, w, &(struct steps_query){ .state = STEPS_ABSENT }, now);
}

/* While slurmdbd is not asked: who has waited long enough goes without. */
static void take_nothing(const struct dbd_rows *d, uint64_t now)
{
	struct waiting *w;

	while ((w = waitlist_take_due(d->waiting, WAIT_STEPS, now)))
		go_without(d, w, now);
}

/* Of which of them slurmdbd will have no more than it has now. */
static void find_told(const struct dbd_rows *d, struct steps_query *q, struct waiting *const *of,
		      size_t n)
{
	struct finality_query job[FINALITY_BATCH];
	uint64_t now;
	bool told;
	size_t i = 0;
	size_t k;

	while (i < n) {
		size_t some = n - i < FINALITY_BATCH ? n - i : FINALITY_BATCH;

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
		q[i].all_told = w->told_since_ns && now - w->told_since_ns >= d->told_ns;
	}
}

void dbd_rows_ask(const struct dbd_rows *d, uint64_t now)
{
	struct steps_query *q;
	struct waiting **of;
	size_t n;
	size_t i;

	if (waitlist_next_due(d->waiting, WAIT_STEPS) > now)
		return;
	if (now < d->pace->next_mono_ns) {
		if (d->pace->is_down)
			take_nothing(d, now);
		return;
	}
	q = calloc(d->pace->limit, sizeof(*q));
	of = calloc(d->pace->limit, sizeof(struct waiting *));
	for (n = 0; q && of && n < d->pace->limit; n++) {
		struct waiting *w = waitlist_take_due(d->waiting, WAIT_STEPS, now);

		if (!w)
			break;
		q[n] = (struct steps_query){
			.job_id = w->record->job_id,
			.submit = w->record->submit,
			.end = w->record->end,
			/* a slurmctld that began without slurmdbd knows no accounts */
			.refill = w->record,
			.wants_script = d->settings->record_script };
		of[n] = w;
	}
	if (!q || !of)
		d->pace->next_mono_ns = now + NSEC_PER_SEC;
	if (n) {
		bool is_down;

		find_told(d, q, of, n);
		is_down = dbd_pace_ask(d->pace, q, n) < 0;
		now = clock_mono_ns();
		for (i = 0; i < n; i++) {
			if (is_down)
				go_without(d, of[i], now);
			else
				take_steps(d, of[i], &q[i], now);
		}
		if (is_down)
			take_nothing(d, now);
	}
	free(q);
	free(of);
}

uint64_t dbd_rows_next(const struct dbd_rows *d)
{
	uint64_t due = waitlist_next_due(d->waiting, WAIT_STEPS);

	return d->pace->is_down || due > d->pace->next_mono_ns ? due : d->pace->next_mono_ns;
}
