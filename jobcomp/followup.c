/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/followup.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "jobcomp/dbd_told.h"
#include "jobcomp/finality.h"
#include "src/libutil/clock.h"
#include "src/libutil/crc32c.h"
#include "src/libutil/logger.h"

#define CURSOR "followup"
#define BATCH 256
#define LOOK_ENTRIES 512 /* read per hold of the store's lock */
#define RETRY_NS (5 * NSEC_PER_SEC)
#define HELD_MAX_BYTES (UINT64_C(32) << 20) /* two segments */
#define FRAME_ABOUT 24

/* So many are not asked for every 30 seconds because one more came. */
#define MANY 1000

/*
 * Steps of an ended job that have no usage: slurmctld is behind with telling slurmdbd, but not for so
 * long; else there is none, as of a node that failed.
 */
#define USAGE_NS (3600 * NSEC_PER_SEC)

struct item {
	char key[RECORD_KEY_MAX];
	struct record *record;
};

static struct logger_once write_trouble;
static struct logger_once read_trouble;

int followup_open(struct followup *u, struct finish *f, struct dbd_pace *d, struct errmsg *err)
{
	int rc;

	*u = (struct followup){ .finish = f,
				.dbd = d,
				.first_ns = FOLLOWUP_FIRST_NS,
				.pause_ns = FOLLOWUP_FIRST_NS,
				.held_max_bytes = HELD_MAX_BYTES };
	if (f->store->max_bytes && f->store->max_bytes / 8 < u->held_max_bytes)
		u->held_max_bytes = f->store->max_bytes / 8;
	rc = spool_cursor_open(f->store->spool, CURSOR, &u->cursor, err);
	if (rc == 0) /* all but its own and what is not known */
		spool_cursor_spare(u->cursor, SPOOL_MASK(SPOOL_PENDING) | SPOOL_MASK(SPOOL_KEY) |
						      SPOOL_MASK(SPOOL_RECORD) |
						      SPOOL_MASK(SPOOL_STEPS) |
						      SPOOL_MASK(SPOOL_START));
	return rc;
}

void followup_close(struct followup *u)
{
	spool_cursor_close(u->cursor);
	u->cursor = NULL;
	free(TAKE_PTR(u->told_before.hash));
	free(TAKE_PTR(u->told_now.hash));
}

void followup_hint(struct followup *u, uint64_t now)
{
	if (u->nkept >= MANY || u->pause_ns == u->first_ns)
		return;
	u->pause_ns = u->first_ns;
	if (u->next_round_mono_ns > now + u->first_ns)
		u->next_round_mono_ns = now + u->first_ns;
}

static bool is_before(const struct spool_pos *a, const struct spool_pos *b)
{
	return a->segment < b->segment || (a->segment == b->segment && a->offset < b->offset);
}

/* Under the store's lock. */
static void acknowledge(struct followup *u, const struct spool_pos *to)
{
	struct errmsg err = { 0 };

	if (to->segment == u->acked.segment && to->offset == u->acked.offset)
		return;
	if (spool_ack(u->cursor, to, &err) < 0)
		logger_debug("ceems: jobcomp: %s; the next start reads more again", err.text);
	u->acked = *to;
}

/* Back to the oldest FOLLOWUP; what is there is looked at again. */
static void look_again(struct followup *u)
{
	spool_rewind(u->cursor);
	u->is_held = false;
	u->held_bytes = 0;
	u->has_more = true;
	u->in_round = false;
}

/* --- who was told of ------------------------------------------------------------------------ */

/*
 * What slurmdbd was told it stores a little later, and no job is asked for twice within that time: of one
 * that it was told all of by the last round, it has by this one what it ever will.
 */
_Static_assert(FOLLOWUP_FIRST_NS >= DBD_TOLD_NS && RETRY_NS >= DBD_TOLD_NS, "less than the wait");

static uint32_t hash_of(const struct item *item)
{
	return crc32c(0, item->key, strlen(item->key));
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool was_told(const struct followup *u, const struct item *item)
{
	uint32_t hash = hash_of(item);

	return u->told_before.n && bsearch(&hash, u->told_before.hash, u->told_before.n,
					   sizeof(hash), by_value);
}

/* Without memory for it, it is asked for once more. */
static void note_told(struct followup *u, const struct item *item)
{
	struct told_keys *t = &u->told_now;

	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 256;
		uint32_t *hash = realloc(t->hash, room * sizeof(*hash));

		if (!hash)
			return;
		t->hash = hash;
		t->room = room;
	}
	t->hash[t->n++] = hash_of(item);
}

