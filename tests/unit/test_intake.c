/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the hook's queue to the disk: what the queue had no room for is there by its key, what was too
 * long to copy is marked to be read again, and job starts are told.
 */
#include "jobcomp/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "jobcomp/job_facts.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#include "scratch.h"
#include "tap.h"

static struct errmsg err;

/* --- fakes ------------------------------------------------------------------------------- */

const char *job_state_name(uint32_t state)
{
	return state == 3 ? "COMPLETED" : "CANCELLED";
}

/* --- the hook ---------------------------------------------------------------------------- */

static struct job_facts facts;

static void fill(uint32_t job_id, const char *nodes)
{
	memset(&facts, 0, offsetof(struct job_facts, text));
	facts.job_id = job_id;
	facts.state = 3;
	facts.array_job_id = facts.array_task_id = FACT_UNKNOWN;
	facts.het_job_id = facts.het_job_offset = FACT_UNKNOWN;
	facts.submit = 1700000000;
	facts.start = 1700000001;
	facts.end = 1700000002;
	job_facts_add_text(&facts, FACT_JOB_NAME, "a name");
	job_facts_add_text(&facts, FACT_USER, NULL);
	job_facts_add_text(&facts, FACT_ACCOUNT, NULL);
	job_facts_add_text(&facts, FACT_PARTITION, NULL);
	job_facts_add_text(&facts, FACT_QOS, NULL);
	job_facts_add_text(&facts, FACT_WCKEY, NULL);
	job_facts_add_text(&facts, FACT_STATE, "COMPLETED");
	job_facts_add_text(&facts, FACT_NODES, nodes);
}

/* As the plugin does it. */
static void end_job(struct feed *f)
{
	struct feed_key key = { .job_id = facts.job_id, .het_job_offset = FACT_UNKNOWN,
				.user_id = 1000, .state = 3, .submit = 1700000000,
				.start = 1700000001, .end = 1700000002 };

	if (feed_push(f, &facts, job_facts_size(&facts)) < 0)
		(void)feed_push_key(f, &key);
}

/* --- the disk ---------------------------------------------------------------------------- */

struct seen {
	unsigned int pending, keys, starts, others;
	unsigned int good; /* of all */
};

static void look(const struct spool_entry *e, struct seen *seen)
{
	struct record *r = NULL;

	if (e->kind == SPOOL_START) {
		_cleanup_free_ char *json = strndup(e->data, e->len);

		seen->starts++;
		seen->good += json && strstr(json, "ceems.job_start.v1");
		return;
	}
	if (record_from_json(e->data, e->len, &r, &err) < 0)
		return;
	if (e->kind == SPOOL_PENDING) {
		seen->pending++;
		seen->good += r->nodes && r->submit == 1700000000;
	} else if (e->kind == SPOOL_KEY) {
		seen->keys++;
		seen->good += !r->nodes && r->submit == 1700000000 && r->start == 1700000001 &&
			      r->end == 1700000002 && r->state && !strcmp(r->state, "COMPLETED");
	} else {
		seen->others++;
	}
	record_destroy(r);
}

static void nothing(void *arg)
{
	(void)arg;
}

static void stop(struct store *s)
{
	struct timespec deadline = clock_ns_to_timespec(UINT64_MAX / 2);

	(void)store_stop(s, &deadline);
}

/* The intake until the feed is empty, and what is in the spool then. */
static void take_in(struct feed *f, const char *dir, struct seen *seen)
{
	struct store store;
	struct intake in = { .feed = f, .store = &store, .cluster = "c", .spool_dir = dir,
			     .on_open = nothing };
	struct spool_cursor *cursor = NULL;
	struct spool_entry e;

	*seen = (struct seen){ 0 };
	(void)store_init(&store, UINT64_C(1) << 30);
	stop(&store); /* one round */
	intake_run(&in);
	if (store.spool && spool_cursor_open(store.spool, "sink", &cursor, &err) == 0) {
		while (spool_read(cursor, &e, &err) > 0)
			look(&e, seen);
		spool_cursor_close(cursor);
	}
	store_fini(&store);
}

