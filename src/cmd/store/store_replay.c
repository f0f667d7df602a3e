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
#include "src/libsink/window.h"
#include "src/libutil/clock.h"
#include "src/libutil/rfc3339.h"

#define TIMEOUT_NS (60 * NSEC_PER_SEC)
#define NAP_NS (NSEC_PER_SEC / 2)

struct replay {
	const struct sink_ops *ops;
	struct sink *sink;
	struct store_view *view; /* NULL: records are from a file */
	bool has_refused;	 /* the store has records that this sink refused */
	uint64_t timeout_ns;
	bool gave_up; /* there was no progress for timeout_ns; the rest is only counted */
	uint64_t acked, refused, left;
	struct window window;
	uint64_t last; /* number of the last row that was read */
	struct errmsg err;
};

/* --- delivery ------------------------------------------------------------------------------------- */

static int replay_note_settled(void *ctx, const struct window *w, size_t i)
{
	const struct sink_item *item = &w->item[i];
	struct replay *r = ctx;
	int rc = 0;

	if (w->result[i] == SINK_REFUSED) {
		r->refused++;
		(void)cmd_error("%s refuses %.*s: %s", r->ops->name, (int)item->key_len, item->key,
				sink_why(item));
		return 0;
	}
	if (item->is_partial)
		(void)cmd_error("%s takes records only in part: %s", r->ops->name, sink_why(item));
	if (r->has_refused)
		rc = store_view_refused_drop(r->view, r->ops->name, w->row[i], &r->err);
	r->acked += rc == 0;
	return rc;
}

/* Delivers until at most MOST records are in the window, or there was no progress for timeout_ns. */
static void replay_deliver(struct replay *r, size_t most)
{
	const struct timespec nap = clock_ns_to_timespec(NAP_NS);
	uint64_t progress_ns = clock_mono_ns();
	int rc;

	while (r->window.n > most && !r->gave_up) {
		(void)window_deliver(&r->window, r->sink, WINDOW_TIMEOUT_NS, &r->err);
		rc = window_settle(&r->window, r->window.n, replay_note_settled, r);
		if (rc > 0)
			progress_ns = clock_mono_ns();
		else if (rc < 0 || clock_mono_ns() - progress_ns >= r->timeout_ns)
			r->gave_up = true;
		else
			(void)nanosleep(&nap, NULL);
	}
}

/* -ECANCELED: the window has no room for the row. */
static int replay_add(void *ctx, const struct store_row *row)
{
	struct replay *r = ctx;
	int rc = 0;

	if (r->gave_up)
		r->left++;
	else if (window_has_room(&r->window, row))
		rc = window_add(&r->window, row, &r->err);
	else
		return -ECANCELED;
	if (rc == 0)
		r->last = row->seq;
	return rc;
}

/* --- where they come from ------------------------------------------------------------------------- */

/* Reads and delivers in turn, so that no transaction is open while the sink works. */
static int replay_store(struct replay *r, struct store_pick pick)
{
	int rc;

	pick.kinds = (pick.kinds ? pick.kinds : UINT32_MAX) & r->ops->kinds;
	if (!pick.kinds)
		return 0;
	do {
		rc = store_view_records(r->view, &pick, replay_add, r, &r->err);
		if (rc < 0 && rc != -ECANCELED)
			return rc;
		pick.after = r->last;
		replay_deliver(r, rc ? r->window.n - 1 : 0);
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
			while ((rc = replay_add(r, &row)) == -ECANCELED)
				replay_deliver(r, r->window.n - 1);
		}
	}
	if (rc == 0)
		replay_deliver(r, 0);
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
	rc = window_init(&r->window, r->ops, err);
	return rc < 0 ? rc : r->ops->open(&a->settings, &r->sink, err);
}

static void replay_close(struct replay *r)
{
	if (r->sink)
		r->ops->close(r->sink);
	window_fini(&r->window);
	store_view_close(r->view);
}

int store_replay(struct store_args *a)
{
	struct replay r = { .timeout_ns = a->timeout_ns };
	FILE *f = NULL;
	int rc = replay_open(&r, a, &f);

	if (rc == 0) {
		rc = f ? replay_lines(&r, a, f) : replay_store(&r, a->pick);
		r.left += r.window.n;
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
