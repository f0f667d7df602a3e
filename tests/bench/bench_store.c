/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_store - what 1,000 job ends a second cost ceems-recorder: from the inbox into the store, to records,
 * and deleted after delivery. Each step by itself, as fast as possible; then all of them at that rate, as the
 * recorder does them, with the age of job ends at their commit. CPU time is that of this process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench_sink.h"
#include "scratch.h"
#include "src/libstore/inbox.h"
#include "src/libstore/job_facts.h"
#include "src/libstore/store.h"
#include "src/libutil/clock.h"

#define JOBS bench_n(20000)
#define RATE 1000
#define SECONDS 10
#define BATCH 500
#define DISTINCT 100
#define SINK "none"

static struct bench b;
static struct store *store;
static struct bench_record *made;

static int fail(const char *what)
{
	row(what, "failed: %s", b.err.text);
	return -1;
}

static void job_key(char *key, size_t size, uint64_t i)
{
	(void)snprintf(key, size, "bench/%" PRIu64 ",1700000000,0/0", i);
}

static void begin_cost(struct bench_cost *c)
{
	*c = (struct bench_cost){ .ns = clock_mono_ns(), .cpu_ns = bench_cpu_ns() };
}

static void end_cost(struct bench_cost *c, const char *what)
{
	char text[128];

	c->ns = clock_mono_ns() - c->ns;
	c->cpu_ns = bench_cpu_ns() - c->cpu_ns;
	row(what, "%s", cost_text(c, text, sizeof(text)));
}

/* --- the steps --------------------------------------------------------------------------- */

static void make_facts(struct job_facts *f)
{
	int i;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < FACT_TEXT_N; i++)
		job_facts_add_text(f, (enum fact_text)i, "a text of usual size");
}

static int take_in(const struct job_facts *facts, uint64_t from, uint64_t n)
{
	char key[RECORD_KEY_MAX];
	int rc = store_begin(store, &b.err);
	uint64_t i;

	if (rc < 0)
		return rc;
	for (i = from; rc == 0 && i < from + n; i++) {
		struct store_job job = { .key = key,
					 .state = STORE_JOB_ENDED,
					 .next_try = i,
					 .ended = 1700000000,
					 .facts = facts,
					 .facts_len = job_facts_size(facts) };

		job_key(key, sizeof(key), i);
		rc = store_job_put(store, &job, &b.err);
	}
	if (rc == 0)
		rc = store_meta_set(store, "inbox", &i, sizeof(i), &b.err);
	if (rc == 0)
		return store_commit(store, &b.err);
	store_rollback(store);
	return rc;
}

static uint64_t recorded, recorded_bytes, last_seq;

static int record_one(void *ctx, const struct store_job *job)
{
	const struct bench_record *m = &made[recorded % DISTINCT];
	int rc = store_record_append(store, STORE_RECORD, job->key, m->json, m->len, job->ended, &last_seq,
				     &b.err);

	(void)ctx;
	recorded++;
	recorded_bytes += m->len;
	return rc < 0 ? rc : store_job_set(store, job->key, STORE_JOB_CORRECTED, STORE_NEVER, &b.err);
}

/* Returns how many jobs were due. */
static int64_t write_records(uint64_t max)
{
	uint64_t before = recorded;
	int rc = store_begin(store, &b.err);

	if (rc < 0)
		return rc;
	rc = store_jobs_due(store, INT64_MAX, max, record_one, NULL, &b.err);
	if (rc == 0)
		rc = store_commit(store, &b.err);
	else
		store_rollback(store);
	return rc < 0 ? rc : (int64_t)(recorded - before);
}

/* --- each by itself ---------------------------------------------------------------------- */

static int bench_inbox(const struct job_facts *facts)
{
	static const struct inbox_pos begin;
	struct inbox_writer *w = NULL;
	struct inbox_reader *r = NULL;
	struct inbox_entry e;
	struct bench_cost c;
	char dir[PATH_MAX];
	uint64_t i;
	int rc;

	snprintf(dir, sizeof(dir), "%s/inbox", b.dir);
	rc = inbox_writer_open(dir, &(struct cluster_facts){ .cluster = "bench" }, &w, &b.err);
	begin_cost(&c);
	for (i = 0; rc == 0 && i < JOBS; i++) {
		rc = inbox_append(w, INBOX_END, facts, job_facts_size(facts));
		if (rc == 0 && i % BATCH == BATCH - 1)
			rc = inbox_flush(w, &b.err);
		c.bytes += job_facts_size(facts);
	}
	c.n = i;
	if (rc == 0)
		rc = inbox_flush(w, &b.err);
	if (rc == 0) {
		end_cost(&c, "inbox, written, 500 job ends per sync");
		rc = inbox_reader_open(dir, &begin, &r, &b.err);
	}
	begin_cost(&c);
	while (rc == 0 && c.n < JOBS) {
		rc = inbox_read(r, &e, &b.err) == 1 ? 0 : -1;
		c.n++;
		c.bytes += e.len;
	}
	if (rc == 0)
		end_cost(&c, "inbox, read");
	inbox_reader_close(r);
	inbox_writer_close(w);
	return rc < 0 ? fail("inbox") : 0;
}

