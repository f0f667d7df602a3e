/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "recorder/job_record.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define BATCH 256 /* entries per transaction */
#define RETRY_NS (1 * NSEC_PER_SEC)

/* Names in the store's table `meta`. */
#define META_SITE "site"
#define META_KNOWN_END "known_end"
#define META_HOOK "hook"

static struct logger_once trouble;

int recorder_inbox_load(struct recorder *r, struct errmsg *err)
{
	bool found;
	int rc = store_begin_read(r->store, err);

	if (rc < 0)
		return rc;
	rc = recorder_load_meta(r, STORE_META_INBOX, &r->taken, sizeof(r->taken), &found, err);
	if (rc == 0)
		rc = recorder_load_meta(r, META_SITE, &r->site, sizeof(r->site), &r->has_site, err);
	if (rc == 0)
		rc = recorder_load_meta(r, META_KNOWN_END, &r->known_end, sizeof(r->known_end), &found, err);
	if (rc == 0)
		rc = recorder_load_meta(r, META_HOOK, &r->hook, sizeof(r->hook), &found, err);
	if (rc == 0)
		rc = recorder_defaults_load(r, err);
	if (rc == 0)
		rc = recorder_reconcile_load(r, err);
	store_rollback(r->store);
	return rc;
}

/*
 * Takes a job's end. A slurmctld that was killed may report an end again after its restart,
 * unchanged or not.
 */
static int inbox_take_end(struct recorder *r, const struct job_facts *facts, size_t len, bool key_only,
			  struct errmsg *err)
{
	struct store_job known;
	char key[RECORD_KEY_MAX];
	int rc = job_record_key(facts, len, r->site.cluster, key, sizeof(key));

	if (rc < 0) {
		logger_error("ceems: InboxDir has an entry that is not a valid job end; it is skipped");
		return 0;
	}
	rc = store_job_get(r->store, key, &known, err);
	if (rc > 0 && known.ended == facts->end && (key_only || known.state != STORE_JOB_ENDED))
		return 0;
	if (rc < 0)
		return rc;
	if (facts->end > r->known_end && facts->end <= r->wall_s())
		r->known_end = facts->end;
	return recorder_put_job(r, key, facts, len, err);
}

static int inbox_take_start(struct recorder *r, const struct job_facts *facts, size_t len, struct errmsg *err)
{
	_cleanup_free_ char *json = NULL;
	struct record *record;
	char key[RECORD_KEY_MAX];
	size_t json_len;
	int rc;

	if (!*r->settings.kafka_start_topic)
		return 0;
	rc = job_record_create(facts, len, r->site.cluster, &record);
	if (rc == 0) {
		rc = record_key(record, key, sizeof(key));
		if (rc == 0)
			rc = record_start_to_json(record, &json, &json_len, err);
		record_destroy(record);
	}
	if (rc < 0)
		return rc == -EINVAL ? 0 : errmsg_errno(err, rc, "cannot make the record of a job's start");
	rc = store_record_append(r->store, STORE_START, key, json, json_len, 0, NULL, err);
	/* records of starts are optional: drop them, or they take room from job ends */
	return rc == -ENOSPC ? 0 : rc;
}

static int inbox_take_entry(struct recorder *r, const struct inbox_entry *e, bool *ret_reconcile,
			    struct errmsg *err)
{
	struct job_facts *facts;
	int rc;

	switch (e->kind) {
	case INBOX_BEGIN:
	case INBOX_LOST:
		*ret_reconcile = true;
		return recorder_reconcile_want(r, e->kind == INBOX_LOST, err);
	case INBOX_SITE:
		if (e->len != sizeof(r->site))
			return 0;
		memcpy(&r->site, e->data, sizeof(r->site));
		r->has_site = true;
		return store_meta_set(r->store, META_SITE, &r->site, sizeof(r->site), err);
	case INBOX_HOOK:
		if (e->len != sizeof(r->hook))
			return 0;
		memcpy(&r->hook, e->data, sizeof(r->hook));
		return store_meta_set(r->store, META_HOOK, &r->hook, sizeof(r->hook), err);
	case INBOX_END:
		r->total.ends++;
		return inbox_take_end(r, e->data, e->len, /* key_only= */ false, err);
	case INBOX_START:
		return inbox_take_start(r, e->data, e->len, err);
	case INBOX_KEY:
		if (e->len != sizeof(struct job_key))
			return 0;
		r->total.ends++;
		facts = malloc(sizeof(*facts));
		if (!facts)
			return errmsg_set(err, -ENOMEM, "out of memory");
		job_facts_from_key(e->data, facts);
		rc = inbox_take_end(r, facts, job_facts_size(facts), /* key_only= */ true, err);
		free(facts);
		return rc;
	}
	logger_error(
		"ceems: InboxDir has an entry of kind %d, which this version does not know; it is skipped",
		(int)e->kind);
	return 0;
}