static void turn_told(struct followup *u)
{
	free(u->told_before.hash);
	u->told_before = u->told_now;
	u->told_now = (struct told_keys){ 0 };
	if (u->told_before.n)
		qsort(u->told_before.hash, u->told_before.n, sizeof(uint32_t), by_value);
}

/* --- between rounds -------------------------------------------------------------------------- */

/* Under the store's lock: follows the spool's end, for as long as there is no FOLLOWUP. */
static void look(struct followup *u, uint64_t now)
{
	struct spool_pos held = u->acked;
	struct errmsg err = { 0 };
	struct spool_entry e;
	unsigned int n;
	int rc = 0;

	for (n = 0; n < LOOK_ENTRIES && (rc = spool_read(u->cursor, &e, &err)) > 0; n++) {
		u->read_to = e.next;
		if (!u->is_held && e.kind == SPOOL_FOLLOWUP) {
			u->is_held = true;
			held = e.pos;
			if (u->next_round_mono_ns <= now) {
				u->pause_ns = u->first_ns;
				u->next_round_mono_ns = now + u->pause_ns;
			}
		}
		if (u->is_held)
			u->held_bytes += FRAME_ABOUT + e.key_len + e.len;
	}
	u->has_more = rc > 0;
	if (rc < 0)
		logger_log_once(&read_trouble, LOGGER_ERROR, "ceems: jobcomp: %s", err.text);
	if (u->is_held)
		acknowledge(u, &held);
	else if (n)
		acknowledge(u, &u->read_to);
}

/* What it writes itself must not be what makes the next one due. */
static bool holds_much(const struct followup *u)
{
	return u->held_bytes > u->held_max_bytes + 4 * u->kept_bytes;
}

/* Under the store's lock. */
static void begin_round(struct followup *u, uint64_t now)
{
	u->in_round = true;
	u->asks = now >= u->next_round_mono_ns;
	u->round_end = spool_tail(u->finish->store->spool);
	if (u->asks)
		turn_told(u);
	u->nkept = u->kept_bytes = u->ncorrected = u->ngiven_up = u->nunasked = 0;
	spool_rewind(u->cursor);
}

static void end_round(struct followup *u, uint64_t now)
{
	if (u->ncorrected)
		logger_info("ceems: jobcomp: %" PRIu64 " records corrected", u->ncorrected);
	if (u->ngiven_up)
		logger_info("ceems: jobcomp: %" PRIu64 " records stay without what they lacked, "
			    "which did not come within CorrectionWait: %s%s", u->ngiven_up,
			    u->given_up, u->ngiven_up > 1 ? " ..." : "");
	if (u->nunasked)
		logger_error("ceems: jobcomp: half of SpoolMaxSize is used: %" PRIu64
			     " records that lack something are not corrected", u->nunasked);
	if (u->asks) {
		u->pause_ns = u->pause_ns * 2 < FOLLOWUP_MAX_NS ? u->pause_ns * 2 :
								  FOLLOWUP_MAX_NS;
		u->next_round_mono_ns = now + u->pause_ns;
	}
	look_again(u);
}

/* --- a round --------------------------------------------------------------------------------- */

/* Under the store's lock; the number of items. */
static size_t read_batch(struct followup *u, struct item *item, size_t max,
			 struct spool_pos *ret_to, bool *ret_end)
{
	struct errmsg err = { 0 };
	struct spool_entry e;
	unsigned int looked;
	size_t n = 0;
	int rc = 1;

	*ret_end = false;
	*ret_to = u->acked;
	for (looked = 0; looked < LOOK_ENTRIES && n < max; looked++) {
		rc = spool_read(u->cursor, &e, &err);
		if (rc <= 0 || !is_before(&e.pos, &u->round_end)) {
			*ret_end = true;
			break;
		}
		*ret_to = e.next;
		if (e.kind != SPOOL_FOLLOWUP || e.key_len >= sizeof(item->key))
			continue;
		memcpy(item[n].key, e.key, e.key_len);
		item[n].key[e.key_len] = '\0';
		if (record_from_json(e.data, e.len, &item[n].record, &err) < 0)
			logger_error("ceems: jobcomp: %s: not corrected: %s", item[n].key,
				     err.text);
		else
			n++;
	}
	if (rc < 0)
		logger_log_once(&read_trouble, LOGGER_ERROR, "ceems: jobcomp: %s", err.text);
	return n;
}

