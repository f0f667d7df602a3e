/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/finish.h"

#include <errno.h>

#include "src/libutil/logger.h"
#include "src/libutil/util.h"

static struct logger_once no_room;

void finish_take_steps(const struct finish *f, struct record *r, struct steps_query *q)
{
	if (f->settings->step_details) {
		record_steps_destroy(r->steps, r->nsteps);
		r->steps = TAKE_PTR(q->steps);
		r->nsteps = q->nsteps;
		r->steps_known = true;
	}
	record_steps_destroy(TAKE_PTR(q->steps), q->nsteps);
	if (q->script) {
		free(r->script);
		r->script = TAKE_PTR(q->script);
	}
	if (!r->db_index.known && q->db_index)
		r->db_index = (struct maybe_u64){ q->db_index, true };
}

static void add_names(struct finish *f, struct record *r)
{
	if (!r->user_name)
		r->user_name = names_of_user(&f->names, r->user_id);
	if (!r->group_name)
		r->group_name = names_of_group(&f->names, r->group_id);
}

/* Steps and script come from slurmdbd again, so it goes without them. */
int finish_append_followup(struct finish *f, const char *key, struct record *r,
			   struct errmsg *err)
{
	struct record bare = *r;
	_cleanup_free_ char *json = NULL;
	size_t len;
	int rc;

	bare.steps = NULL;
	bare.nsteps = 0;
	bare.steps_known = false;
	bare.script = NULL;
	rc = record_to_json(&bare, &json, &len, err);
	if (rc < 0)
		return rc;
	store_lock(f->store);
	rc = store_append(f->store, SPOOL_FOLLOWUP, key, json, len, err);
	store_unlock(f->store);
	return rc;
}

static int append_parts(struct finish *f, const char *key, const struct record_part *part,
			size_t n, struct errmsg *err)
{
	size_t i;
	int rc;

	store_lock(f->store);
	rc = store_append(f->store, SPOOL_RECORD, key, part[0].json, part[0].len, err);
	for (i = 1; i < n && rc == 0; i++)
		rc = store_append(f->store, SPOOL_STEPS, part[i].key, part[i].json, part[i].len,
				  err);
	store_unlock(f->store);
	return rc;
}

/* One job with more than can be written must not keep all others waiting. */
static int to_parts(const struct finish *f, const char *key, struct record *r,
		    struct record_part **ret, size_t *ret_n, struct errmsg *err)
{
	size_t max = f->settings->record_max_bytes;
	int rc = record_to_parts(r, max, ret, ret_n, err);

	if (rc == -EMSGSIZE && r->script) {
		logger_info("ceems: jobcomp: %s: its script is too long for RecordMaxSize and "
			    "left out", key);
		free(TAKE_PTR(r->script));
		rc = record_to_parts(r, max, ret, ret_n, err);
	}
	if (rc == -EMSGSIZE) {
		logger_info("ceems: jobcomp: %s: longer than RecordMaxSize without its steps",
			    key);
		rc = record_to_parts(r, SPOOL_DATA_MAX, ret, ret_n, err);
	}
	return rc;
}

int finish_append(struct finish *f, const char *key, struct record *r,
		  const struct record_ending *end, bool follow, struct errmsg *err)
{
	struct record_part *part = NULL;
	size_t n = 0;
	int rc;

	add_names(f, r);
	rc = record_fill(r, end, f->factors ? factors_now(f->factors) : NULL, f->settings);
	if (rc == 0)
		rc = to_parts(f, key, r, &part, &n, err);
	if (rc < 0)
		return rc;
	if (follow) {
		rc = finish_append_followup(f, key, r, err);
		if (rc == -ENOSPC) {
			f->nunfollowed++;
			logger_log_once(&no_room, LOGGER_ERROR,
					"ceems: jobcomp: half of SpoolMaxSize is used: records "
					"that lack something are not corrected");
			rc = 0;
		} else if (rc == 0 && logger_once_reset(&no_room)) {
			logger_info("ceems: jobcomp: records are corrected again");
		}
	}
	if (rc == 0)
		rc = append_parts(f, key, part, n, err);
	record_parts_destroy(part, n);
	return rc;
}

int finish_sync(struct finish *f, struct errmsg *err)
{
	struct spool_stats stats;
	int rc;

	store_lock(f->store);
	rc = spool_sync(f->store->spool, err);
	spool_get_stats(f->store->spool, &stats);
	/* the intake's sync was told of what may have become of ours */
	if (rc == 0 && stats.sync_failures != f->sync_failures)
		rc = errmsg_set(err, -EIO, "%s: a sync failed since", spool_dir(f->store->spool));
	f->sync_failures = stats.sync_failures;
	if (rc == 0)
		store_announce(f->store);
	store_unlock(f->store);
	return rc;
}