static int bench_steps(const struct job_facts *facts)
{
	struct bench_cost c;
	uint64_t i;
	int64_t n;
	int rc = 0;

	begin_cost(&c);
	for (i = 0; rc == 0 && i < JOBS; i += BATCH)
		rc = take_in(facts, i, BATCH);
	if (rc < 0)
		return fail("store, job ends");
	c.n = JOBS;
	c.bytes = JOBS * job_facts_size(facts);
	end_cost(&c, "store, job ends, 500 per transaction");
	begin_cost(&c);
	while ((n = write_records(BATCH)) > 0)
		;
	if (n < 0)
		return fail("store, records");
	c.n = recorded;
	c.bytes = recorded_bytes;
	end_cost(&c, "store, records of them, 3 usual steps");
	begin_cost(&c);
	for (i = BATCH; rc == 0 && i <= recorded; i += BATCH)
		rc = store_sink_settle(store, SINK, i, NULL, 0, &b.err);
	if (rc < 0)
		return fail("store, settled");
	c.n = recorded;
	end_cost(&c, "store, settled by a sink, 500 at a time");
	begin_cost(&c);
	while ((rc = store_reclaim(store, UINT64_MAX, &b.err)) > 0)
		c.n += (uint64_t)rc;
	if (rc < 0)
		return fail("store, reclaimed");
	end_cost(&c, "store, rows deleted");
	return 0;
}

/* --- 1,000 a second ---------------------------------------------------------------------- */

static int bench_rate(const struct job_facts *facts)
{
	uint64_t n = bench_n(RATE * SECONDS);
	uint64_t begin_ns = clock_mono_ns();
	uint64_t cpu = bench_cpu_ns();
	uint64_t oldest = 0; /* the age of the oldest job end that a commit had, at most */
	uint64_t done = 0;
	uint64_t ns;
	int rc = 0;

	recorded = 0;
	while (rc == 0 && done < n) {
		uint64_t due = (clock_mono_ns() - begin_ns) * RATE / NSEC_PER_SEC;
		uint64_t age;

		if (due > n)
			due = n;
		if (due == done) {
			(void)nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
			continue;
		}
		rc = take_in(facts, done, due - done);
		age = clock_mono_ns() - begin_ns - done * NSEC_PER_SEC / RATE;
		if (age > oldest)
			oldest = age;
		done = due;
		if (rc == 0)
			rc = write_records(BATCH) < 0 ? -1 : 0;
		if (rc == 0)
			rc = store_sink_settle(store, SINK, last_seq, NULL, 0, &b.err);
		if (rc == 0 && store_reclaim(store, UINT64_MAX, &b.err) < 0)
			rc = -1;
	}
	if (rc < 0)
		return fail("store, 1,000 job ends a second");
	ns = clock_mono_ns() - begin_ns;
	row("store, 1,000 job ends a second",
	    "%.0f a second kept, %.1f %% of a CPU, in the store after %.0f ms at most",
	    (double)n * 1e9 / (double)ns, 100.0 * (double)(bench_cpu_ns() - cpu) / (double)ns,
	    (double)oldest / 1e6);
	return 0;
}

int main(void)
{
	static struct job_facts facts;
	struct store_options o;
	int rc;

	if (bench_begin(&b) < 0)
		return 1;
	make_facts(&facts);
	o = (struct store_options){ .dir = b.store };
	rc = bench_make(&b, SHAPE_USUAL, DISTINCT, &made);
	if (rc == 0)
		rc = store_open(&o, &store, &b.err);
	if (rc == 0)
		rc = store_set_sinks(store, SINK, &b.err);
	if (rc < 0)
		rc = fail("store");
	if (rc == 0)
		rc = bench_inbox(&facts);
	if (rc == 0)
		rc = bench_steps(&facts);
	if (rc == 0)
		(void)bench_rate(&facts);
	store_close(store);
	bench_unmake(made, DISTINCT);
	bench_end(&b);
	return 0;
}