static bool is_state(const struct record *r, const char *state)
{
	return r->state && !strcmp(r->state, state);
}

static bool is_older_than(const struct record *r, uint64_t ns)
{
	return clock_wall_ns() > (r->end ? r->end : r->submit) * NSEC_PER_SEC + ns;
}

static void give_up(struct followup *u, const struct item *item)
{
	if (!u->ngiven_up++)
		(void)snprintf(u->given_up, sizeof(u->given_up), "%s", item->key);
}

static int keep(struct followup *u, struct item *item, struct errmsg *err)
{
	int rc = finish_append_followup(u->finish, item->key, item->record, err);

	if (rc == -ENOSPC) {
		u->nunasked++;
		return 0;
	}
	if (rc == 0) {
		u->nkept++;
		u->kept_bytes += 2048; /* about: it has no steps and no script */
	}
	return rc;
}

/* Slurm's last word, or what was seen before it forgot the job, in case slurmdbd knows of none. */
static struct maybe_u64 energy_of(const struct record *r, const struct finality_query *end)
{
	if (end->state == FINALITY_GONE)
		return r->energy.total_j;
	return end->state == FINALITY_ENDED && !is_state(r, "RESIZING") ? end->energy_j :
									  (struct maybe_u64){ 0 };
}

/* What is known now of one; its answers are used up. */
static int settle(struct followup *u, struct item *item, const struct finality_query *end,
		  struct steps_query *q, struct errmsg *err)
{
	bool known = q->state == STEPS_ENDED;
	bool over = end->state == FINALITY_ENDED && !is_state(item->record, "RESIZING");
	struct record_ending ending = {
		.ended = over || known,
		.unmeasured = u->finish->unmeasured,
		.requeued = end->state == FINALITY_GONE || is_state(item->record, "REQUEUED") ||
			    (q->all_told && q->job_energy_j.known),
		.ctld_energy_j = energy_of(item->record, end),
		.dbd_energy_j = q->job_energy_j };
	bool hopeless = q->unsure && is_older_than(item->record, USAGE_NS);
	bool never = q->all_told && !known; /* nor will it be */
	int rc;

	if (end->state == FINALITY_GONE && outcome_is_of_another(&q->outcome, item->record)) {
		record_steps_destroy(TAKE_PTR(q->steps), q->nsteps);
		free(TAKE_PTR(q->script));
		return 0; /* its record is the last word */
	}
	if (ending.ended && (known || !u->dbd->steps ||
			     ((hopeless || never) && !item->record->energy.final))) {
		if (q->state != STEPS_ABSENT)
			finish_take_steps(u->finish, item->record, q);
		/* the end may have been told again since, and this one is to say the same */
		(void)outcome_apply(&q->outcome, item->record);
		rc = finish_append(u->finish, item->key, item->record, &ending,
				   /* follow= */ false, err);
		u->ncorrected += rc == 0;
		return rc;
	}
	record_steps_destroy(TAKE_PTR(q->steps), q->nsteps);
	free(TAKE_PTR(q->script));
	if ((hopeless || never) && item->record->energy.final)
		return 0;
	if (hopeless || never || is_older_than(item->record, u->finish->settings->correction_wait_ns) ||
	    (!u->dbd->steps && end->state == FINALITY_GONE)) {
		give_up(u, item);
		return 0;
	}
	return keep(u, item, err);
}

struct answers {
	struct finality_query end[BATCH];
	struct steps_query q[BATCH];
	bool told[BATCH];
};

/* -EAGAIN: slurmdbd does not answer. */
static int ask(struct followup *u, struct item *item, size_t n, struct answers *a)
{
	bool all_told;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct record *r = item[i].record;

		a->end[i] = (struct finality_query){ .job_id = r->job_id,
						     .restart_count = r->restart_count,
						     .submit = r->submit,
						     .start = r->start };
		a->q[i] = (struct steps_query){
			.job_id = r->job_id,
			.submit = r->submit,
			.end = r->end,
			.refill = item[i].record,
			.wants_script = u->finish->settings->record_script };
	}
	finality_poll(a->end, n);
	if (!u->dbd->steps)
		return 0;
	all_told = dbd_told_all();
	for (i = 0; i < n; i++) {
		a->told[i] = all_told && !a->end[i].start_untold && !a->end[i].is_relayed &&
			     (a->end[i].state != FINALITY_COMPLETING ||
			      is_state(item[i].record, "RESIZING"));
		a->q[i].all_told = a->told[i] && was_told(u, &item[i]);
	}
	return dbd_pace_ask(u->dbd, a->q, n);
}

