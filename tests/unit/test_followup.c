/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Corrections: what a round does to the spool. Time is the test's own.
 */
#include "jobcomp/followup.h"

#include <time.h>

#include "src/libutil/clock.h"

#include "fake_ctld.h"
#include "scratch.h"
#include "tap.h"

static struct errmsg err;

static struct {
	struct settings settings;
	struct store store;
	struct finish finish;
	struct dbd_pace dbd;
	struct followup u;
	char dir[64];
	uint64_t now;
} t;

static void begin(uint64_t max_bytes)
{
	(void)store_init(&t.store, max_bytes);
	(void)spool_open(t.dir, max_bytes, &t.store.spool, &err);
	t.finish = (struct finish){ .store = &t.store, .settings = &t.settings };
	dbd_pace_init(&t.dbd, (struct steps *)&t.store /* not looked into */);
	ok(followup_open(&t.u, &t.finish, &t.dbd, &err) == 0, "opened");
}

static void end(void)
{
	followup_close(&t.u);
	store_fini(&t.store);
}

static void reset(void)
{
	fake.dbd_is_down = false;
	fake.ended = fake.booked = fake.told = false;
	t.settings = (struct settings){ .step_details = true,
					.record_max_bytes = 900 << 10,
					.correction_wait_ns = 100000 * NSEC_PER_SEC };
	t.now = clock_mono_ns();
	scratch_clear(t.dir);
}

static int put(uint32_t job_id, uint64_t age_s)
{
	return fake_put(&t.store, SPOOL_FOLLOWUP,
			fake_record(job_id, clock_wall_ns() / NSEC_PER_SEC - age_s));
}

static uint64_t next_run(void)
{
	t.dbd.next_mono_ns = 0; /* that is the real clock's */
	return followup_next(&t.u, t.now);
}

/* All that is due within SECONDS. */
static void run(unsigned int seconds)
{
	uint64_t until = t.now + seconds * NSEC_PER_SEC;
	unsigned int n = 0;
	uint64_t next;

	followup_run(&t.u, t.now); /* something was appended */
	while ((next = next_run()) <= until && n++ < 100000) {
		if (next > t.now)
			t.now = next;
		followup_run(&t.u, t.now);
	}
	t.now = until;
	ok(n < 100000, "it does not spin");
}

static uint64_t appended(void)
{
	struct spool_stats stats;

	spool_get_stats(t.store.spool, &stats);
	return stats.entries_appended;
}

/* Entries in the spool from where the reader NAME would start. */
static unsigned int entries(const char *name, enum spool_kind kind)
{
	struct spool_cursor *c = NULL;
	struct spool_entry e;
	unsigned int n = 0;

	if (spool_cursor_open(t.store.spool, name, &c, &err) < 0)
		return 9999;
	while (spool_read(c, &e, &err) > 0)
		n += e.kind == kind;
	spool_cursor_close(c);
	return n;
}

/* Corrections that have what was lacking. */
static unsigned int whole(void)
{
	struct spool_cursor *c = NULL;
	struct record *r = NULL;
	struct spool_entry e;
	unsigned int n = 0;

	(void)spool_cursor_open(t.store.spool, "all", &c, &err);
	while (spool_read(c, &e, &err) > 0) {
		if (e.kind != SPOOL_RECORD || record_from_json(e.data, e.len, &r, &err) < 0)
			continue;
		n += r->steps_known;
		record_destroy(r);
	}
	spool_cursor_close(c);
	return n;
}

