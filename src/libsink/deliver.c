/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libsink/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libsink/deadletter.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define BACKOFF_MIN_NS NSEC_PER_SEC
#define BACKOFF_MAX_NS (60 * NSEC_PER_SEC)
#define BATCH_BYTES ((size_t)4 << 20) /* unless the sink says otherwise */
/* What is on its way when the sink is closed gets this long to arrive. */
#define DRAIN_NS (500 * NSEC_PER_MSEC)

struct deliver {
	struct spool *spool;
	struct spool_cursor *cursor;
	const struct sink_ops *ops;
	struct sink *sink; /* NULL: could not be opened yet */
	const struct settings *settings;
	struct deliver_stats stats;
	uint64_t backoff_ns;
	uint64_t down_since_ns;
	uint64_t tries; /* of this outage */
	uint32_t random;
	/*
	 * The window: what was read and is not settled, in order. Each key is the start of a block
	 * of its own that the record's text is in, too.
	 */
	struct sink_item *item;
	struct spool_pos *next; /* position behind each item */
	enum sink_result *result;
	struct deadletter *letter; /* room for a window of them */
	size_t n;
	size_t bytes;
	uint64_t seq;
	struct spool_entry held; /* read, but there was no memory for it */
	bool has_held;
	struct spool_pos end; /* behind everything read, other kinds too */
	bool has_passed;      /* END is behind what was acknowledged, by other kinds only */
};

/* --- outages ----------------------------------------------------------------------------- */

/* xorshift32: spreads daemons in time, nothing else depends on it. */
static uint32_t next_random(struct deliver *d)
{
	d->random ^= d->random << 13;
	d->random ^= d->random >> 17;
	d->random ^= d->random << 5;
	return d->random;
}

static void note_failure(struct deliver *d, uint64_t now_ns, const char *what,
			 const char *reason)
{
	if (!d->stats.is_down) {
		d->stats.is_down = true;
		d->down_since_ns = now_ns;
		d->tries = 0;
		d->backoff_ns = BACKOFF_MIN_NS;
		logger_error("ceems: %s: cannot %s: %s; records wait in %s", d->ops->name, what,
			     reason, spool_dir(d->spool));
	} else if (d->backoff_ns < BACKOFF_MAX_NS) {
		d->backoff_ns *= 2;
		if (d->backoff_ns > BACKOFF_MAX_NS)
			d->backoff_ns = BACKOFF_MAX_NS;
	}
	d->tries++;
	d->stats.retries++;
	d->stats.next_try_mono_ns =
		now_ns + d->backoff_ns - d->backoff_ns / 4 * (next_random(d) % 1024) / 1024;
	logger_debug("ceems: %s: try %" PRIu64 " failed: %s", d->ops->name, d->tries, reason);
}

static void note_success(struct deliver *d, uint64_t now_ns)
{
	if (!d->stats.is_down)
		return;
	d->stats.is_down = false;
	d->stats.next_try_mono_ns = 0;
	logger_info("ceems: %s: delivers again after %" PRIu64 " s and %" PRIu64
		    " failed tries", d->ops->name,
		    (now_ns - d->down_since_ns) / NSEC_PER_SEC, d->tries);
}

/* Each of a million refused records is in the file; the log has the 1st, 2nd, 4th ... */
static void note_refusal(struct deliver *d, const struct sink_item *item, const char *reason)
{
	d->stats.refused++;
	if (d->stats.refused & (d->stats.refused - 1))
		return;
	logger_error("ceems: %s: refuses record %.*s: %s; kept in %s/%s.dead (%" PRIu64
		     " so far)", d->ops->name, (int)item->key_len, item->key, reason,
		     spool_dir(d->spool), d->ops->name, d->stats.refused);
}

/* --- the window -------------------------------------------------------------------------- */

static size_t item_bytes(const struct sink_item *it)
{
	return it->key_len + it->json_len;
}

static int append_item(struct deliver *d, const struct spool_entry *e)
{
	struct sink_item *it = &d->item[d->n];
	char *text = malloc(e->key_len + e->len + 1); /* never of no bytes */

	if (!text)
		return -ENOMEM;
	memcpy(text, e->key, e->key_len);
	memcpy(text + e->key_len, e->data, e->len);
	*it = (struct sink_item){ .kind = e->kind,
				  .key = text,
				  .key_len = e->key_len,
				  .json = text + e->key_len,
				  .json_len = e->len,
				  .seq = d->seq++ };
	d->next[d->n] = e->next;
	d->result[d->n++] = SINK_RETRY;
	d->bytes += item_bytes(it);
	return 0;
}

