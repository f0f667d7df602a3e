/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/intake.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "jobcomp/job_facts.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#define BATCH 64 /* entries between two syncs at most */
#define KEYS_BATCH 1024
#define REOPEN_NS (10 * NSEC_PER_SEC)
#define RETRY_MS 1000
#define IDLE_MS 5000

static struct logger_once open_trouble;
static struct logger_once write_trouble;
static struct logger_once refuge_trouble;
static struct logger_once start_trouble;

static bool try_open(struct intake *in)
{
	struct errmsg err = { 0 };
	struct spool *spool = NULL;
	unsigned int tries;
	int rc = spool_open(in->spool_dir, in->store->max_bytes, &spool, &err);

	if (rc < 0) {
		logger_log_once(&open_trouble, LOGGER_ERROR,
				"ceems: jobcomp: %s; job ends wait elsewhere until the spool "
				"can be opened", err.text);
		return false;
	}
	tries = logger_once_reset(&open_trouble);
	if (tries)
		logger_info("ceems: jobcomp: %s: opened after %u more tries", in->spool_dir,
			    tries);
	store_lock(in->store);
	in->store->spool = spool;
	in->on_open(in->arg);
	store_announce(in->store);
	store_unlock(in->store);
	return true;
}

static void report_lost(struct intake *in)
{
	struct feed_lost lost;
	char ids[FEED_LOST_IDS * 12];
	size_t used = 0;
	unsigned int i;

	if (!feed_take_lost(in->feed, &lost))
		return;
	ids[0] = '\0';
	for (i = 0; i < lost.nids; i++)
		used += (size_t)snprintf(ids + used, sizeof(ids) - used, " %" PRIu32,
					 lost.id[i]);
	logger_error("ceems: jobcomp: the queue is full: records of %" PRIu64
		     " jobs are lost:%s%s", lost.count, ids,
		     lost.count > lost.nids ? " ..." : "");
}

/* What was appended since the last time is on disk. */
static int sync_all(struct intake *in, struct errmsg *err)
{
	int rc;

	if (in->to_refuge)
		return refuge_sync(&in->refuge, err);
	rc = spool_sync(in->store->spool, err);
	if (rc == 0)
		store_announce(in->store);
	return rc;
}

static enum spool_kind kind_of(const struct job_facts *f)
{
	if (f->event == FACT_START)
		return SPOOL_START;
	/* what was left out is read from slurmdbd, as if only the key were known */
	return f->left_out ? SPOOL_KEY : SPOOL_PENDING;
}

static int append(struct intake *in, enum spool_kind kind, const struct record *r,
		  struct errmsg *err)
{
	_cleanup_free_ char *json = NULL;
	char key[RECORD_KEY_MAX];
	size_t len;
	int rc = record_key(r, key, sizeof(key));

	if (rc < 0)
		return errmsg_set(err, rc, "record of job %" PRIu32 " has no key", r->job_id);
	if (kind == SPOOL_START)
		rc = record_start_to_json(r, &json, &len, err);
	else
		rc = record_to_json(r, &json, &len, err);
	if (rc == 0 && kind == SPOOL_START && in->to_refuge)
		rc = errmsg_set(err, -ENOSPC, "%s takes none now", in->spool_dir);
	else if (rc == 0)
		rc = in->to_refuge ? refuge_append(&in->refuge, kind, key, json, len, err) :
				     store_append(in->store, kind, key, json, len, err);
	if (rc == -ENOSPC && kind == SPOOL_START) {
		/* an end behind it, which has its room, must not wait for this */
		logger_log_once(&start_trouble, LOGGER_ERROR,
				"ceems: jobcomp: %s; job starts are not told", err->text);
		rc = 0;
	}
	return rc;
}

/* -EINVAL: can never be written. */
static int write_entry(struct intake *in, const void *data, size_t len, struct errmsg *err)
{
	struct record *r;
	int rc = job_facts_to_record(data, len, in->cluster, &r);

	if (rc < 0)
		return errmsg_set(err, rc, "job facts of %zu bytes: %s", len, strerror(-rc));
	rc = append(in, kind_of(data), r, err);
	record_destroy(r);
	return rc;
}

static int write_key(struct intake *in, const struct feed_key *key, struct errmsg *err)
{
	struct record *r = record_create();
	int rc;

	if (!r)
		return errmsg_set(err, -ENOMEM, "out of memory");
	r->job_id = key->job_id;
	r->restart_count = key->restart_count;
	if (key->het_job_offset != FACT_UNKNOWN)
		r->het_job_offset = (struct maybe_u64){ key->het_job_offset, true };
	r->user_id = key->user_id;
	r->submit = key->submit;
	r->start = key->start;
	r->end = key->end;
	r->cluster = strdup(in->cluster);
	r->state = strdup(job_state_name(key->state));
	if (r->cluster && r->state)
		rc = append(in, SPOOL_KEY, r, err);
	else
		rc = errmsg_set(err, -ENOMEM, "out of memory");
	record_destroy(r);
	return rc;
}

