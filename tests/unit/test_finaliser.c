/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One job or one server in trouble must not keep the records of the others: the finaliser with
 * fakes for slurmctld and slurmdbd.
 */
#include "jobcomp/finaliser.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "jobcomp/finality.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#include "scratch.h"
#include "tap.h"

#define PATIENCE_NS (30 * NSEC_PER_SEC) /* of a test that fails */

static struct errmsg err;
static bool dbd_is_down;
static size_t steps_of_first_job;

/* --- fakes ------------------------------------------------------------------------------- */

void finality_poll(struct finality_query *q, size_t n)
{
	while (n--) {
		q->energy_j = (struct maybe_u64){ 7, true };
		q++->state = FINALITY_ENDED;
	}
}

int steps_fetch(struct steps *s, struct steps_query *q, size_t n, struct errmsg *why)
{
	(void)s;
	if (dbd_is_down)
		return errmsg_set(why, -EAGAIN, "slurmdbd does not answer");
	for (; n--; q++) {
		q->state = STEPS_ENDED;
		q->nsteps = q->job_id == 1 ? steps_of_first_job : 1;
		q->steps = calloc(q->nsteps, sizeof(*q->steps));
	}
	return 0;
}

/* --- a spool with jobs in it ------------------------------------------------------------- */

static void put_pending(struct store *s, uint32_t job_id)
{
	struct record *r = record_create();
	_cleanup_free_ char *json = NULL;
	char key[RECORD_KEY_MAX];
	size_t len;

	r->cluster = strdup("c");
	r->state = strdup("COMPLETED");
	r->user_name = strdup("u");
	r->group_name = strdup("g");
	r->job_id = job_id;
	r->start = 1700000000;
	r->end = 1700000100;
	if (record_key(r, key, sizeof(key)) == 0 && record_to_json(r, &json, &len, &err) == 0)
		(void)store_append(s, SPOOL_PENDING, key, json, len, &err);
	record_destroy(r);
}

static void *finaliser_main(void *arg)
{
	finaliser_run(arg);
	return NULL;
}

/* How many of N jobs get a record. */
static unsigned int run(unsigned int n, uint64_t wait_ns)
{
	char dir[] = SCRATCH_TEMPLATE;
	struct settings settings = { .final_energy_wait_ns = wait_ns };
	static struct finaliser f;
	struct store store;
	struct spool_cursor *sink = NULL;
	struct spool_entry e;
	struct timespec nap = { .tv_nsec = 20000000 };
	uint64_t until = clock_mono_ns() + PATIENCE_NS;
	unsigned int records = 0;
	pthread_t thread;
	uint32_t i;

	f = (struct finaliser){ .store = &store,
				.settings = &settings,
				.steps = (struct steps *)&store /* not looked into */ };
	if (!mkdtemp(dir) || store_init(&store, UINT64_C(1) << 30) < 0 ||
	    spool_open(dir, store.max_bytes, &store.spool, &err) < 0 ||
	    spool_cursor_open(store.spool, "sink", &sink, &err) < 0 ||
	    finaliser_open(&f, &err) < 0)
		return 0;
	for (i = 1; i <= n; i++)
		put_pending(&store, i);
	if (pthread_create(&thread, NULL, finaliser_main, &f))
		return 0;
	while (records < n && clock_mono_ns() < until) {
		(void)nanosleep(&nap, NULL);
		store_lock(&store);
		while (spool_read(sink, &e, &err) > 0)
			records += e.kind == SPOOL_RECORD;
		store_unlock(&store);
	}
	store_stop(&store);
	(void)pthread_join(thread, NULL);
	spool_cursor_close(sink);
	store_fini(&store);
	scratch_clear(dir);
	(void)rmdir(dir);
	return records;
}

int main(void)
{
	/* over SPOOL_DATA_MAX with them, and below Slurm's default MaxStepCount */
	steps_of_first_job = 20000;
	is_u64(run(20, NSEC_PER_SEC), 20, "a job with 20,000 steps holds up nobody");
	dbd_is_down = true;
	is_u64(run(1000, 100 * NSEC_PER_MSEC), 1000,
	       "without slurmdbd all jobs wait as long as one");
	return done_testing();
}