static void free_item(struct sink_item *it)
{
	free((char *)(uintptr_t)it->key);
	free(it->why);
}

/* Settled: the first N. */
static void drop_items(struct deliver *d, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		d->bytes -= item_bytes(&d->item[i]);
		free_item(&d->item[i]);
	}
	d->n -= n;
	memmove(d->item, d->item + n, d->n * sizeof(*d->item));
	memmove(d->next, d->next + n, d->n * sizeof(*d->next));
	memmove(d->result, d->result + n, d->n * sizeof(*d->result));
}

/* 1: there is one more, 0: no, -errno. It stays held until it is in the window. */
static int next_entry(struct deliver *d, struct errmsg *err)
{
	int rc;

	if (d->has_held)
		return 1;
	rc = spool_read(d->cursor, &d->held, err);
	if (rc > 0) {
		d->has_held = true;
		d->end = d->held.next;
	}
	return rc;
}

static int fill_window(struct deliver *d, struct errmsg *err)
{
	size_t max = d->ops->max_bytes ? d->ops->max_bytes : BATCH_BYTES;
	int rc = 0;

	while (d->n < d->ops->max_batch && (!d->n || d->bytes < max)) {
		rc = next_entry(d, err);
		if (rc <= 0)
			break;
		if (d->held.kind > 31 || !(d->ops->kinds & SPOOL_MASK(d->held.kind))) {
			d->has_passed = true;
		} else {
			rc = append_item(d, &d->held);
			if (rc < 0) {
				(void)errmsg_set(err, rc, "out of memory");
				break;
			}
		}
		d->has_held = false;
	}
	/* first what could be read; the error comes again */
	return d->n ? 0 : rc;
}

static void acknowledge(struct deliver *d, const struct spool_pos *pos)
{
	struct errmsg err = { 0 };

	if (spool_ack(d->cursor, pos, &err) < 0)
		logger_debug("ceems: %s: %s; the next start may repeat records", d->ops->name,
			     err.text);
}

/*
 * Sets what is refused of the first N aside, with one sync. Returns how many of the N are settled: without
 * it, those before the first refused one.
 */
static size_t set_aside(struct deliver *d, size_t n, int *ret_rc, struct errmsg *err)
{
	size_t first = n;
	size_t letters = 0;
	size_t i;

	*ret_rc = 0;
	for (i = 0; i < n; i++) {
		if (d->result[i] != SINK_REFUSED)
			continue;
		if (!letters)
			first = i;
		d->letter[letters++] = (struct deadletter){ &d->item[i], sink_why(&d->item[i]) };
	}
	if (!letters)
		return n;
	*ret_rc = deadletter_write(spool_dir(d->spool), d->ops->name, d->letter, letters, err);
	if (*ret_rc < 0)
		return first;
	for (i = 0; i < letters; i++)
		note_refusal(d, d->letter[i].item, d->letter[i].reason);
	return n;
}

/*
 * Acknowledges the window up to the first item that is not settled. Returns how many went, or what
 * kept a refused one from being set aside.
 */
static int settle(struct deliver *d, struct errmsg *err)
{
	struct spool_pos pos;
	size_t done = 0;
	size_t i;
	int rc;

	sink_keep_order(d->item, d->n, d->result);
	while (done < d->n && d->result[done] >= SINK_ACKED)
		done++;
	done = set_aside(d, done, &rc, err);
	for (i = 0; i < done; i++)
		d->stats.acked += d->result[i] == SINK_ACKED;
	if (!done)
		return rc;
	pos = d->next[done - 1];
	drop_items(d, done);
	if (!d->n && !d->has_held) {
		pos = d->end;
		d->has_passed = false;
	}
	acknowledge(d, &pos);
	return rc < 0 ? rc : (int)done;
}

static int try_open(struct deliver *d, uint64_t now_ns)
{
	struct errmsg err = { 0 };
	int rc = d->ops->open(d->settings, &d->sink, &err);

	if (rc < 0) {
		d->sink = NULL;
		note_failure(d, now_ns, "open", err.text[0] ? err.text : strerror(-rc));
	}
	return rc;
}

