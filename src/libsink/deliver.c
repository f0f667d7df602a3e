/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libsink/window.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define BACKOFF_MIN_NS NSEC_PER_SEC
#define BACKOFF_MAX_NS (60 * NSEC_PER_SEC)
/* How long a sink that is being closed may still acknowledge sent records. */
#define DRAIN_NS (500 * NSEC_PER_MSEC)
/* A sink that refuses everything is tried with at least so many records before it counts as down. */
#define REFUSED_MIN 64

struct deliver {
	struct store *store;
	const char *store_dir;
	struct store_view *view; /* NULL: not open */
	const struct sink_ops *ops;
	struct sink *sink; /* NULL: not open */
	const struct settings *settings;
	struct deliver_stats stats;
	uint64_t backoff_ns;
	uint64_t down_since_ns;
	uint64_t tries; /* failed tries in this outage */
	uint64_t starts_dropped;
	uint32_t random;
	struct window window;
	struct store_refusal *refusal; /* scratch memory for deliver_settle() */

	uint64_t read;	  /* number of the last row that was read, of any kind */
	uint64_t settled; /* number of the last row that the store knows as settled */
	/* the store could not note the results; a repeat would go to the sink a second time */
	bool is_unsettled;
	bool is_widened; /* the window may get more bytes than its sink should */
};

/* --- outages ------------------------------------------------------------------------------------ */

/*
 * Returns a pseudo-random number (xorshift32). It varies the pauses, so that daemons do
 * not retry at the same time.
 */
static uint32_t deliver_random(struct deliver *d)
{
	d->random ^= d->random << 13;
	d->random ^= d->random >> 17;
	d->random ^= d->random << 5;
	return d->random;
}

static void deliver_failed(struct deliver *d, uint64_t now_ns, const char *what, const char *reason)
{
	if (!d->stats.is_down) {
		d->stats.is_down = true;
		d->down_since_ns = now_ns;
		d->tries = 0;
		d->backoff_ns = BACKOFF_MIN_NS;
		logger_error("ceems: %s: cannot %s: %s; records wait in %s", d->ops->name, what, reason,
			     d->store_dir);
	} else if (d->backoff_ns < BACKOFF_MAX_NS) {
		d->backoff_ns *= 2;
		if (d->backoff_ns > BACKOFF_MAX_NS)
			d->backoff_ns = BACKOFF_MAX_NS;
	}
	d->tries++;
	d->stats.retries++;
	d->stats.next_try_mono_ns = now_ns + d->backoff_ns -
				    d->backoff_ns / 4 * (deliver_random(d) % 1024) / 1024;
	logger_debug("ceems: %s: try %" PRIu64 " failed: %s", d->ops->name, d->tries, reason);
}

static void deliver_succeeded(struct deliver *d, uint64_t now_ns)
{
	if (!d->stats.is_down)
		return;
	d->stats.is_down = false;
	d->stats.next_try_mono_ns = 0;
	logger_info("ceems: %s: delivers again after %" PRIu64 " s and %" PRIu64 " failed tries",
		    d->ops->name, (now_ns - d->down_since_ns) / NSEC_PER_SEC, d->tries);
}

/* Returns true for the 1st, 2nd, 4th, 8th, ... refused record: only these are logged. */
static bool deliver_is_told(uint64_t n)
{
	return !(n & (n - 1));
}

/* --- the window --------------------------------------------------------------------------------- */

static int deliver_add_row(void *ctx, const struct store_row *row)
{
	struct deliver *d = ctx;
	int rc = 0;

	if (d->ops->kinds & STORE_MASK(row->kind)) {
		if (!d->is_widened && !window_has_room(&d->window, row))
			return -ECANCELED; /* the next window begins with the row */
		rc = window_add(&d->window, row, NULL);
	}
	if (rc == 0)
		d->read = row->seq;
	return rc;
}

/* Reads at most MAX_ROWS more rows into the window. */
static int deliver_read(struct deliver *d, size_t max_rows, struct errmsg *err)
{
	struct store_pick pick = { .after = d->read, .max_rows = max_rows };
	int rc;

	if (!d->view) {
		rc = store_view_open(d->store_dir, /* writable= */ false, &d->view, err);
		if (rc < 0)
			return rc;
	}
	rc = store_view_records(d->view, &pick, deliver_add_row, d, err);
	if (rc == -ENOMEM)
		return errmsg_set(err, rc, "out of memory");
	if (rc < 0 && rc != -ECANCELED) {
		/* the next try opens the store again, because the recorder may have made a new file */
		store_view_close(TAKE_PTR(d->view));
		return rc;
	}
	return 0;
}

