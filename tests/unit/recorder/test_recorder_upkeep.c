/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows that the recorder deletes, and what it tells another controller's recorder, with a
 * fake store that may fail.
 */
#include "recorder/recorder.h"

#include <errno.h>

#include "src/libutil/clock.h"

#include "tap.h"

#define NOW UINT64_C(1800000000)

/* --- a store --------------------------------------------------------------------------------------- */

static int rc_oldest, rc_last;
static uint64_t oldest;
static unsigned int nopen; /* transactions */

int store_begin_read(struct store *s, struct errmsg *err)
{
	(void)s;
	(void)err;
	nopen++;
	return 0;
}

void store_rollback(struct store *s)
{
	(void)s;
	nopen--;
}

int store_oldest_end(struct store *s, uint64_t *ret, struct errmsg *err)
{
	(void)s;
	if (rc_oldest < 0)
		return errmsg_set(err, rc_oldest, "broken");
	*ret = oldest;
	return 0;
}

/* Fails, if it fails, after the first job. */
int store_jobs_last(struct store *s, size_t max, store_job_fn *fn, void *ctx, struct errmsg *err)
{
	static const struct store_job job[] = { { .key = "c/3,5,0/0", .ended = NOW - 10 },
						{ .key = "c/2,5,0/0", .ended = NOW - 20 },
						{ .key = "c/1,5,0/0", .ended = NOW - 1000 } };
	size_t i;

	(void)s;
	for (i = 0; i < ARRAY_SIZE(job) && i < max; i++) {
		(void)fn(ctx, &job[i]);
		if (rc_last < 0)
			return errmsg_set(err, rc_last, "broken");
	}
	return 0;
}

static struct store_size size = { .max_bytes = 8192 * 100 };
static uint64_t before, before_if_full, kept;

int store_reclaim(struct store *s, uint64_t jobs_before, struct errmsg *err)
{
	(void)s;
	(void)err;
	before = jobs_before;
	return 0;
}

int store_reclaim_jobs(struct store *s, uint64_t jobs_before, uint64_t n, struct errmsg *err)
{
	(void)s;
	(void)err;
	before_if_full = jobs_before;
	kept = n;
	return 0;
}

void store_get_size(struct store *s, struct store_size *ret)
{
	(void)s;
	*ret = size;
}

/* --- the search ------------------------------------------------------------------------------------ */

static uint64_t since;

uint64_t recorder_reconcile_since(const struct recorder *of)
{
	(void)of;
	return since;
}

/* --- the marker ------------------------------------------------------------------------------------ */

static struct {
	unsigned int n;
	uint64_t since;
	bool has_open;
	char keys[256];
} set;

void marker_set(struct marker *m, const char *dir, const struct marker_state *state, uint64_t now_s)
{
	(void)m;
	(void)dir;
	(void)now_s;
	set.n++;
	set.since = state->since;
	set.has_open = state->has_open;
	(void)snprintf(set.keys, sizeof(set.keys), "%s", state->keys);
}

/* --- tests ----------------------------------------------------------------------------------------- */

static struct recorder r;

static uint64_t wall_s(void)
{
	return NOW;
}

static void run(void)
{
	static uint64_t mono_ns = NSEC_PER_SEC;

	set.n = 0;
	before = before_if_full = kept = 0;
	mono_ns += 5 * NSEC_PER_SEC;
	recorder_upkeep_run(&r, mono_ns);
	is_u64(nopen, 0, "no transaction is left open");
}

static void test_readable(void)
{
	run();
	is_u64(set.n, 0, "before the cluster is known there is no marker");
	r.has_site = true;
	run();
	is_u64(set.since, 0, "no job has ended: the marker has no time");
	r.known_end = NOW - 10;
	run();
	ok(set.since == NOW - 9 && !set.has_open, "all records are delivered");
	is_str(set.keys, "c/3,5,0/0\nc/2,5,0/0\n", "  the keys of the last minutes");
	oldest = NOW - 3600;
	run();
	ok(set.since == NOW - 3600 && set.has_open, "a record of an hour ago waits");
}

static void test_unreadable(void)
{
	rc_oldest = -EIO;
	run();
	is_u64(set.n, 0, "the disk fails: the marker does not say that all is delivered");
	rc_oldest = 0;
	rc_last = -EUCLEAN;
	run();
	is_u64(set.n, 0, "the table of jobs is corrupt: the marker keeps its keys");
	rc_last = 0;
	run();
	ok(set.n == 1 && set.since == NOW - 3600, "the store can be read again: the marker is set");
}

static void test_reclaim(void)
{
	since = NOW - 60;
	run();
	is_u64(before, NOW - 3600, "finished jobs are kept for an hour");
	since = NOW - 7200;
	run();
	is_u64(before, NOW - 7200, "and as long as a search may ask for them");
	is_u64(before_if_full, 0, "  however many");
	size.is_full = true;
	run();
	ok(before_if_full == NOW - 3600 && kept == 100, "but at most an eighth of the store once it is full");
}

int main(void)
{
	r.wall_s = wall_s;
	test_readable();
	test_unreadable();
	test_reclaim();
	return done_testing();
}
