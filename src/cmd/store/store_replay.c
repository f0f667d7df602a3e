/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_replay.c - ceems store replay: delivers records again. It may run beside the recorder,
 * since a record's key makes a repeat harmless. If root starts it, it switches to the owner of
 * StoreDir, so that no file there belongs to root.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "src/cmd/cmd.h"
#include "src/cmd/store/store_cmd.h"
#include "src/librecord/record.h"
#include "src/libsink/sink.h"
#include "src/libutil/clock.h"
#include "src/libutil/rfc3339.h"

#define BATCH_BYTES ((size_t)4 << 20)
#define TIMEOUT_NS (60 * NSEC_PER_SEC)
#define TRY_NS (3 * NSEC_PER_SEC)
#define NAP_NS (NSEC_PER_SEC / 2)

struct replay {
	const struct sink_ops *ops;
	struct sink *sink;
	struct store_view *view; /* NULL: records are from a file */
	bool has_refused;	 /* the store has records that this sink refused */
	uint64_t timeout_ns;
	bool gave_up; /* there was no progress for timeout_ns; the rest is only counted */
	uint64_t acked, refused, left;
	/* the batch: records that were read and are not settled */
	struct sink_item *item;
	uint64_t *row; /* number of each item's row in the store */
	uint64_t last; /* number of the last row that was read */
	enum sink_result *result;
	size_t n, bytes;
	struct errmsg err;
};

/* --- the batch ------------------------------------------------------------------------------------ */

static void replay_clear_item(struct sink_item *i)
{
	free((void *)(uintptr_t)i->key); /* the JSON is in the same memory block */
	free(i->why);
	*i = (struct sink_item){ 0 };
}

static int replay_note_acked(struct replay *r, size_t i)
{
	r->acked++;
	return r->has_refused ? store_view_refused_drop(r->view, r->ops->name, r->row[i], &r->err) : 0;
}

static void replay_note_refused(struct replay *r, const struct sink_item *item)
{
	r->refused++;
	(void)cmd_error("%s refuses %.*s: %s", r->ops->name, (int)item->key_len, item->key, sink_why(item));
}

/* Removes records that are delivered or refused from the batch. Returns more than 0 if there were any. */
static int replay_settle(struct replay *r)
{
	size_t before = r->n;
	size_t kept = 0;
	size_t i;
	int rc = 0;

	sink_keep_order(r->item, r->n, r->result);
	for (i = 0; i < r->n; i++) {
		if (r->result[i] < SINK_ACKED || rc < 0) {
			r->result[kept] = r->result[i];
			r->row[kept] = r->row[i];
			r->item[kept++] = r->item[i];
			continue;
		}
		if (r->result[i] == SINK_ACKED)
			rc = replay_note_acked(r, i);
		else
			replay_note_refused(r, &r->item[i]);
		r->bytes -= r->item[i].key_len + r->item[i].json_len;
		replay_clear_item(&r->item[i]);
	}
	r->n = kept;
	return rc < 0 ? rc : (int)(before - kept);
}

static int replay_flush(struct replay *r)
{
	uint64_t progress_ns = clock_mono_ns();
	size_t i;
	int rc;

	for (i = 0; i < r->n; i++)
		r->result[i] = SINK_RETRY;
	while (r->n && !r->gave_up) {
		struct timespec nap = clock_ns_to_timespec(NAP_NS);

		r->err.text[0] = '\0';
		(void)r->ops->deliver(r->sink, r->item, r->n, r->result, TRY_NS, &r->err);
		rc = replay_settle(r);
		if (rc > 0)
			progress_ns = clock_mono_ns();
		else if (rc < 0 || clock_mono_ns() - progress_ns >= r->timeout_ns)
			r->gave_up = true;
		else
			(void)nanosleep(&nap, NULL);
	}
	return r->n ? -EAGAIN : 0;
}

static bool replay_has_room(const struct replay *r, const struct store_row *row)
{
	return !r->n || (r->n < r->ops->max_batch && r->bytes + row->key_len + row->json_len <= BATCH_BYTES);
}

static int replay_add(struct replay *r, const struct store_row *row)
{
	char *copy;

	if (r->gave_up) {
		r->left++;
		return 0;
	}
	copy = malloc(row->key_len + row->json_len + 1);
	if (!copy)
		return errmsg_set(&r->err, -ENOMEM, "out of memory");
	memcpy(copy, row->key, row->key_len);
	memcpy(copy + row->key_len, row->json, row->json_len);
	r->row[r->n] = row->seq;
	r->item[r->n] = (struct sink_item){ .kind = row->kind,
					    .key = copy,
					    .key_len = row->key_len,
					    .json = copy + row->key_len,
					    .json_len = row->json_len,
					    .seq = r->n };
	r->n++;
	r->bytes += row->key_len + row->json_len;
	return 0;
}