/* All of a batch is in the spool, or nothing of it is acknowledged. */
static int write_batch(struct followup *u, struct item *item, size_t n, struct answers *a,
		       struct errmsg *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < n; i++) {
		if (rc == 0)
			rc = u->asks ? settle(u, &item[i], &a->end[i], &a->q[i], err) :
				       keep(u, &item[i], err);
		record_steps_destroy(TAKE_PTR(a->q[i].steps), a->q[i].nsteps);
		free(TAKE_PTR(a->q[i].script));
	}
	return n && rc == 0 ? finish_sync(u->finish, err) : rc;
}

static int handle_batch(struct followup *u, struct item *item, size_t n, struct errmsg *err)
{
	struct answers *a = calloc(1, sizeof(*a));
	size_t i;
	int rc;

	if (!a)
		return errmsg_set(err, -ENOMEM, "out of memory");
	rc = u->asks && n ? ask(u, item, n, a) : 0;
	/* too much is held back to wait for slurmdbd */
	if (rc < 0 && holds_much(u))
		u->asks = false;
	if (rc == 0 || !u->asks)
		rc = write_batch(u, item, n, a, err);
	for (i = 0; rc == 0 && i < n; i++)
		if (a->told[i] && a->q[i].state != STEPS_ENDED)
			note_told(u, &item[i]);
	free(a);
	return rc;
}

static void run_batch(struct followup *u, uint64_t now)
{
	struct item *item = calloc(BATCH, sizeof(*item));
	size_t max = u->dbd->steps && u->asks && u->dbd->limit < BATCH ? u->dbd->limit : BATCH;
	struct store *store = u->finish->store;
	struct errmsg err = { 0 };
	struct spool_pos to;
	bool at_end = false;
	size_t n = 0;
	size_t i;
	int rc = -ENOMEM;

	if (item) {
		store_lock(store);
		n = read_batch(u, item, max, &to, &at_end);
		store_unlock(store);
		rc = handle_batch(u, item, n, &err);
	}
	for (i = 0; i < n; i++)
		record_destroy(item[i].record);
	free(item);
	store_lock(store);
	if (rc == 0) {
		acknowledge(u, &to);
		if (at_end)
			end_round(u, now);
	} else {
		/* what was acknowledged is done; the rest is a round of its own */
		look_again(u);
		u->not_before_mono_ns = now + (rc == -EAGAIN ? u->first_ns : RETRY_NS);
	}
	store_unlock(store);
	if (rc < 0 && rc != -EAGAIN)
		logger_log_once(&write_trouble, LOGGER_ERROR,
				"ceems: jobcomp: cannot write a correction: %s; it is tried again",
				err.text[0] ? err.text : strerror(-rc));
	else if (rc == 0 && n && logger_once_reset(&write_trouble))
		logger_info("ceems: jobcomp: corrections are written again");
}

static bool is_due(const struct followup *u, uint64_t now)
{
	return u->is_held && !u->has_more && now >= u->not_before_mono_ns &&
	       (now >= u->next_round_mono_ns || holds_much(u));
}

void followup_run(struct followup *u, uint64_t now)
{
	struct store *store = u->finish->store;

	if (!u->in_round) {
		store_lock(store);
		look(u, now);
		if (is_due(u, now))
			begin_round(u, now);
		store_unlock(store);
	}
	if (u->in_round && (!u->asks || !u->dbd->steps || now >= u->dbd->next_mono_ns))
		run_batch(u, now);
}

uint64_t followup_next(const struct followup *u, uint64_t now)
{
	if (u->in_round)
		return u->asks && u->dbd->steps ? u->dbd->next_mono_ns : now;
	if (u->has_more)
		return now;
	if (!u->is_held)
		return UINT64_MAX;
	if (!holds_much(u) && u->next_round_mono_ns > u->not_before_mono_ns)
		return u->next_round_mono_ns;
	return u->not_before_mono_ns;
}
