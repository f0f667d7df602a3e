/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One job or one server in trouble must not keep the records of the others: the finaliser with
 * fakes for slurmctld and slurmdbd.
 */
#include "jobcomp/finaliser.h"

#include <pthread.h>
#include <time.h>

#include "src/libutil/clock.h"

#include "fake_ctld.h"
#include "scratch.h"
#include "tap.h"

#define PATIENCE_NS (600 * NSEC_PER_SEC) /* of a test that fails */

static struct errmsg err;

static struct {
	struct settings settings;
	struct finaliser f;
	struct store store;
	struct spool_cursor *sink;
	pthread_t thread;
	uint64_t told_ns, followup_ns;
	char dir[64];
	/* what the sink got; of followups there is one more after each look */
	unsigned int records, finals, without_steps, parts, followups, refilled, scripts;
	unsigned int timeouts; /* which only slurmdbd has */
	uint64_t steps;
} t;

static void *finaliser_main(void *arg)
{
	finaliser_run(arg);
	return NULL;
}

static bool begin(void)
{
	return store_init(&t.store, UINT64_C(1) << 30) == 0 &&
	       spool_open(t.dir, t.store.max_bytes, &t.store.spool, &err) == 0;
}

/* The finaliser on what is in the spool. */
static bool start(void)
{
	store_lock(&t.store);
	t.f = (struct finaliser){ .store = &t.store,
				  .settings = &t.settings,
				  .steps = (struct steps *)&t.store /* not looked into */ };
	if (spool_cursor_open(t.store.spool, "sink", &t.sink, &err) < 0 ||
	    finaliser_open(&t.f, &err) < 0)
		return false;
	t.f.followup.first_ns = t.f.followup.pause_ns = t.followup_ns;
	t.f.rows.told_ns = t.told_ns;
	store_unlock(&t.store);
	return pthread_create(&t.thread, NULL, finaliser_main, &t.f) == 0;
}

static void stop(void)
{
	struct timespec deadline = clock_ns_to_timespec(UINT64_MAX / 2);

	(void)store_stop(&t.store, &deadline);
	(void)pthread_join(t.thread, NULL);
	spool_cursor_close(t.sink);
	store_fini(&t.store);
}

static void put(uint32_t first, uint32_t n)
{
	store_lock(&t.store);
	for (; n--; first++)
		(void)fake_put(&t.store, SPOOL_PENDING, fake_record(first, 1700000100));
	store_announce(&t.store);
	store_unlock(&t.store);
}

static void count(const struct spool_entry *e)
{
	char key[RECORD_KEY_MAX];
	struct record *r = NULL;

	t.followups += e->kind == SPOOL_FOLLOWUP;
	if (e->kind == SPOOL_STEPS && record_from_steps_json(e->data, e->len, &r, key, &err) == 0) {
		t.parts++;
		t.steps += r->nsteps;
	}
	if (e->kind == SPOOL_RECORD && record_from_json(e->data, e->len, &r, &err) == 0) {
		t.records++;
		t.finals += r->energy.final && r->energy.total_j.value == 7;
		t.without_steps += !r->steps_known;
		t.refilled += r->job_name && !strcmp(r->job_name, "refilled");
		t.scripts += !!r->script;
		t.timeouts += !strcmp(r->state, "TIMEOUT");
		t.steps += r->nsteps;
	}
	record_destroy(r);
}

/* Reads as a sink until WHAT is N; false: it does not come to that. */
static bool until(const unsigned int *what, unsigned int n)
{
	struct timespec nap = { .tv_nsec = 10000000 };
	uint64_t end = clock_mono_ns() + PATIENCE_NS;
	struct spool_entry e;

	while (clock_mono_ns() < end) {
		store_lock(&t.store);
		while (spool_read(t.sink, &e, &err) > 0)
			count(&e);
		store_unlock(&t.store);
		if (*what >= n)
			return *what == n;
		(void)nanosleep(&nap, NULL);
	}
	diag("%u, not %u", *what, n);
	return false;
}

static void reset(void)
{
	t.records = t.finals = t.without_steps = t.parts = t.followups = t.refilled = 0;
	t.scripts = t.timeouts = 0;
	t.steps = 0;
	t.told_ns = 200 * NSEC_PER_MSEC;
	t.followup_ns = 50 * NSEC_PER_MSEC;
	fake.dbd_is_down = false;
	fake.ended = fake.booked = true;
	fake.told = fake.told_once = fake.saved = false;
	fake.gone = fake.unreported = fake.start_untold = fake.relayed = false;
	fake.row_start = fake.row_end = 0;
	fake.steps_of_job_1 = 0;
	t.settings = (struct settings){ .final_energy_wait_ns = NSEC_PER_SEC,
					.step_details_wait_ns = NSEC_PER_SEC,
					.record_max_bytes = 900 << 10,
					/* longer ago than the jobs */
					.correction_wait_ns = UINT64_C(3000000000) * NSEC_PER_SEC,
					.step_details = true };
	scratch_clear(t.dir);
}

