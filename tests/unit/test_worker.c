/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin's threads end with the daemon. One that hangs is left behind, but the spool is not: a
 * backup controller needs it.
 */
#include "jobcomp/worker.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "jobcomp/census.h"
#include "jobcomp/dbd_told.h"
#include "jobcomp/finality.h"
#include "jobcomp/job_facts.h"
#include "jobcomp/resizes.h"
#include "jobcomp/steps.h"
#include "src/libsink/spool.h"
#include "src/libutil/clock.h"
#include "src/libutil/logger.h"

#include "scratch.h"
#include "tap.h"

/* --- fakes ------------------------------------------------------------------------------- */

static atomic_bool hangs, waits_for_stop, is_asked, is_freed;
static atomic_uint nerrors;
static time_t stop_time;

static void count_errors(enum logger_level level, const char *line)
{
	(void)line;
	nerrors += level == LOGGER_ERROR;
}

const char *job_state_name(uint32_t state)
{
	(void)state;
	return "COMPLETED";
}

void resizes_load(void)
{
}

void census_jobs(uint64_t since, void (*fn)(void *arg, const struct job_facts *facts), void *arg)
{
	(void)since;
	(void)fn;
	(void)arg;
}

void finality_poll(struct finality_query *q, size_t n)
{
	for (; n--; q++)
		q->state = FINALITY_ENDED;
}

static void nap(void)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

bool dbd_told_all(void)
{
	return false;
}

bool steps_is_stopping(const struct steps *s)
{
	(void)s;
	return __atomic_load_n(&stop_time, __ATOMIC_RELAXED);
}

int steps_fetch(struct steps *s, struct steps_query *q, size_t n, struct errmsg *why)
{
	(void)q;
	(void)n;
	is_asked = true;
	while (hangs || (waits_for_stop && !steps_is_stopping(s)))
		nap();
	return errmsg_set(why, -EAGAIN, "slurmdbd does not answer");
}

void steps_destroy(struct steps *s)
{
	(void)s;
	is_freed = true;
}

/* ----------------------------------------------------------------------------------------- */

static char dir[] = SCRATCH_TEMPLATE;
static struct job_facts facts;

static struct worker *start(void)
{
	static struct settings settings;
	struct worker_setup setup = { .settings = &settings,
				      .cluster = "c",
				      .state_dir = dir,
				      .steps = (struct steps *)&settings /* not looked into */,
				      .steps_stop = &stop_time };
	struct errmsg err = { 0 };
	struct worker *w = NULL;

	settings = (struct settings){ .spool_max_bytes = UINT64_C(1) << 24,
				      .step_details = true,
				      .step_details_wait_ns = 600 * NSEC_PER_SEC,
				      .final_energy_wait_ns = 600 * NSEC_PER_SEC,
				      .record_max_bytes = 1 << 20 };
	(void)snprintf(settings.spool_dir, sizeof(settings.spool_dir), "%s/spool", dir);
	is_freed = is_asked = false;
	stop_time = 0;
	if (worker_start(&setup, &w, &err) < 0)
		diag("%s", err.text);
	return w;
}

static void end_job(struct worker *w)
{
	size_t i;

	facts = (struct job_facts){ .job_id = 1, .state = 3, .submit = 1, .start = 2 };
	facts.end = clock_wall_ns() / NSEC_PER_SEC;
	facts.array_job_id = facts.array_task_id = FACT_UNKNOWN;
	facts.het_job_id = facts.het_job_offset = FACT_UNKNOWN;
	for (i = 0; i < FACT_TEXT_N; i++)
		job_facts_add_text(&facts, (enum fact_text)i, "x");
	(void)feed_push(worker_feed(w), &facts, job_facts_size(&facts));
}

static void wait_asked(void)
{
	uint64_t until = clock_mono_ns() + 300 * NSEC_PER_SEC;

	while (!is_asked && clock_mono_ns() < until)
		nap();
}

static int try_spool(void)
{
	struct spool *s = NULL;
	int rc = spool_open(scratch_path(dir, "spool"), UINT64_C(1) << 24, &s, NULL);

	spool_close(s);
	return rc;
}

int main(void)
{
	uint64_t until = clock_mono_ns() + 300 * NSEC_PER_SEC;
	struct worker *w;

	if (!mkdtemp(dir))
		return 1;
	logger_set_sink(count_errors);
	waits_for_stop = true;
	w = start();
	end_job(w);
	wait_asked();
	ok(worker_stop(w), "all threads end while slurmdbd is asked");
	is_int(nerrors, 0, "of which nobody hears as an error");

	waits_for_stop = false;
	w = start();
	end_job(w);
	wait_asked();
	ok(worker_stop(w), "all threads end");
	ok(is_freed, "and nothing is left");
	is_int(try_spool(), 0, "the spool is free");

	hangs = true;
	w = start();
	wait_asked();
	ok(is_asked, "what waits is taken up again, and slurmdbd hangs");
	ok(!worker_stop(w), "a thread is left behind");
	is_int(try_spool(), -EBUSY, "it has the spool");
	hangs = false;
	while (try_spool() < 0 && clock_mono_ns() < until)
		nap();
	is_int(try_spool(), 0, "until it ends");
	ok(is_freed, "and nothing is left");
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