static void test_rounds(void)
{
	unsigned int polls;
	uint64_t before;

	reset();
	begin(1u << 30);
	(void)put(1, 10);
	(void)put(2, 200000);
	polls = fake.polls;
	run(20);
	is_u64(fake.polls, polls, "nobody is asked at once");
	run(15);
	is_u64(fake.polls, polls + 1, "but soon, for all in one question");
	is_u64(entries("all", SPOOL_RECORD), 0, "nothing is known");
	is_u64(appended(), 3, "one is kept, the other was too old");
	run(120);
	is_u64(fake.polls, polls + 2, "pauses grow");
	before = appended();
	fake.dbd_is_down = true;
	run(600);
	is_u64(appended(), before, "nothing is rewritten while slurmdbd is down");
	fake.dbd_is_down = false;
	fake.ended = fake.booked = true;
	end();

	begin(1u << 30); /* another slurmctld */
	run(40);
	is_u64(entries("all", SPOOL_RECORD), 1, "a correction, after a restart");
	before = appended();
	polls = fake.polls;
	run(1000);
	is_u64(appended(), before, "and only one");
	is_u64(fake.polls, polls, "nobody is asked any more");
	end();
	is_u64(before, 1, "written by the second");
}

/* Of a node that failed: slurmdbd will never have their usage. */
static void test_unreported(void)
{
	struct record *r = fake_record(3, clock_wall_ns() / NSEC_PER_SEC - 4000);

	reset();
	fake.ended = fake.booked = fake.unreported = true;
	begin(1u << 30);
	(void)put(1, 10);
	(void)put(2, 4000);
	r->energy.final = true;
	(void)fake_put(&t.store, SPOOL_FOLLOWUP, r);
	run(40);
	is_u64(t.u.nkept, 1, "usage may come soon after the end");
	is_u64(entries("all", SPOOL_RECORD), 1,
	       "later there is none: what was not final is, the rest is as it was");
	fake.unreported = false;
	run(100);
	is_u64(entries("all", SPOOL_RECORD), 2, "it came");
	end();
}

static void test_all_told(void)
{
	struct record *r = fake_record(2, clock_wall_ns() / NSEC_PER_SEC - 10);
	uint64_t polls;

	reset();
	fake.ended = fake.booked = fake.unreported = fake.told = true;
	begin(1u << 30);
	(void)put(1, 10);
	run(40);
	is_u64(t.u.nkept, 1, "slurmdbd was told all, and may have to store it");
	run(60);
	is_u64(entries("all", SPOOL_RECORD), 1, "usage that will never come is not waited for");
	is_u64(t.u.nkept, 0, "nor asked for again");
	fake.unreported = false;

	fake.booked = false;
	(void)put(1, 10);
	r->energy.final = true;
	(void)fake_put(&t.store, SPOOL_FOLLOWUP, r);
	run(400);
	is_u64(entries("all", SPOOL_RECORD), 2, "of a job without a row only the energy is final");
	polls = fake.polls;
	run(1000);
	is_u64(fake.polls, polls, "and that is it");
	fake.told = false;
	end();
}

/* What slurmdbd was told it stores later. */
static void test_commit_delay(void)
{
	reset();
	fake.ended = fake.told = true;
	begin(1u << 30);
	(void)put(1, 10);
	run(40);
	is_u64(t.u.nkept, 1, "slurmdbd was told all, and shows no row");
	fake.booked = true;
	run(60);
	is_u64(whole(), 1, "then it does");
	end();

	/* the round before had no job that slurmdbd was told all of */
	reset();
	fake.told = true;
	begin(1u << 30);
	(void)put(1, 10);
	run(40);
	fake.ended = true;
	(void)put(2, 10);
	run(60);
	is_u64(t.u.nkept, 2, "a job that ended since, and one that came");
	fake.booked = true;
	run(120);
	is_u64(whole(), 2, "both are corrected");
	end();
}

/* slurmctld, killed, forgot the run and let the job run again: that one has a record of its own. */
static void test_run_again(void)
{
	uint64_t before;

	reset();
	fake.booked = fake.gone = true;
	fake.row_start = clock_wall_ns() / NSEC_PER_SEC - 50; /* ours began 110 s ago */
	fake.row_end = fake.row_start + 45;
	begin(1u << 30);
	(void)put(1, 10);
	before = appended();
	run(40);
	is_u64(appended(), before, "what slurmdbd has of the second run is not the first's");
	fake.gone = false;
	fake.row_start = fake.row_end = 0;
	end();
}