static void test_large_job(void)
{
	reset();
	fake.steps_of_job_1 = 20000; /* over SPOOL_DATA_MAX, and below Slurm's default MaxStepCount */
	ok(begin(), "a spool");
	put(1, 20);
	ok(start() && until(&t.records, 20), "a job with 20,000 steps holds up nobody");
	ok(until(&t.parts, t.parts) && t.steps == 20019, "and none of its steps is missing");
	ok(t.parts > 1, "in %u parts and the record", t.parts);
	stop();
}

/* A crash took what is behind the RECORD. */
static void test_lost_parts(void)
{
	struct record *r = fake_record(1, 1700000100);
	struct record_part *part = NULL;
	struct spool_entry e;
	size_t n = 0;
	size_t i;

	reset();
	r->steps = calloc(20000, sizeof(*r->steps));
	r->nsteps = 20000;
	r->steps_known = true;
	ok(record_to_parts(r, 900 << 10, &part, &n, &err) == 0 && n > 2, "a long record");
	fake.steps_of_job_1 = 20000;
	(void)begin();
	put(1, 1);
	(void)store_append(&t.store, SPOOL_RECORD, part[0].key, part[0].json, part[0].len, &err);
	(void)store_append(&t.store, SPOOL_STEPS, part[1].key, part[1].json, part[1].len, &err);
	ok(start() && until(&t.records, 2), "without its last parts it is written again");
	stop();
	ok(t.parts >= n, "with all parts");

	reset();
	(void)begin();
	put(1, 1);
	(void)store_append(&t.store, SPOOL_RECORD, part[0].key, part[0].json, part[0].len, &err);
	for (i = n - 1; i; i--)
		(void)store_append(&t.store, SPOOL_STEPS, part[i].key, part[i].json, part[i].len,
				   &err);
	put(2, 1);
	ok(start() && until(&t.records, 2), "with all of them it is done");
	store_lock(&t.store);
	while (spool_read(t.sink, &e, &err) > 0)
		count(&e);
	store_unlock(&t.store);
	is_u64(t.records, 2, "and nothing is written again");
	stop();
	record_parts_destroy(part, n);
	record_destroy(r);
}

static void test_dbd_down(void)
{
	reset();
	t.settings.step_details_wait_ns = 100 * NSEC_PER_MSEC;
	fake.dbd_is_down = true;
	ok(begin(), "slurmdbd is down");
	put(1, 1000);
	ok(start() && until(&t.records, 1000), "all jobs wait as long as one");
	is_u64(t.without_steps, 1000, "and go without steps");
	ok(t.followups >= 1000, "to be followed up");
	fake.dbd_is_down = false;
	ok(until(&t.records, 2000), "it is back: all are corrected");
	is_u64(t.without_steps, 1000, "with steps");
	stop();
}

static void nap(uint64_t ns)
{
	struct timespec ts = clock_ns_to_timespec(ns);

	(void)nanosleep(&ts, NULL);
}

/* It was down for longer than it is waited for, then told all at once; CommitDelay=1. */
static void test_commit_delay(void)
{
	unsigned int asked;

	reset();
	t.told_ns = 60 * NSEC_PER_SEC;
	t.settings.step_details_wait_ns = 300 * NSEC_PER_SEC;
	fake.dbd_is_down = true;
	fake.booked = false;
	asked = fake.fetches;
	(void)begin();
	put(1, 50);
	ok(start(), "slurmdbd is down");
	while (fake.fetches == asked)
		nap(NSEC_PER_MSEC);
	asked = fake.fetches;
	fake.told = true;
	fake.dbd_is_down = false;
	while (fake.fetches == asked)
		nap(NSEC_PER_MSEC);
	nap(900 * NSEC_PER_MSEC);
	fake.booked = true;
	ok(until(&t.records, 50), "it is back and stores what it was told");
	is_u64(t.without_steps, 0, "the records have their steps");
	is_u64(t.followups, 0, "at once");
	stop();
}

