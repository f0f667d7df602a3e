/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_ctld.h - slurmctld and slurmdbd as the finaliser sees them, and a spool with jobs in it. Job
 * N is over in slurmctld from the time fake.ended says so, and in slurmdbd from fake.booked; there it
 * began and ended as was told, unless fake.row says otherwise.
 */
#ifndef CEEMS_TESTS_FAKE_CTLD_H
#define CEEMS_TESTS_FAKE_CTLD_H

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "jobcomp/dbd_told.h"
#include "jobcomp/dbd_view.h"
#include "jobcomp/finality.h"
#include "jobcomp/steps.h"
#include "jobcomp/store.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

static struct {
	atomic_bool dbd_is_down;
	atomic_bool ended, booked;
	atomic_bool gone; /* slurmctld has purged them, and steps were not measured */
	atomic_bool unreported; /* a step has no usage */
	atomic_bool told;	/* slurmdbd was told all */
	atomic_bool told_once;	/* and by the next look there is more to tell, of other jobs */
	atomic_bool saved;	/* another slurmctld left messages about them on disk */
	atomic_bool start_untold; /* but of the jobs' start */
	atomic_bool relayed; /* a node tells of the steps */
	atomic_ullong row_start, row_end;
	atomic_uint polls, fetches, largest;
	atomic_ullong answered_mono_ns; /* slurmdbd answered for the first time; reset by the test */
	size_t steps_of_job_1; /* others have one */
} fake;

void finality_poll(struct finality_query *q, size_t n)
{
	fake.polls++;
	for (; n--; q++) {
		q->energy_j = (struct maybe_u64){ fake.ended ? 7 : 3, true };
		q->state = fake.ended ? FINALITY_ENDED : FINALITY_COMPLETING;
		q->start_untold = fake.start_untold;
		q->is_relayed = fake.relayed;
		if (fake.gone) {
			q->energy_j.known = false;
			q->state = FINALITY_GONE;
		}
	}
}

bool dbd_told_all(void)
{
	return fake.told_once ? atomic_exchange(&fake.told, false) : fake.told;
}

/* What slurmdbd has of the job, and how far it is to be trusted. */
static void fake_row(struct steps_query *q)
{
	struct dbd_view view = { .told_end = q->end,
				 .all_told = q->all_told,
				 .is_saved = q->is_saved,
				 .end = fake.row_end ? fake.row_end : q->end,
				 .lacks_usage = fake.unreported };
	enum dbd_word word = dbd_view_word(&view);

	q->state = word == DBD_LAST ? STEPS_ENDED : STEPS_OPEN;
	q->unsure = word != DBD_NOT_YET && dbd_view_is_doubtful(&view);
	if (word == DBD_NOT_YET || !fake.row_end)
		return;
	q->outcome = (struct outcome){ .known = true,
				       .start = fake.row_start,
				       .end = fake.row_end,
				       .state = "TIMEOUT" };
}

bool steps_is_stopping(const struct steps *s)
{
	(void)s;
	return false;
}

int steps_fetch(struct steps *s, struct steps_query *q, size_t n, struct errmsg *why)
{
	size_t i;

	(void)s;
	fake.fetches++;
	if (n > fake.largest)
		fake.largest = (unsigned int)n;
	if (fake.dbd_is_down)
		return errmsg_set(why, -EAGAIN, "slurmdbd does not answer");
	if (!fake.answered_mono_ns)
		fake.answered_mono_ns = clock_mono_ns();
	for (; n--; q++) {
		q->is_saved = fake.saved;
		if (q->is_saved)
			q->all_told = false;
		if (!fake.booked)
			continue;
		fake_row(q);
		q->nsteps = q->job_id == 1 && fake.steps_of_job_1 ? fake.steps_of_job_1 : 1;
		q->steps = calloc(q->nsteps, sizeof(*q->steps));
		for (i = 0; fake.gone && i < q->nsteps; i++)
			figures_init(&q->steps[i].figures);
		if (q->wants_script)
			q->script = strdup("#!/bin/sh\n");
		if (q->refill && !q->refill->job_name)
			q->refill->job_name = strdup("refilled");
	}
	return 0;
}

static inline struct record *fake_record(uint32_t job_id, uint64_t end)
{
	struct record *r = record_create();

	r->cluster = strdup("c");
	r->state = strdup("COMPLETED");
	r->user_name = strdup("u");
	r->group_name = strdup("g");
	r->job_id = job_id;
	r->start = end - 100;
	r->end = end;
	return r;
}

static inline int fake_put(struct store *s, enum spool_kind kind, struct record *r)
{
	_cleanup_free_ char *json = NULL;
	char key[RECORD_KEY_MAX];
	size_t len;
	int rc = record_key(r, key, sizeof(key));

	if (rc == 0)
		rc = record_to_json(r, &json, &len, NULL);
	if (rc == 0)
		rc = store_append(s, kind, key, json, len, NULL);
	record_destroy(r);
	return rc;
}

#endif
