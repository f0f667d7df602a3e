/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/job_merge.h"

#include <stdlib.h>

#include "tap.h"

static struct record *record(const char *state, uint64_t submit, uint64_t start, uint64_t end)
{
	struct record *r = record_create();

	r->state = strdup(state);
	r->submit = submit;
	r->start = start;
	r->end = end;
	return r;
}

static void test_hook_wins(void)
{
	struct record *facts = record("COMPLETED", 10, 20, 30);
	struct record *row = record("FAILED", 10, 20, 31);

	facts->account = strdup("told");
	row->account = strdup("row");
	row->qos = strdup("normal");
	row->user_id = 7;
	row->exit_code = 3;
	row->derived_exit_signal = 9;
	row->time_limit_min = (struct maybe_u64){ 60, true };
	row->steps = calloc(2, sizeof(*row->steps));
	row->nsteps = 2;
	row->steps_known = true;
	job_merge(facts, row);
	is_str(facts->account, "told", "the account is the hook's");
	is_str(facts->qos, "normal", "what the hook did not have is the row's");
	is_u64(facts->user_id, 7, "a number, too");
	is_u64(facts->time_limit_min.value, 60, "and one that may be unknown");
	is_str(facts->state, "FAILED", "the state is the row's");
	is_u64(facts->end, 31, "and the end");
	is_int(facts->exit_code, 3, "and the exit code");
	is_int(facts->derived_exit_signal, 9, "and which signal ended a step");
	ok(facts->steps_known && facts->nsteps == 2 && !row->nsteps, "the steps are taken over");
	record_destroy(facts);
	record_destroy(row);
}

static void test_resized(void)
{
	struct record *facts = record("RESIZING", 10, 20, 30);
	struct record *row = record("COMPLETED", 10, 20, 99);

	job_merge(facts, row);
	is_str(facts->state, "RESIZING", "a resized part keeps the hook's state");
	is_u64(facts->end, 30, "and the hook's end");
	record_destroy(facts);
	record_destroy(row);
}

static void test_open_row(void)
{
	struct record *facts = record("COMPLETED", 10, 20, 30);
	struct record *row = record("RUNNING", 10, 20, 0);

	job_merge(facts, row);
	is_str(facts->state, "COMPLETED", "a row without an end keeps the hook's state");
	ok(!facts->steps_known, "and the steps stay unknown");
	record_destroy(facts);
	record_destroy(row);
}

static void test_other_run(void)
{
	struct job_facts facts = { .submit = 10, .start = 20, .end = 30 };
	struct record *row = record("COMPLETED", 10, 25, 40);

	is_int(job_merge_run_of(&facts, row), RUN_LATER, "a later start is a later run");
	row->start = 20;
	is_int(job_merge_run_of(&facts, row), RUN_SAME, "the same start is the same");
	row->start = 15;
	is_int(job_merge_run_of(&facts, row), RUN_SAME, "so is an earlier one with this end, or a later end");
	row->end = 16;
	is_int(job_merge_run_of(&facts, row), RUN_EARLIER, "an earlier start and end are an earlier run's");
	row->start = 5;
	is_int(job_merge_run_of(&facts, row), RUN_SAME, "a start before the submit time is a resized job's");
	row->start = 25;
	row->end = 0;
	is_int(job_merge_run_of(&facts, row), RUN_SAME, "an open row is of the same run");
	row->end = 40;
	facts.start = 0;
	is_int(job_merge_run_of(&facts, row), RUN_SAME,
	       "any row is of the same run if the job never ran by the hook");
	record_destroy(row);
}

int main(void)
{
	test_hook_wins();
	test_resized();
	test_open_row();
	test_other_run();
	return done_testing();
}