static int deliver_fill_window(struct deliver *d, struct errmsg *err)
{
	const struct window *w = &d->window;
	size_t max = d->ops->max_batch;
	size_t least = max < REFUSED_MIN ? max : REFUSED_MIN;
	size_t had = w->n;
	uint64_t before;
	int rc = 0;

	if (w->n < max)
		do {
			/* repeat if all rows were of kinds that this sink does not take */
			before = d->read;
			rc = deliver_read(d, max - w->n, err);
		} while (rc == 0 && !w->n && d->read > before);
	if (rc == 0 && w->n && w->n == had && w->n < least && window_count(w, SINK_REFUSED) == w->n) {
		/* read one more: if the sink takes that record, it is not down */
		d->is_widened = true;
		rc = deliver_read(d, /* max_rows= */ 1, err);
		d->is_widened = false;
	}
	/* if there are items, deliver them first; the next call meets the error again */
	return w->n ? 0 : rc;
}

/* --- results ------------------------------------------------------------------------------------ */

/* Lists the refused ones of the first N items in d->refusal, except records of job starts. */
static size_t deliver_list_refused(struct deliver *d, size_t n)
{
	const struct window *w = &d->window;
	size_t found = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (w->result[i] == SINK_REFUSED && w->item[i].kind != STORE_START)
			d->refusal[found++] = (struct store_refusal){ w->row[i], sink_why(&w->item[i]) };
	return found;
}

static int deliver_note_settled(void *ctx, const struct window *w, size_t i)
{
	const struct sink_item *item = &w->item[i];
	struct deliver *d = ctx;

	if (w->result[i] == SINK_ACKED) {
		d->stats.acked++;
		d->stats.acked_wall_s = clock_wall_ns() / NSEC_PER_SEC;
		if (item->is_partial && deliver_is_told(++d->stats.partial))
			logger_error("ceems: %s: takes records only in part: %s; they are not sent again "
				     "(%" PRIu64 " answers so far)",
				     d->ops->name, sink_why(item), d->stats.partial);
	} else if (item->kind == STORE_START) {
		if (deliver_is_told(++d->starts_dropped))
			logger_error("ceems: %s: refuses the start of job %.*s: %s; dropped, the job's "
				     "record follows at its end (%" PRIu64 " so far)",
				     d->ops->name, (int)item->key_len, item->key, sink_why(item),
				     d->starts_dropped);
	} else if (deliver_is_told(++d->stats.refused)) {
		logger_error("ceems: %s: refuses record %.*s: %s; see `ceems store ls --refused %s` (%" PRIu64
			     " so far)",
			     d->ops->name, (int)item->key_len, item->key, sink_why(item), d->ops->name,
			     d->stats.refused);
	}
	return 0;
}

/*
 * Records in the store that the items before the first unsettled one are settled, and removes them from the
 * window. Returns the number of items removed, or the store's error; then the window is unchanged.
 */
static int deliver_settle(struct deliver *d, struct errmsg *err)
{
	struct window *w = &d->window;
	uint64_t seq;
	size_t done = 0;
	int rc;

	while (done < w->n && w->result[done] >= SINK_ACKED)
		done++;
	if (!done)
		return 0;
	seq = done == w->n ? d->read : w->row[done] - 1;
	rc = store_sink_settle(d->store, d->ops->name, seq, d->refusal, deliver_list_refused(d, done), err);
	d->is_unsettled = rc < 0;
	if (rc < 0)
		return rc;
	d->settled = seq;
	return window_settle(w, done, deliver_note_settled, d);
}

/*
 * Moves the sink's cursor past rows of kinds that the sink does not take. Call it only if no item is in
 * the window: nothing that was read waits to be settled.
 */
static int deliver_pass(struct deliver *d, struct errmsg *err)
{
	int rc;

	if (d->read <= d->settled)
		return 0;
	rc = store_sink_settle(d->store, d->ops->name, d->read, NULL, 0, err);
	if (rc == 0)
		d->settled = d->read;
	return rc;
}

/* Marks refused items to be sent again, because the sink counts as down. */
static void deliver_retry_refused(struct deliver *d)
{
	size_t i;

	for (i = 0; i < d->window.n; i++)
		if (d->window.result[i] == SINK_REFUSED)
			d->window.result[i] = SINK_RETRY;
}

/* --- a round ------------------------------------------------------------------------------------ */

static int deliver_open_sink(struct deliver *d, uint64_t now_ns)
{
	struct errmsg err = { 0 };
	int rc = d->ops->open(d->settings, &d->sink, &err);

	if (rc < 0) {
		d->sink = NULL;
		deliver_failed(d, now_ns, "open", err.text[0] ? err.text : strerror(-rc));
	}
	return rc;
}

struct deliver_round {
	struct errmsg sink_err, store_err;
	int rc;		  /* result of the sink's deliver() */
	int settled;	  /* number of items settled, or the store's error */
	bool is_refusing; /* the sink refused all items of the window */
	bool is_open;	  /* items were refused and none acknowledged, but some are still SINK_SENT */
};

/*
 * Passes the window to the sink and notes in the store what the sink took. If the store could not note the
 * last results, only notes them again: a sink that gets the same records twice may write them twice.
 */