/* Lets the sink work on the window; returns what it says, and how many went in *RET_SETTLED. */
static int serve(struct deliver *d, uint64_t timeout_ns, struct errmsg *err, int *ret_settled,
		 struct errmsg *dead_err)
{
	int rc = d->ops->deliver(d->sink, d->item, d->n, d->result, timeout_ns, err);

	if (!err->text[0])
		(void)errmsg_set(err, rc, "%s", rc < 0 ? strerror(-rc) : "no reason given");
	*ret_settled = settle(d, dead_err);
	return rc;
}

int deliver_run(struct deliver *d, uint64_t now_mono_ns, uint64_t timeout_ns)
{
	struct errmsg err = { 0 };
	struct errmsg dead_err = { 0 };
	uint64_t start_ns;
	int settled;
	int rc;

	if (now_mono_ns < d->stats.next_try_mono_ns)
		return 0;
	if (!d->sink && try_open(d, now_mono_ns) < 0)
		return 0;
	rc = fill_window(d, &err);
	if (rc < 0) {
		note_failure(d, now_mono_ns, "read the spool", err.text);
		return 0;
	}
	if (!d->n) {
		if (d->has_passed)
			acknowledge(d, &d->end);
		d->has_passed = false;
		return 0;
	}
	start_ns = clock_mono_ns();
	rc = serve(d, timeout_ns, &err, &settled, &dead_err);
	now_mono_ns += clock_mono_ns() - start_ns; /* a pause is one behind a try */
	if (settled < 0)
		note_failure(d, now_mono_ns, "set a refused record aside", dead_err.text);
	else if (!settled)
		note_failure(d, now_mono_ns, "deliver", err.text);
	else if (rc == 0)
		note_success(d, now_mono_ns);
	/* else: some went through, the next round tells whether that was the end of it */
	return settled < 0 ? 0 : settled;
}

/* What is on its way need not be sent again by the next process. */
static void drain(struct deliver *d)
{
	struct errmsg dead_err = { 0 };
	struct errmsg err = { 0 };
	int settled;
	size_t i;

	for (i = 0; i < d->n && d->result[i] != SINK_RETRY; i++)
		;
	if (!i)
		return;
	for (; d->n > i; d->n--)
		free_item(&d->item[d->n - 1]);
	d->has_held = true; /* END is not where the window ends any more */
	(void)serve(d, DRAIN_NS, &err, &settled, &dead_err);
}

void deliver_get_stats(const struct deliver *d, struct deliver_stats *ret)
{
	*ret = d->stats;
}

int deliver_create(struct spool *spool, const struct sink_ops *ops, const struct settings *s,
		   struct deliver **ret, struct errmsg *err)
{
	struct deliver *d = calloc(1, sizeof(*d));
	int rc = -ENOMEM;

	if (!d)
		return errmsg_set(err, rc, "%s: out of memory", ops->name);
	d->spool = spool;
	d->ops = ops;
	d->settings = s;
	d->random = (uint32_t)clock_wall_ns() | 1; /* xorshift has no way out of 0 */
	d->item = calloc(ops->max_batch, sizeof(*d->item));
	d->next = calloc(ops->max_batch, sizeof(*d->next));
	d->result = calloc(ops->max_batch, sizeof(*d->result));
	d->letter = calloc(ops->max_batch, sizeof(*d->letter));
	if (!d->item || !d->next || !d->result || !d->letter)
		rc = errmsg_set(err, rc, "%s: out of memory", ops->name);
	else
		rc = spool_cursor_open(spool, ops->name, &d->cursor, err);
	if (rc < 0) {
		deliver_destroy(d);
		return rc;
	}
	(void)try_open(d, clock_mono_ns());
	*ret = d;
	return 0;
}

void deliver_destroy(struct deliver *d)
{
	if (!d)
		return;
	if (d->sink) {
		drain(d);
		d->ops->close(d->sink);
	}
	if (d->n)
		drop_items(d, d->n);
	spool_cursor_close(d->cursor);
	free(d->item);
	free(d->next);
	free(d->result);
	free(d->letter);
	free(d);
}
