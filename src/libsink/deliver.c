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
/* Of keys and records in one batch; a single larger record still goes, alone. */
#define BATCH_BYTES (UINT64_C(4) << 20)

struct deliver {
	struct spool *spool;
	struct spool_cursor *cursor;
	const struct sink_ops *ops;
	struct sink *sink; /* NULL: could not be opened yet */
	struct settings settings;
	struct deliver_stats stats;
	uint64_t backoff_ns;
	uint64_t down_since_ns;
	uint64_t tries; /* of this outage */
	uint32_t random;
	/* the batch: texts are copies, offsets until all are read as the memory may move */
	struct sink_item *item;
	struct spool_pos *next; /* position behind each item */
	enum sink_result *result;
	size_t n;
	char *text;
	size_t text_room;
	size_t text_len;
	struct spool_pos end; /* behind everything read, other kinds too */
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

/* --- the batch --------------------------------------------------------------------------- */

static int keep_text(struct deliver *d, const struct spool_entry *e)
{
	size_t need = d->text_len + e->key_len + e->len;

	if (need > d->text_room) {
		size_t room = need > 2 * d->text_room ? need : 2 * d->text_room;
		char *text = realloc(d->text, room);

		if (!text)
			return -ENOMEM;
		d->text = text;
		d->text_room = room;
	}
	memcpy(d->text + d->text_len, e->key, e->key_len);
	memcpy(d->text + d->text_len + e->key_len, e->data, e->len);
	d->text_len = need;
	return 0;
}

static int read_batch(struct deliver *d, struct errmsg *err)
{
	struct spool_entry e;
	bool has_passed = false;
	size_t used = 0;
	size_t i;
	int rc = 0;

	d->n = 0;
	d->text_len = 0;
	spool_rewind(d->cursor);
	while (d->n < d->ops->max_batch && d->text_len < BATCH_BYTES) {
		rc = spool_read(d->cursor, &e, err);
		if (rc <= 0) {
			if (d->n)
				rc = 0; /* first what could be read; the error comes again */
			else if (rc == 0 && has_passed)
				rc = -EAGAIN; /* nothing to send, but something to acknowledge */
			break;
		}
		d->end = e.next;
		if (!(d->ops->kinds & SPOOL_MASK(e.kind))) {
			has_passed = true;
			continue;
		}
		rc = keep_text(d, &e);
		if (rc < 0)
			return errmsg_set(err, rc, "out of memory");
		d->item[d->n].kind = e.kind;
		d->item[d->n].key_len = e.key_len;
		d->item[d->n].json_len = e.len;
		d->next[d->n++] = e.next;
	}
	for (i = 0; i < d->n; i++) {
		d->item[i].key = d->text + used;
		used += d->item[i].key_len;
		d->item[i].json = d->text + used;
		used += d->item[i].json_len;
		d->result[i] = SINK_RETRY;
	}
	return rc;
}

/*
 * Acknowledges the batch up to the first item that must be tried again. What comes behind it is
 * sent again with it, in order; its key makes that harmless.
 */
static int settle(struct deliver *d, const char *reason, struct errmsg *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < d->n && d->result[i] != SINK_RETRY; i++) {
		if (d->result[i] == SINK_ACKED) {
			d->stats.acked++;
			continue;
		}
		rc = deadletter_write(spool_dir(d->spool), d->ops->name, &d->item[i], reason,
				      err);
		if (rc < 0)
			break; /* not set aside: it stays */
		note_refusal(d, &d->item[i], reason);
	}
	if (i) {
		struct errmsg ack_err = { 0 };

		if (spool_ack(d->cursor, i == d->n ? &d->end : &d->next[i - 1], &ack_err) < 0)
			logger_debug("ceems: %s: %s; the next start may repeat records",
				     d->ops->name, ack_err.text);
	}
	return rc < 0 ? rc : (int)i;
}

static int try_open(struct deliver *d, uint64_t now_ns)
{
	struct errmsg err = { 0 };
	int rc = d->ops->open(&d->settings, &d->sink, &err);

	if (rc < 0) {
		d->sink = NULL;
		note_failure(d, now_ns, "open", err.text[0] ? err.text : strerror(-rc));
	}
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
	rc = read_batch(d, &err);
	if (rc < 0 && rc != -EAGAIN) {
		note_failure(d, now_mono_ns, "read the spool", err.text);
		return 0;
	}
	if (!d->n) {
		if (rc == -EAGAIN)
			(void)spool_ack(d->cursor, &d->end, NULL);
		return 0;
	}
	start_ns = clock_mono_ns();
	rc = d->ops->deliver(d->sink, d->item, d->n, d->result, timeout_ns, &err);
	now_mono_ns += clock_mono_ns() - start_ns; /* a pause is one behind a try */
	if (!err.text[0])
		(void)errmsg_set(&err, rc, "%s", rc < 0 ? strerror(-rc) : "no reason given");
	settled = settle(d, err.text, &dead_err);
	if (settled < 0)
		note_failure(d, now_mono_ns, "set a refused record aside", dead_err.text);
	else if (!settled)
		note_failure(d, now_mono_ns, "deliver", err.text);
	else if (rc == 0)
		note_success(d, now_mono_ns);
	/* else: some went through, the next round tells whether that was the end of it */
	return settled < 0 ? 0 : settled;
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
	d->settings = *s;
	d->random = (uint32_t)clock_wall_ns() | 1; /* xorshift has no way out of 0 */
	d->item = calloc(ops->max_batch, sizeof(*d->item));
	d->next = calloc(ops->max_batch, sizeof(*d->next));
	d->result = calloc(ops->max_batch, sizeof(*d->result));
	if (!d->item || !d->next || !d->result)
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
	if (d->sink)
		d->ops->close(d->sink);
	spool_cursor_close(d->cursor);
	free(d->item);
	free(d->next);
	free(d->result);
	free(d->text);
	free(d);
}
