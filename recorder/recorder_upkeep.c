/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/recorder.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define RECLAIM_NS (5 * NSEC_PER_SEC)
#define RECLAIM_SOON_NS (NSEC_PER_SEC / 10)
#define TRIM_NS (60 * NSEC_PER_SEC)
#define MARK_NS (5 * NSEC_PER_SEC)
/* How long a finished job is kept, so that a repeated report of its end is recognised. */
#define JOB_KEPT_S 3600
/* A full store keeps at least one finished job per so many bytes of StoreMaxSize; a job has some 1 kB. */
#define KEPT_JOB_BYTES 8192
/*
 * The marker names the jobs of the last MARKED_S seconds, at most MARKED_MAX; reconciliation looks
 * back less far.
 */
#define MARKED_S 120
#define MARKED_MAX 4096

struct upkeep_keys {
	FILE *out;
	uint64_t from;
};

static int upkeep_put_key(void *ctx, const struct store_job *job)
{
	struct upkeep_keys *k = ctx;

	if (job->ended >= k->from)
		fprintf(k->out, "%s\n", job->key);
	return 0;
}

/*
 * Gets what the recorder of another controller must know to take over; the caller frees *RET_KEYS.
 * Call it in a transaction.
 */
static int upkeep_get_marker(struct recorder *r, struct marker_state *ret, char **ret_keys,
			     struct errmsg *err)
{
	uint64_t oldest = 0;
	struct upkeep_keys k;
	size_t len;
	int rc = store_oldest_end(r->store, &oldest, err);

	if (rc < 0)
		return rc;
	ret->has_open = oldest != 0;
	ret->since = oldest ? oldest : r->known_end ? r->known_end + 1 : 0;
	k.from = ret->since > MARKED_S ? ret->since - MARKED_S : 0;
	k.out = open_memstream(ret_keys, &len);
	if (!k.out)
		return -ENOMEM;
	rc = store_jobs_last(r->store, MARKED_MAX, upkeep_put_key, &k, err);
	if (fclose(k.out) != 0 && rc == 0)
		rc = -ENOMEM;
	ret->keys = *ret_keys;
	return rc;
}

/*
 * If the store cannot be read, the marker stays as it is: the recorder of another controller then
 * finds some jobs that are delivered, but misses none.
 */
static void upkeep_mark(struct recorder *r, uint64_t now_ns)
{
	_cleanup_free_ char *keys = NULL;
	struct marker_state state;
	struct errmsg err = { 0 };
	int rc;

	if (now_ns < r->mark_due_ns)
		return;
	r->mark_due_ns = now_ns + MARK_NS;
	if (!r->has_site || store_begin_read(r->store, &err) < 0)
		return;
	rc = upkeep_get_marker(r, &state, &keys, &err);
	store_rollback(r->store);
	if (rc == 0)
		marker_set(r->marker, r->site.state_dir, &state, r->wall_s());
}

/*
 * Returns free memory to the system. malloc keeps what the windows of the sinks and their clients
 * had in a busy time, scattered over an arena of each thread: 36 of 44 MB after 50,000 records.
 */
static void upkeep_trim(struct recorder *r, uint64_t now_ns)
{
	if (now_ns < r->trim_due_ns)
		return;
	(void)malloc_trim(0);
	r->trim_due_ns = now_ns + TRIM_NS;
}

/*
 * Keeps jobs that a search for lost ends may ask for. If there is no search, these are the jobs of
 * the last minutes before the last known end. During a search that goes back for days, these jobs
 * must not fill the store: job ends would wait in the inbox, and the search would never end.
 */
static int upkeep_reclaim_rows(struct recorder *r, struct errmsg *err)
{
	uint64_t before = r->wall_s() - JOB_KEPT_S;
	uint64_t since = recorder_reconcile_since(r);
	struct store_size size;
	int n = store_reclaim(r->store, since < before ? since : before, err);
	int more;

	store_get_size(r->store, &size);
	if (n < 0 || since >= before || !size.is_full)
		return n;
	more = store_reclaim_jobs(r->store, before, size.max_bytes / KEPT_JOB_BYTES, err);
	return more < 0 ? more : n + more;
}

static void upkeep_reclaim(struct recorder *r, uint64_t now_ns)
{
	struct errmsg err = { 0 };
	int n;

	if (now_ns < r->reclaim_due_ns)
		return;
	n = upkeep_reclaim_rows(r, &err);
	r->reclaim_due_ns = now_ns + (n >= STORE_RECLAIM_MAX ? RECLAIM_SOON_NS : RECLAIM_NS);
}

void recorder_upkeep_run(struct recorder *r, uint64_t now_ns)
{
	upkeep_reclaim(r, now_ns);
	upkeep_trim(r, now_ns);
	upkeep_mark(r, now_ns);
}