static void deliver_serve(struct deliver *d, uint64_t timeout_ns, struct deliver_round *r)
{
	struct window *w = &d->window;
	size_t refused, acked;

	if (!d->is_unsettled) {
		r->rc = window_deliver(w, d->sink, timeout_ns, &r->sink_err);
		refused = window_count(w, SINK_REFUSED);
		acked = window_count(w, SINK_ACKED);
		r->is_refusing = refused && refused == w->n;
		r->is_open = r->rc == 0 && refused && !acked && window_count(w, SINK_SENT) > 0;
		if (!acked)
			return; /* refused items are settled only beside one that was taken */
	}
	r->settled = deliver_settle(d, &r->store_err);
}

/* Reads more rows, and returns true if there were any. */
static bool deliver_may_look_further(struct deliver *d)
{
	size_t before = d->window.n;
	struct errmsg err = { 0 };

	return deliver_fill_window(d, &err) == 0 && d->window.n > before;
}

static void deliver_note_refusing(struct deliver *d, uint64_t now_ns)
{
	char reason[sizeof(struct errmsg) + 64];

	(void)snprintf(reason, sizeof(reason), "the sink refuses all of %zu records: %s", d->window.n,
		       sink_why(&d->window.item[d->window.n - 1]));
	deliver_retry_refused(d);
	deliver_failed(d, now_ns, "deliver", reason);
}

int deliver_run(struct deliver *d, uint64_t now_mono_ns, uint64_t timeout_ns)
{
	struct deliver_round r = { 0 };
	uint64_t start_ns;

	if (now_mono_ns < d->stats.next_try_mono_ns)
		return 0;
	if (!d->sink && deliver_open_sink(d, now_mono_ns) < 0)
		return 0;
	if (deliver_fill_window(d, &r.store_err) < 0) {
		deliver_failed(d, now_mono_ns, "read the store", r.store_err.text);
		return 0;
	}
	if (!d->window.n) {
		(void)deliver_pass(d, NULL);
		return 0;
	}
	start_ns = clock_mono_ns();
	do
		deliver_serve(d, timeout_ns, &r);
	while (clock_mono_ns() - start_ns < timeout_ns &&
	       (r.is_open || (r.is_refusing && deliver_may_look_further(d))));
	now_mono_ns += clock_mono_ns() - start_ns; /* a pause begins when the try has ended */
	if (r.settled < 0)
		/* the store has logged its error; the next round settles the same items */
		deliver_failed(d, now_mono_ns, "note the result in the store", r.store_err.text);
	else if (r.is_refusing)
		deliver_note_refusing(d, now_mono_ns);
	else if (!r.settled)
		deliver_failed(d, now_mono_ns, "deliver", r.sink_err.text);
	else if (r.rc == 0)
		deliver_succeeded(d, now_mono_ns);
	/* else the sink took some items before it failed; the next round shows whether it is down */
	return r.settled < 0 ? 0 : r.settled;
}

/* Waits for acknowledgements of sent items, so that the next process need not send them again. */
static void deliver_drain(struct deliver *d)
{
	struct deliver_round r = { 0 };
	struct window *w = &d->window;
	size_t i;

	for (i = 0; i < w->n && w->result[i] != SINK_RETRY; i++)
		;
	if (!i)
		return;
	if (i < w->n)
		d->read = w->row[i] - 1;
	window_cut(w, i);
	deliver_serve(d, DRAIN_NS, &r);
}

/* --- one sink ----------------------------------------------------------------------------------- */

void deliver_get_stats(const struct deliver *d, struct deliver_stats *ret)
{
	*ret = d->stats;
}

static int deliver_go_to_cursor(struct deliver *d, struct errmsg *err)
{
	int rc = store_view_open(d->store_dir, /* writable= */ false, &d->view, err);

	if (rc == 0)
		rc = store_view_cursor(d->view, d->ops->name, &d->read, err);
	d->settled = d->read;
	return rc;
}

int deliver_create(struct store *store, const char *store_dir, const struct sink_ops *ops,
		   const struct settings *s, struct deliver **ret, struct errmsg *err)
{
	struct deliver *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return errmsg_set(err, -ENOMEM, "%s: out of memory", ops->name);
	d->store = store;
	d->store_dir = store_dir;
	d->ops = ops;
	d->settings = s;
	d->random = (uint32_t)clock_wall_ns() | 1; /* not 0, from which xorshift gives only 0 */
	d->refusal = calloc(ops->max_batch, sizeof(*d->refusal));
	rc = window_init(&d->window, ops, err);
	if (rc == 0 && !d->refusal)
		rc = errmsg_set(err, -ENOMEM, "%s: out of memory", ops->name);
	if (rc == 0)
		rc = deliver_go_to_cursor(d, err);
	if (rc < 0) {
		deliver_destroy(d);
		return rc;
	}
	(void)deliver_open_sink(d, clock_mono_ns());
	*ret = d;
	return 0;
}

void deliver_destroy(struct deliver *d)
{
	if (!d)
		return;
	if (d->sink) {
		deliver_drain(d);
		d->ops->close(d->sink);
	}
	window_fini(&d->window);
	store_view_close(d->view);
	free(d->refusal);
	free(d);
}