/* --- where they come from ------------------------------------------------------------------------- */

static int replay_add_row(void *ctx, const struct store_row *row)
{
	struct replay *r = ctx;
	int rc;

	if (!r->gave_up && !replay_has_room(r, row))
		return -ECANCELED; /* the row belongs to the next batch */
	rc = replay_add(r, row);
	if (rc == 0)
		r->last = row->seq;
	return rc;
}

/* Reads and delivers one batch at a time, so that no transaction is open while the sink works. */
static int replay_store(struct replay *r, struct store_pick pick)
{
	int rc;

	pick.kinds = (pick.kinds ? pick.kinds : UINT32_MAX) & r->ops->kinds;
	if (!pick.kinds)
		return 0;
	pick.max_rows = r->ops->max_batch;
	pick.max_bytes = BATCH_BYTES;
	do {
		rc = store_view_records(r->view, &pick, replay_add_row, r, &r->err);
		pick.after = r->last;
		if (rc < 0 && rc != -ECANCELED)
			return rc;
		if (!r->gave_up)
			(void)replay_flush(r);
	} while (rc);
	return 0;
}

/*
 * Finds in a line of a file what replay must know of the record: its kind and key, the job's id, and when the
 * job ended (0: unknown). False: the line is no record.
 */
static bool replay_identify(const char *json, size_t len, struct store_row *ret, char *key, size_t size,
			    uint64_t *ret_job, uint64_t *ret_end)
{
	static const struct {
		const char *schema;
		enum store_kind kind;
	} known[] = { { RECORD_SCHEMA, STORE_RECORD },
		      { RECORD_STEPS_SCHEMA, STORE_STEPS },
		      { RECORD_START_SCHEMA, STORE_START } };
	json_t *o = json_loadb(json, len, JSON_REJECT_DUPLICATES, NULL);
	const char *schema = json_string_value(json_object_get(o, "schema"));
	const char *text = json_string_value(json_object_get(o, "key"));
	const char *end = json_string_value(json_object_get(o, "@end"));
	bool found = false;
	size_t i;

	for (i = 0; schema && text && i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].schema, schema) || strlen(text) >= size)
			continue;
		(void)snprintf(key, size, "%s", text);
		*ret = (struct store_row){ .kind = known[i].kind,
					   .key = key,
					   .key_len = strlen(key),
					   .json = json,
					   .json_len = len };
		found = true;
	}
	*ret_job = (uint64_t)json_integer_value(json_object_get(o, "jobid"));
	if (!end || rfc3339_parse(end, ret_end) < 0)
		*ret_end = 0;
	json_decref(o);
	return found;
}

/* Returns true if ROW is the record KEY, or one of the parts KEY#1, KEY#2 ... of a long record. */
static bool replay_is_of(const struct store_row *row, const char *key)
{
	size_t len = strlen(key);

	return row->key_len >= len && memcmp(row->key, key, len) == 0 &&
	       (row->key_len == len || row->key[len] == '#');
}

/* The last record of a job that was read, for its parts. */
struct replay_whole {
	char key[RECORD_KEY_MAX];
	bool in_time;
};

/*
 * Returns true if the job of ROW ended since SINCE. A part has no end. It comes behind its
 * record, and is taken with it.
 */
static bool replay_in_time(const struct store_row *row, uint64_t end, uint64_t since,
			   struct replay_whole *whole)
{
	bool in_time = !end || end >= since;

	if (row->kind == STORE_STEPS)
		return !since || (whole->in_time && replay_is_of(row, whole->key));
	if (row->kind == STORE_RECORD) {
		(void)snprintf(whole->key, sizeof(whole->key), "%.*s", (int)row->key_len, row->key);
		whole->in_time = in_time;
	}
	return in_time;
}

static bool replay_takes(const struct store_pick *p, const struct store_row *row, uint64_t job)
{
	return (!p->kinds || p->kinds & STORE_MASK(row->kind)) && (!p->key || replay_is_of(row, p->key)) &&
	       (!p->job_id || p->job_id == job);
}