/* What was seen of the energy is not forgotten because nobody has it any more. */
static void test_seen_energy(void)
{
	struct record *r = fake_record(1, clock_wall_ns() / NSEC_PER_SEC - 10);
	struct spool_cursor *c = NULL;
	struct record *got = NULL;
	struct spool_entry e;

	reset();
	fake.booked = fake.gone = true;
	r->energy.total_j = (struct maybe_u64){ 3, true };
	begin(1u << 30);
	(void)fake_put(&t.store, SPOOL_FOLLOWUP, r);
	run(40);
	(void)spool_cursor_open(t.store.spool, "all", &c, &err);
	while (spool_read(c, &e, &err) > 0)
		if (e.kind == SPOOL_RECORD && !got)
			(void)record_from_json(e.data, e.len, &got, &err);
	ok(got && got->energy.final, "the correction is final");
	ok(got && got->energy.total_j.known && got->energy.total_j.value == 3,
	   "with the energy that was known before");
	record_destroy(got);
	spool_cursor_close(c);
	fake.gone = false;
	end();
}

/* Records pass by while FOLLOWUPs wait: the spool must not grow by that. */
static void test_held(void)
{
	static char junk[1 << 16];
	struct spool_cursor *sink = NULL;
	struct spool_entry e;
	struct spool_stats stats;
	uint64_t largest = 0;
	unsigned int polls;
	unsigned int i;

	reset();
	memset(junk, 'x', sizeof(junk));
	begin(1u << 30);
	(void)spool_cursor_open(t.store.spool, "sink", &sink, &err);
	for (i = 0; i < 1000; i++)
		(void)put(i + 1, 10);
	run(1);
	polls = fake.polls;
	for (i = 0; i < 4000; i++) { /* 256 MiB */
		(void)store_append(&t.store, SPOOL_RECORD, "k", junk, sizeof(junk), &err);
		if (i % 50)
			continue;
		while (spool_read(sink, &e, &err) > 0)
			(void)spool_ack(sink, &e.next, &err);
		followup_run(&t.u, t.now);
		while (followup_next(&t.u, t.now) <= t.now)
			followup_run(&t.u, t.now);
		spool_get_stats(t.store.spool, &stats);
		if (stats.bytes > largest)
			largest = stats.bytes;
	}
	ok(largest < 96u << 20, "256 MiB went through a spool of %u MiB",
	   (unsigned int)(largest >> 20));
	is_u64(fake.polls, polls, "nobody was asked");
	fake.ended = fake.booked = true;
	run(60);
	for (i = 0; spool_read(sink, &e, &err) > 0;)
		i += e.kind == SPOOL_RECORD && e.len < sizeof(junk);
	is_u64(i, 1000, "and all were corrected");
	spool_cursor_close(sink);
	end();
}

static void test_full(void)
{
	static char junk[1 << 16];
	unsigned int i;

	reset();
	memset(junk, 'x', sizeof(junk));
	begin(4u << 20);
	for (i = 0; i < 100; i++)
		(void)put(i + 1, 10);
	for (i = 0; i < 31; i++)
		(void)store_append(&t.store, SPOOL_PENDING, "k", junk, sizeof(junk), &err);
	ok(put(1, 1) < 0, "half of the spool is used: no room for one more");
	run(40);
	ok(t.u.nkept < 100, "of those there were, some are given up");
	for (i = 0; i < 10; i++)
		ok(store_append(&t.store, SPOOL_PENDING, "k", junk, sizeof(junk), &err) == 0,
		   "there is room for job ends");
	end();
}

int main(void)
{
	(void)snprintf(t.dir, sizeof(t.dir), "%s", SCRATCH_TEMPLATE);
	if (!mkdtemp(t.dir))
		return 1;
	test_rounds();
	test_unreported();
	test_all_told();
	test_commit_delay();
	test_run_again();
	test_seen_energy();
	test_held();
	test_full();
	scratch_clear(t.dir);
	(void)rmdir(t.dir);
	return done_testing();
}