static void test_late_end(void)
{
	reset();
	t.settings.final_energy_wait_ns = 100 * NSEC_PER_MSEC;
	fake.ended = fake.booked = false;
	ok(begin(), "jobs that do not end");
	put(1, 5);
	ok(start() && until(&t.records, 5), "they have records");
	is_u64(t.finals, 0, "that are not final");
	fake.ended = true;
	stop();

	/* another slurmctld */
	(void)begin();
	fake.booked = true;
	t.records = t.without_steps = 0; /* it reads from the beginning */
	put(6, 1);
	ok(start() && until(&t.finals, 6), "the next one corrects them, with the right energy");
	stop();
	is_u64(t.without_steps, 5, "and with steps");

	reset();
	t.settings.final_energy_wait_ns = 100 * NSEC_PER_MSEC;
	t.settings.correction_wait_ns = 0;
	fake.ended = fake.booked = false;
	(void)begin();
	put(1, 5);
	ok(start() && until(&t.records, 5), "CorrectionWait=0: they have records");
	is_u64(t.followups, 0, "which are not followed up");
	stop();
}

static void test_key(void)
{
	reset();
	t.settings.record_script = true;
	(void)begin();
	store_lock(&t.store);
	(void)fake_put(&t.store, SPOOL_KEY, fake_record(1, 1700000100));
	store_unlock(&t.store);
	put(2, 1);
	ok(start() && until(&t.records, 2), "one of which only the key is known");
	is_u64(t.refilled, 2, "it is filled from slurmdbd, and so is what the other lacks");
	is_u64(t.scripts, 2, "both have their scripts");
	stop();
}

/* Slurm told of an end again, with another time, before the record of the first was written. */
static void test_told_again(void)
{
	reset();
	(void)begin();
	store_lock(&t.store);
	(void)fake_put(&t.store, SPOOL_PENDING, fake_record(1, 1700000100));
	(void)fake_put(&t.store, SPOOL_PENDING, fake_record(2, 1700000100));
	(void)fake_put(&t.store, SPOOL_PENDING, fake_record(2, 1700000200));
	(void)fake_put(&t.store, SPOOL_RECORD, fake_record(1, 1700000100));
	(void)fake_put(&t.store, SPOOL_RECORD, fake_record(2, 1700000100));
	store_unlock(&t.store);
	put(3, 1);
	ok(start() && until(&t.records, 4), "the next slurmctld writes that of the second");
	is_u64(t.finals, 2, "beside that of another job");
	stop();
}

/* A slurmctld that was killed runs a job again, under the same key and within the same second. */
static void test_run_again(void)
{
	struct record *again = fake_record(1, 1700000100);

	reset();
	again->start++;
	(void)begin();
	store_lock(&t.store);
	(void)fake_put(&t.store, SPOOL_PENDING, fake_record(1, 1700000100));
	(void)fake_put(&t.store, SPOOL_PENDING, again);
	(void)fake_put(&t.store, SPOOL_RECORD, fake_record(1, 1700000100));
	store_unlock(&t.store);
	ok(start() && until(&t.records, 2), "the record of the first run is not the second's");
	stop();

	reset();
	t.settings.correction_wait_ns = 0;
	fake.gone = true;
	fake.row_start = 1700000050;
	fake.row_end = 1700000100;
	(void)begin();
	put(1, 1);
	ok(start() && until(&t.records, 1), "slurmdbd has the second run");
	is_u64(t.without_steps, 1, "whose steps are not the first's");
	is_u64(t.timeouts, 0, "nor is its end");
	stop();
}

/* slurmdbd has the end that a killed slurmctld told it before. */
static void test_older_row(void)
{
	reset();
	t.settings.step_details_wait_ns = 100 * NSEC_PER_MSEC;
	fake.row_start = 1700000000;
	fake.row_end = 1700000050;
	(void)begin();
	put(1, 1);
	ok(start() && until(&t.records, 1), "slurmdbd does not know of this end");
	is_u64(t.timeouts, 0, "the record has the one that was told");
	ok(t.followups >= 1, "and is followed up");
	fake.row_end = 1700000100;
	ok(until(&t.records, 2) && t.timeouts == 1, "then it does");
	stop();

	reset();
	fake.row_start = 1700000000;
	fake.row_end = 1700000050;
	fake.told = true;
	(void)begin();
	put(1, 1);
	ok(start() && until(&t.records, 1), "slurmdbd will never know of it");
	is_u64(t.timeouts, 1, "the record says what sacct says");
	is_u64(t.followups, 0, "for good");
	stop();
}