/* As write_batch(), of jobs of which the queue could keep the key only. */
static int write_keys(struct intake *in, struct errmsg *err)
{
	static struct feed_key key[KEYS_BATCH];
	size_t n = feed_next_keys(in->feed, key, KEYS_BATCH);
	size_t i;
	int rc = 0;

	if (!n)
		return 0;
	for (i = 0; i < n && rc == 0; i++)
		rc = write_key(in, &key[i], err);
	if (rc == 0)
		rc = sync_all(in, err);
	if (rc < 0) {
		feed_rewind_keys(in->feed);
		return rc;
	}
	feed_release_keys(in->feed);
	logger_info("ceems: jobcomp: the queue was full: %zu job ends are read from slurmdbd", n);
	return (int)n;
}

/* A batch; the number of entries now on disk or given up, or -errno if none could be written. */
static int write_batch(struct intake *in, struct errmsg *err)
{
	const void *data;
	size_t len;
	int n = 0;
	int rc = 0;

	while (n < BATCH && feed_next(in->feed, &data, &len)) {
		rc = write_entry(in, data, len, err);
		if (rc == -EINVAL || rc == -EMSGSIZE) {
			logger_error("ceems: jobcomp: a job record is lost: %s", err->text);
			rc = 0;
		}
		if (rc < 0) {
			feed_unget(in->feed);
			break;
		}
		n++;
	}
	if (!n)
		return rc;
	rc = sync_all(in, err);
	if (rc < 0) {
		feed_rewind(in->feed); /* all of it again: keys make that harmless */
		return rc;
	}
	feed_release(in->feed);
	return n;
}

/* Everything there is, to the spool or to the refuge. */
static int drain_to(struct intake *in, bool to_refuge, struct errmsg *err)
{
	int keys = 0;
	int n;

	in->to_refuge = to_refuge;
	do {
		if (!to_refuge)
			store_lock(in->store);
		n = write_batch(in, err);
		if (n >= 0)
			keys = write_keys(in, err);
		if (!to_refuge)
			store_unlock(in->store);
	} while (n >= 0 && keys >= 0 && n + keys > 0);
	return n < 0 ? n : keys;
}

static int drain_to_spool(struct intake *in, struct errmsg *err)
{
	unsigned int tries;
	int rc = refuge_move(&in->refuge, in->store, err); /* they came first */

	if (rc == 0)
		rc = drain_to(in, /* to_refuge= */ false, err);
	if (rc < 0) {
		logger_log_once(&write_trouble, LOGGER_ERROR,
				"ceems: jobcomp: cannot write to %s: %s; job ends wait elsewhere",
				in->spool_dir, err->text);
		return rc;
	}
	tries = logger_once_reset(&write_trouble);
	if (tries)
		logger_info("ceems: jobcomp: %s takes records again after %u more tries",
			    in->spool_dir, tries);
	return 0;
}

/* False: neither takes it, and what there is waits in memory. */
static bool drain(struct intake *in, bool is_open)
{
	struct errmsg err = { 0 };
	int rc = is_open ? drain_to_spool(in, &err) : -EAGAIN;

	if (rc < 0) {
		rc = drain_to(in, /* to_refuge= */ true, &err);
		if (rc < 0)
			logger_log_once(&refuge_trouble, LOGGER_ERROR,
					"ceems: jobcomp: nor do they in StateSaveLocation: %s; "
					"job ends wait in memory", err.text);
	}
	if (rc == 0 && logger_once_reset(&refuge_trouble))
		logger_info("ceems: jobcomp: no job end waits in memory any more");
	return rc == 0;
}

/* Nobody will write them: the daemon ends and no disk takes them. */
static void report_unwritten(struct intake *in)
{
	char ids[FEED_LOST_IDS * 12] = "";
	const void *data;
	uint64_t count = 0;
	size_t used = 0;
	size_t len;

	feed_rewind(in->feed);
	while (feed_next(in->feed, &data, &len))
		if (count++ < FEED_LOST_IDS)
			used += (size_t)snprintf(ids + used, sizeof(ids) - used, " %" PRIu32,
						 ((const struct job_facts *)data)->job_id);
	if (count)
		logger_error("ceems: jobcomp: no disk took the records of %" PRIu64
			     " jobs, which are lost now:%s%s", count, ids,
			     count > FEED_LOST_IDS ? " ..." : "");
}

void intake_run(struct intake *in)
{
	uint64_t next_open = 0;
	bool stopping = false;
	bool is_open = false;

	refuge_init(&in->refuge, in->state_dir);
	while (!stopping) {
		bool written;

		/* read first, so that what was queued before the stop is drained after it */
		stopping = store_is_stopping(in->store);
		if (!is_open && (stopping || clock_mono_ns() >= next_open)) {
			is_open = try_open(in);
			next_open = clock_mono_ns() + REOPEN_NS;
		}
		written = drain(in, is_open);
		report_lost(in);
		if (stopping && !written)
			report_unwritten(in);
		if (stopping)
			break;
		if (written)
			feed_wait(in->feed, is_open && !in->refuge.has_entries ? IDLE_MS : RETRY_MS);
		else
			feed_pause(in->feed, RETRY_MS);
	}
	refuge_close(&in->refuge);
}