/*
 * What a batch changes of the recorder and must not outlive a rollback: the marker tells the backup
 * controller that the records of all ends up to known_end are delivered.
 */
struct inbox_undo {
	uint64_t known_end, from;
	bool is_saved;
};

static struct inbox_undo inbox_get_undo(const struct recorder *r)
{
	return (struct inbox_undo){ r->known_end, r->reconcile.from, r->reconcile.is_saved };
}

static void inbox_undo(struct recorder *r, const struct inbox_undo *u)
{
	r->known_end = u->known_end;
	r->reconcile.from = u->from;
	r->reconcile.is_saved = u->is_saved;
	inbox_reader_rewind(r->inbox, &r->taken);
}

/*
 * Takes a batch in one transaction. Returns the number of entries, or -errno; *RET_OF_STORE tells
 * whose error it is.
 */
static int inbox_take_batch(struct recorder *r, bool *ret_reconcile, bool *ret_of_store, struct errmsg *err)
{
	const struct inbox_undo undo = inbox_get_undo(r);
	struct inbox_pos pos = r->taken;
	struct inbox_entry e;
	int n = 0;
	int rc = 1;

	while (n < BATCH && (rc = inbox_read(r->inbox, &e, err)) > 0) {
		*ret_of_store = true;
		if (!n) {
			rc = store_begin(r->store, err);
			if (rc < 0) {
				inbox_undo(r, &undo);
				return rc;
			}
		}
		n++;
		rc = inbox_take_entry(r, &e, ret_reconcile, err);
		if (rc < 0)
			break;
		*ret_of_store = false; /* the next error is the inbox's */
	}
	if (!n)
		return rc;
	if (rc >= 0) {
		*ret_of_store = true;
		inbox_reader_get_pos(r->inbox, &pos);
		rc = store_meta_set(r->store, STORE_META_INBOX, &pos, sizeof(pos), err);
	}
	if (rc >= 0)
		rc = store_meta_set(r->store, META_KNOWN_END, &r->known_end, sizeof(r->known_end), err);
	if (rc >= 0)
		rc = store_commit(r->store, err);
	else
		store_rollback(r->store);
	if (rc < 0) {
		inbox_undo(r, &undo);
		return rc;
	}
	r->taken = pos;
	inbox_reader_release(r->inbox, &pos);
	return n;
}

/*
 * Opens the inbox. Returns 0, -errno, or 1: the folder does not exist until the plugin creates it.
 */
static int inbox_open(struct recorder *r, struct errmsg *err)
{
	int rc;

	if (r->inbox)
		return 0;
	rc = inbox_reader_open(r->settings.inbox_dir, &r->taken, &r->inbox, err);
	return rc == -ENOENT ? 1 : rc;
}

bool recorder_inbox_take(struct recorder *r, uint64_t now_ns)
{
	struct errmsg err = { 0 };
	bool reconcile = false;
	bool of_store = false; /* the store logs its own trouble */
	unsigned int tries;
	int rc;

	if (now_ns < r->inbox_retry_ns || now_ns < r->store_retry_ns)
		return false;
	rc = inbox_open(r, &err);
	if (rc == 0)
		rc = inbox_take_batch(r, &reconcile, &of_store, &err);
	else if (rc > 0) {
		r->inbox_has_more = false;
		r->inbox_retry_ns = now_ns + RETRY_NS;
		return false;
	}
	r->inbox_has_more = rc < 0 || rc == BATCH;
	if (rc < 0) {
		if (of_store) {
			logger_debug("ceems: job ends wait in InboxDir: %s", err.text);
		} else if (rc == -ESTALE) {
			logger_error("ceems: %s; it is opened again when slurmctld has made it", err.text);
			inbox_reader_close(TAKE_PTR(r->inbox));
		} else {
			logger_log_once(&trouble, LOGGER_ERROR, "ceems: %s; job ends are not taken",
					err.text);
		}
		r->inbox_retry_ns = now_ns + RETRY_NS;
		return false;
	}
	tries = logger_once_reset(&trouble);
	if (tries)
		logger_info("ceems: job ends are taken from InboxDir again after %u more tries", tries);
	if (rc > 0)
		r->jobs_due_ns = 0; /* a new job may be due sooner */
	if (reconcile)
		recorder_reconcile_begin(r, now_ns);
	return r->inbox_has_more;
}
