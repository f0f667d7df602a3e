/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/spool_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "src/cmd/cmd.h"
#include "src/librecord/record.h"
#include "src/libsink/deadletter.h"
#include "src/libsink/spool_view.h"
#include "src/libutil/clock.h"

#define BATCH_BYTES (UINT64_C(4) << 20)
#define TRY_NS (3 * NSEC_PER_SEC)
#define NAP_NS (NSEC_PER_SEC / 2)

int replay_open(struct replay *r, const struct settings *s, struct errmsg *err)
{
	r->item = calloc(r->ops->max_batch, sizeof(*r->item));
	r->result = calloc(r->ops->max_batch, sizeof(*r->result));
	if (!r->item || !r->result)
		return errmsg_set(err, -ENOMEM, "out of memory");
	return r->ops->open(s, &r->sink, err);
}

static void clear_item(struct sink_item *i)
{
	free((void *)(uintptr_t)i->key); /* with the JSON behind it */
	free(i->why);
	*i = (struct sink_item){ 0 };
}

static void drop_batch(struct replay *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		clear_item(&r->item[i]);
	r->n = r->bytes = 0;
}

void replay_close(struct replay *r)
{
	if (r->sink)
		r->ops->close(r->sink);
	drop_batch(r);
	free(r->item);
	free(r->result);
}

static int note_refused(struct replay *r, const struct sink_item *item, struct errmsg *err)
{
	int rc;

	if (r->keep_refused) {
		rc = deadletter_write(r->dir, r->ops->name,
				      &(struct deadletter){ item, sink_why(item) }, 1, err);
		r->refused += rc == 0;
		return rc;
	}
	r->refused++;
	(void)cmd_error("%s refuses %.*s: %s", r->ops->name, (int)item->key_len, item->key,
			sink_why(item));
	return 0;
}

/* Takes what is settled out of the batch, in order. Returns how many, or -errno. */
static int settle(struct replay *r, struct errmsg *err)
{
	size_t kept = 0;
	size_t i;
	int rc = 0;

	sink_keep_order(r->item, r->n, r->result);
	for (i = 0; i < r->n; i++) {
		if (r->result[i] == SINK_REFUSED && rc == 0)
			rc = note_refused(r, &r->item[i], err);
		if (r->result[i] < SINK_ACKED || (r->result[i] == SINK_REFUSED && rc < 0)) {
			r->result[kept] = r->result[i];
			r->item[kept++] = r->item[i];
			continue;
		}
		r->acked += r->result[i] == SINK_ACKED;
		r->bytes -= r->item[i].key_len + r->item[i].json_len;
		clear_item(&r->item[i]);
	}
	i = r->n - kept;
	r->n = kept;
	return rc < 0 ? rc : (int)i;
}

int replay_flush(struct replay *r, struct errmsg *err)
{
	uint64_t last_progress_ns = clock_mono_ns();
	size_t i;
	int rc;

	if (!r->n)
		return 0;
	for (i = 0; i < r->n; i++)
		r->result[i] = SINK_RETRY;
	while (r->n && !r->gave_up) {
		struct timespec nap = clock_ns_to_timespec(NAP_NS);

		if (err)
			err->text[0] = '\0';
		(void)r->ops->deliver(r->sink, r->item, r->n, r->result, TRY_NS, err);
		rc = settle(r, err);
		if (rc > 0)
			last_progress_ns = clock_mono_ns();
		else if (rc < 0 || clock_mono_ns() - last_progress_ns >= r->timeout_ns)
			r->gave_up = true;
		else
			(void)nanosleep(&nap, NULL);
	}
	r->flushed += !r->n;
	return r->n ? -EAGAIN : 0;
}

int replay_add(struct replay *r, enum spool_kind kind, const char *key, size_t key_len,
	       const char *json, size_t len, struct errmsg *err)
{
	struct sink_item *item;
	char *copy;

	if (!(r->ops->kinds & SPOOL_MASK(kind)))
		return 0; /* not for this sink */
	if (r->n && (r->n == r->ops->max_batch || r->bytes + key_len + len > BATCH_BYTES))
		(void)replay_flush(r, err);
	if (r->gave_up) {
		r->left++;
		return -EAGAIN;
	}
	copy = malloc(key_len + len + 1);
	if (!copy)
		return errmsg_set(err, -ENOMEM, "out of memory");
	memcpy(copy, key, key_len);
	memcpy(copy + key_len, json, len);
	item = &r->item[r->n];
	*item = (struct sink_item){ .kind = kind,
				    .key = copy,
				    .key_len = key_len,
				    .json = copy + key_len,
				    .json_len = len,
				    .seq = r->n++ };
	r->bytes += key_len + len;
	return 0;
}

/* At the end of a source: counts what is in the batch as left. */
static int finish(struct replay *r, int rc, struct errmsg *err)
{
	if (rc == 0 || rc == -EAGAIN)
		rc = replay_flush(r, err);
	r->left += r->n;
	drop_batch(r);
	return rc;
}

int replay_segments(struct replay *r, const struct spool_pick *pick, struct errmsg *err)
{
	struct spool_view *v = NULL;
	struct errmsg read_err = { 0 };
	struct spool_entry e;
	int rc = spool_view_open(r->dir, &v, err);
	int add = 0;

	if (rc < 0)
		return rc;
	spool_view_seek(v, &pick->from);
	while ((add == 0 || add == -EAGAIN) && (rc = spool_view_read(v, &e, &read_err)) > 0)
		if (spool_pick_takes(pick, e.kind, e.key, e.key_len, e.data, e.len))
			add = replay_add(r, e.kind, e.key, e.key_len, e.data, e.len, err);
	spool_view_close(v);
	add = finish(r, add, err);
	if (add == 0 && rc < 0)
		return errmsg_set(err, rc, "%s", read_err.text);
	return add;
}

int replay_lines(struct replay *r, FILE *f, const struct spool_pick *pick, struct errmsg *err)
{
	_cleanup_free_ char *line = NULL;
	char key[RECORD_KEY_MAX + 24];
	enum spool_kind kind;
	uint64_t number = 0;
	uint64_t bad = 0;
	size_t room = 0;
	ssize_t len;
	int rc = 0;

	while ((rc == 0 || rc == -EAGAIN) && (len = getline(&line, &room, f)) >= 0) {
		number++;
		while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			len--;
		if (!len)
			continue;
		if (!spool_pick_identify(line, (size_t)len, &kind, key, sizeof(key))) {
			if (!bad++)
				(void)cmd_error("line %" PRIu64 " is no record; passed over", number);
			continue;
		}
		if (spool_pick_takes(pick, kind, key, strlen(key), line, (size_t)len))
			rc = replay_add(r, kind, key, strlen(key), line, (size_t)len, err);
	}
	rc = finish(r, rc, err);
	if (rc == 0 && ferror(f))
		return errmsg_errno(err, -EIO, "cannot read the file");
	if (bad)
		(void)cmd_error("%" PRIu64 " lines were no records", bad);
	return rc == 0 && bad ? errmsg_set(err, -EINVAL, "not all lines are records") : rc;
}