static void test_overflow(const char *dir)
{
	struct feed *f = NULL;
	struct seen seen;
	const uint32_t jobs = 5000; /* the ring has room for a few */
	uint32_t i;

	(void)feed_create(4096, &f, NULL);
	for (i = 1; i <= jobs; i++) {
		fill(i, "n[1-4]");
		end_job(f);
	}
	take_in(f, dir, &seen);
	ok(seen.pending > 0 && seen.pending < 50, "some jobs had room");
	is_u64(seen.pending + seen.keys, jobs, "of the others the key is there");
	is_u64(seen.good, jobs, "with what it has");
	feed_destroy(f);
}

static void test_left_out(const char *dir)
{
	static char longest[FACT_NODES_MAX + 2];
	struct feed *f = NULL;
	struct seen seen;

	memset(longest, 'n', sizeof(longest) - 1);
	(void)feed_create(1 << 20, &f, NULL);
	fill(1, longest);
	end_job(f);
	longest[FACT_NODES_MAX] = '\0';
	fill(2, longest);
	end_job(f);
	take_in(f, dir, &seen);
	is_u64(seen.keys, 1, "a list of nodes that is too long is to be read again");
	is_u64(seen.pending, 1, "the longest one is not");
	is_u64(seen.good, 2, "neither is cut");
	feed_destroy(f);
}

static void test_starts(const char *dir)
{
	struct feed *f = NULL;
	struct seen seen;

	(void)feed_create(1 << 20, &f, NULL);
	fill(1, "n1");
	facts.event = FACT_START;
	end_job(f);
	fill(1, "n1");
	end_job(f);
	take_in(f, dir, &seen);
	is_u64(seen.starts, 1, "a start");
	is_u64(seen.pending, 1, "and an end");
	is_u64(seen.good, 2, "of a job");
	feed_destroy(f);
}

/* No spool and nothing in the refuge: a start that comes alone is let go of, and an end kept. */
static void test_start_without_spool(const char *dir)
{
	struct intake in = { .cluster = "c", .on_open = nothing };
	struct refuge r;
	struct store store;
	struct feed *f = NULL;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/file", dir);
	(void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	(void)feed_create(1 << 20, &f, NULL);
	fill(1, "n1");
	facts.event = FACT_START;
	end_job(f);
	(void)store_init(&store, UINT64_C(1) << 30);
	stop(&store);
	in.feed = f;
	in.store = &store;
	in.spool_dir = path;
	in.state_dir = dir;
	intake_run(&in);
	ok(store.spool == NULL, "a start, and nowhere to write it");
	fill(1, "n1");
	end_job(f);
	intake_run(&in);
	refuge_init(&r, dir);
	ok(r.has_entries, "the end is in the refuge");
	refuge_close(&r);
	store_fini(&store);
	feed_destroy(f);
}

/* The daemon ends while a thread with the lock waits for a disk that hangs. */
static void test_stop(void)
{
	struct timespec soon = clock_ns_to_timespec(clock_mono_ns() + 10 * NSEC_PER_MSEC);
	struct timespec late = clock_ns_to_timespec(clock_mono_ns() + 600 * NSEC_PER_SEC);
	struct store store;

	(void)store_init(&store, 1);
	store_lock(&store);
	ok(!store_stop(&store, &soon), "not for longer than it may take");
	store_unlock(&store);
	ok(store_is_stopping(&store), "who had the lock is told, too");
	ok(store_stop(&store, &late), "else all are told");
	store_fini(&store);
}

static void in_scratch(void (*test)(const char *dir))
{
	char dir[] = SCRATCH_TEMPLATE;

	if (!mkdtemp(dir)) {
		ok(false, "a scratch folder");
		return;
	}
	test(dir);
	scratch_clear(dir);
	(void)rmdir(dir);
}

int main(void)
{
	in_scratch(test_overflow);
	in_scratch(test_left_out);
	in_scratch(test_starts);
	in_scratch(test_start_without_spool);
	test_stop();
	return done_testing();
}