/* Of a node that failed, or of a slurmctld that was killed: nobody will tell of the steps' end. */
static void test_all_told(void)
{
	unsigned int asked;
	uint64_t began;

	reset();
	t.settings.final_energy_wait_ns = 100 * NSEC_PER_MSEC;
	t.settings.step_details_wait_ns = 60 * NSEC_PER_SEC;
	fake.unreported = fake.gone = fake.told = true;
	(void)begin();
	put(1, 3);
	ok(start() && until(&t.records, 3), "steps whose usage slurmdbd will not be told");
	is_u64(t.without_steps + t.followups, 0, "are in the records, for good");
	stop();

	reset();
	t.settings.step_details_wait_ns = 100 * NSEC_PER_MSEC;
	fake.unreported = fake.told = fake.start_untold = true;
	(void)begin();
	put(1, 3);
	ok(start() && until(&t.records, 3), "jobs whose start slurmdbd has yet to be told");
	ok(t.followups >= 3, "are looked at again");
	stop();

	/* with a stepmgr that slurmctld's queue is empty says nothing */
	reset();
	t.settings.step_details_wait_ns = 100 * NSEC_PER_MSEC;
	fake.unreported = fake.told = fake.relayed = true;
	(void)begin();
	put(1, 3);
	ok(start() && until(&t.records, 3), "jobs whose own node tells of their steps");
	ok(t.followups >= 3, "are looked at again");
	stop();

	reset();
	t.settings.step_details_wait_ns = 60 * NSEC_PER_SEC;
	fake.relayed = true;
	(void)begin();
	began = clock_mono_ns();
	put(1, 3);
	ok(start() && until(&t.records, 3), "and steps that all have usage");
	ok(clock_mono_ns() - began >= 3 * NSEC_PER_SEC, "wait for those that may be on their way");
	is_u64(t.finals, 3, "are final");
	stop();

	reset();
	t.settings.step_details_wait_ns = 60 * NSEC_PER_SEC;
	fake.relayed = fake.dbd_is_down = true;
	asked = fake.fetches;
	(void)begin();
	put(1, 3);
	(void)start();
	while (fake.fetches == asked)
		nap(NSEC_PER_MSEC);
	nap(3 * NSEC_PER_SEC);
	fake.answered_mono_ns = 0;
	fake.dbd_is_down = false;
	ok(until(&t.records, 3) && clock_mono_ns() - fake.answered_mono_ns >= 3 * NSEC_PER_SEC,
	   "also behind an outage");
	stop();

	reset();
	t.settings.step_details_wait_ns = 60 * NSEC_PER_SEC;
	fake.gone = fake.told = true;
	fake.booked = false;
	(void)begin();
	put(1, 3);
	ok(start() && until(&t.records, 3), "jobs of which slurmdbd was not told");
	is_u64(t.followups, 0, "are not looked for again");
	stop();
}

/* Others keep slurmctld's queue to slurmdbd from being empty, or what is on disk is not in it. */
static void test_told_by_then(void)
{
	unsigned int asked;

	reset();
	t.settings.step_details_wait_ns = 300 * NSEC_PER_SEC;
	fake.unreported = fake.told = fake.told_once = true;
	(void)begin();
	put(1, 3);
	ok(start() && until(&t.records, 3), "slurmdbd was told all of jobs, and is told of others");
	is_u64(t.without_steps + t.followups, 0, "they are done");
	stop();

	reset();
	t.settings.step_details_wait_ns = 2 * PATIENCE_NS;
	t.followup_ns = 2 * PATIENCE_NS;
	fake.told = fake.saved = true;
	asked = fake.fetches;
	(void)begin();
	put(1, 3);
	ok(start() && until(&t.records, 3),
	   "messages on disk may be about jobs, which do not wait for them for long");
	asked = fake.fetches - asked;
	ok(asked <= 20, "nor ask all the time: %u questions", asked);
	ok(t.followups >= 3, "and are looked at again");
	stop();
}

static void test_backlog(void)
{
	reset();
	fake.largest = 0;
	(void)begin();
	put(1, 25000); /* more than it may hold */
	ok(start() && until(&t.records, 25000), "a backlog of 25,000 jobs");
	ok(fake.largest > 64 && fake.largest <= 1000, "is asked for in large questions: %u",
	   fake.largest);
	is_u64(t.finals, 25000, "all final");
	stop();
}

int main(void)
{
	(void)snprintf(t.dir, sizeof(t.dir), "%s", SCRATCH_TEMPLATE);
	if (!mkdtemp(t.dir))
		return 1;
	test_large_job();
	test_lost_parts();
	test_dbd_down();
	test_commit_delay();
	test_late_end();
	test_key();
	test_told_again();
	test_run_again();
	test_older_row();
	test_all_told();
	test_told_by_then();
	test_backlog();
	scratch_clear(t.dir);
	(void)rmdir(t.dir);
	return done_testing();
}