static int replay_lines(struct replay *r, const struct store_args *a, FILE *f)
{
	_cleanup_free_ char *line = NULL;
	char key[RECORD_KEY_MAX + 24];
	struct replay_whole whole = { 0 };
	struct store_row row;
	uint64_t job, end;
	uint64_t number = 0;
	uint64_t bad = 0;
	size_t room = 0;
	ssize_t len;
	int rc = 0;

	while (rc == 0 && (len = getline(&line, &room, f)) >= 0) {
		number++;
		while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			len--;
		if (!len)
			continue;
		if (!replay_identify(line, (size_t)len, &row, key, sizeof(key), &job, &end)) {
			if (!bad++)
				(void)cmd_error("line %" PRIu64 " is not a record; it is skipped", number);
		} else if (replay_in_time(&row, end, a->since, &whole) &&
			   r->ops->kinds & STORE_MASK(row.kind) && replay_takes(&a->pick, &row, job)) {
			if (!r->gave_up && !replay_has_room(r, &row))
				(void)replay_flush(r);
			rc = replay_add(r, &row);
		}
	}
	if (rc == 0)
		(void)replay_flush(r);
	if (rc == 0 && ferror(f))
		return errmsg_errno(&r->err, -EIO, "cannot read the file");
	if (bad)
		return errmsg_set(&r->err, -EINVAL, "%" PRIu64 " lines were no records", bad);
	return rc;
}

/* --- the command ---------------------------------------------------------------------------------- */

/*
 * Opens the store for writing, because a refused record that the sink now accepts is removed from the refused
 * records.
 */
static int replay_open_store(struct replay *r, const char *dir)
{
	struct store_sink_status status;
	int rc = store_view_open(dir, /* writable= */ true, &r->view, &r->err);

	if (rc == 0)
		rc = store_view_sink(r->view, r->ops->name, r->ops->kinds, &status, &r->err);
	if (rc == 0)
		r->has_refused = status.refused > 0;
	return rc;
}

static int replay_open(struct replay *r, struct store_args *a, FILE **ret_file)
{
	struct errmsg *err = &r->err;
	int rc;

	r->ops = sink_find(a->sink);
	if (!r->ops)
		return errmsg_set(err, -EINVAL, "this build has no sink '%s'", a->sink);
	if (r->ops == &sink_file && !a->output)
		return errmsg_set(err, -EINVAL, "replay file needs --output FILE");
	if (r->ops != &sink_file && a->output)
		return errmsg_set(err, -EINVAL, "--output is for the sink file");
	/* with --output, give up at once: unlike a broker, a file that cannot be written will stay so */
	if (!r->timeout_ns && !a->output)
		r->timeout_ns = TIMEOUT_NS;
	if (a->output)
		(void)snprintf(a->settings.record_file, sizeof(a->settings.record_file), "%s", a->output);
	if (a->file) {
		*ret_file = strcmp(a->file, "-") ? fopen(a->file, "re") : stdin;
		if (!*ret_file)
			return errmsg_errno(err, -errno, "%s: cannot open", a->file);
	}
	rc = store_become_owner(a->settings.store_dir, err);
	/* a file of records needs no store */
	if (rc == -ENOENT && a->file)
		rc = 0;
	if (rc == 0 && !a->file)
		rc = replay_open_store(r, a->settings.store_dir);
	if (rc < 0)
		return rc;
	r->item = calloc(r->ops->max_batch, sizeof(*r->item));
	r->row = calloc(r->ops->max_batch, sizeof(*r->row));
	r->result = calloc(r->ops->max_batch, sizeof(*r->result));
	if (!r->item || !r->row || !r->result)
		return errmsg_set(err, -ENOMEM, "out of memory");
	return r->ops->open(&a->settings, &r->sink, err);
}

static void replay_close(struct replay *r)
{
	size_t i;

	if (r->sink)
		r->ops->close(r->sink);
	for (i = 0; i < r->n; i++)
		replay_clear_item(&r->item[i]);
	store_view_close(r->view);
	free(r->item);
	free(r->row);
	free(r->result);
}

int store_replay(struct store_args *a)
{
	struct replay r = { .timeout_ns = a->timeout_ns };
	FILE *f = NULL;
	int rc = replay_open(&r, a, &f);

	if (rc == 0) {
		rc = f ? replay_lines(&r, a, f) : replay_store(&r, a->pick);
		r.left += r.n;
		printf("%s: %" PRIu64 " acked, %" PRIu64 " refused, %" PRIu64 " left\n", a->sink, r.acked,
		       r.refused, r.left);
		if (rc == 0 && r.left)
			rc = -EAGAIN;
	}
	if (rc < 0)
		rc = store_cmd_error(rc, &r.err);
	else
		rc = r.refused ? CMD_FAILED : CMD_OK;
	replay_close(&r);
	if (f && f != stdin)
		(void)fclose(f);
	return rc;
}
