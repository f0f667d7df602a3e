/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/job_record.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/util.h"

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
	facts->suspended_s = (struct maybe_u64){ 4, true };
	row->suspended_s = (struct maybe_u64){ 5, true };
	row->steps = calloc(2, sizeof(*row->steps));
	row->nsteps = 2;
	row->steps_known = true;
	job_record_complete(facts, row);
	is_str(facts->account, "told", "the account is the hook's");
	is_str(facts->qos, "normal", "what the hook did not have is the row's");
	is_u64(facts->user_id, 7, "a number, too");
	is_u64(facts->time_limit_min.value, 60, "and one that may be unknown");
	is_u64(facts->suspended_s.value, 5, "suspended time is the row's, as sacct has it");
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

	job_record_complete(facts, row);
	is_str(facts->state, "RESIZING", "a resized part keeps the hook's state");
	is_u64(facts->end, 30, "and the hook's end");
	record_destroy(facts);
	record_destroy(row);
}

static void test_open_row(void)
{
	struct record *facts = record("COMPLETED", 10, 20, 30);
	struct record *row = record("RUNNING", 10, 20, 0);

	facts->suspended_s = (struct maybe_u64){ 4, true };
	job_record_complete(facts, row);
	ok(facts->suspended_s.known && facts->suspended_s.value == 4,
	   "the hook's suspended time, without the row's");
	is_str(facts->state, "COMPLETED", "a row without an end keeps the hook's state");
	ok(!facts->steps_known, "and the steps stay unknown");
	record_destroy(facts);
	record_destroy(row);
}

static void test_other_run(void)
{
	struct job_facts facts = { .submit = 10, .start = 20, .end = 30 };
	struct record *row = record("COMPLETED", 10, 25, 40);

	is_int(job_record_run_of(&facts, row), RUN_LATER, "a later start is a later run");
	row->start = 20;
	is_int(job_record_run_of(&facts, row), RUN_SAME, "the same start is the same");
	row->start = 15;
	is_int(job_record_run_of(&facts, row), RUN_SAME,
	       "so is an earlier one with this end, or a later end");
	row->end = 16;
	is_int(job_record_run_of(&facts, row), RUN_EARLIER, "an earlier start and end are an earlier run's");
	row->start = 5;
	is_int(job_record_run_of(&facts, row), RUN_SAME, "a start before the submit time is a resized job's");
	row->start = 25;
	row->end = 0;
	is_int(job_record_run_of(&facts, row), RUN_SAME, "an open row is of the same run");
	row->end = 40;
	facts.start = 0;
	is_int(job_record_run_of(&facts, row), RUN_SAME,
	       "any row is of the same run if the job never ran by the hook");
	record_destroy(row);
}

static struct job_facts f; /* too large for the stack */

static void fill(const char *nodes)
{
	unsigned int i;

	memset(&f, 0, sizeof(f));
	f.job_id = 7;
	f.array_job_id = f.array_task_id = FACT_UNKNOWN;
	f.het_job_id = f.het_job_offset = FACT_UNKNOWN;
	f.time_limit_min = 60;
	f.submit = 1700000000;
	f.exit_status = 0x300;
	f.derived_status = 9;
	for (i = 0; i < FACT_TEXT_N; i++)
		job_facts_add_text(&f, (enum fact_text)i,
				   i == FACT_NODES   ? nodes :
				   i == FACT_COMMENT ? NULL :
						       "text");
}

static size_t bound(unsigned int which)
{
	return which == FACT_NODES ? FACT_NODES_MAX : FACT_TEXT_MAX;
}

static void test_facts(void)
{
	static const struct job_key key = { .job_id = 9,
					    .array_job_id = FACT_UNKNOWN,
					    .array_task_id = FACT_UNKNOWN,
					    .het_job_id = FACT_UNKNOWN,
					    .het_job_offset = FACT_UNKNOWN };
	static char longest[FACT_NODES_MAX * 2];
	char of_record[RECORD_KEY_MAX], of_facts[RECORD_KEY_MAX];
	struct record *r = NULL;
	unsigned int i;

	fill("n1");
	is_int(job_record_create(&f, 10, "c", &r), -EINVAL, "less than the fixed part");
	is_int(job_record_create(&f, job_facts_size(&f) - 1, "c", &r), -EINVAL, "a byte less");
	is_int(job_record_create(&f, job_facts_size(&f) + 1, "c", &r), -EINVAL, "a byte more");
	f.text_len[FACT_NODES] = 65535;
	is_int(job_record_create(&f, job_facts_size(&f), "c", &r), -EINVAL, "a text longer than all");
	ok(!r, "none of them made a record");

	fill("n1");
	is_int(job_record_create(&f, job_facts_size(&f), "c", &r), 0, "facts");
	is_str(r->cluster, "c", "the cluster");
	is_str(r->job_name, "text", "the first text");
	is_str(r->array_tasks, "text", "the last text");
	is_str(r->nodes, "n1", "one in between");
	ok(!r->comment, "what is not there is unknown");
	ok(!r->array_task_id.known && !r->het_job_id.known && !r->db_index.known, "numbers, too");
	is_u64(r->time_limit_min.value, 60, "a number");
	ok(r->exit_code == 3 && !r->exit_signal, "an exit code");
	ok(!r->derived_exit_code && r->derived_exit_signal == 9, "the signal that ended a step");
	ok(!r->is_resized, "no part of a resized job");
	ok(r->suspended_s.known && !r->suspended_s.value, "it was not suspended");
	is_int(record_key(r, of_record, sizeof(of_record)), 0, "the record has a key");
	is_int(job_record_key(&f, job_facts_size(&f), "c", of_facts, sizeof(of_facts)), 0, "the facts, too");
	is_str(of_facts, of_record, "the same key");
	record_destroy(r);
	f.flags = FACT_IS_RESIZED;
	f.suspended_s = UINT64_MAX;
	require(job_record_create(&f, job_facts_size(&f), "c", &r) == 0);
	ok(r->is_resized, "a later part of a resized job");
	ok(!r->suspended_s.known, "  whose suspended time is not known");
	record_destroy(r);
	f.het_job_id = 6;
	f.het_job_offset = 1;
	require(job_record_key(&f, job_facts_size(&f), "c", of_facts, sizeof(of_facts)) == 0);
	is_str(of_facts, "c/7,1700000000,0/1", "of a component of a het job");
	f.text_len[FACT_NODES] = 65535;
	is_int(job_record_key(&f, job_facts_size(&f), "c", of_facts, sizeof(of_facts)), -EINVAL,
	       "invalid facts have no key");

	memset(longest, 'x', sizeof(longest) - 1);
	memset(&f, 0, sizeof(f));
	for (i = 0; i < FACT_TEXT_N; i++)
		job_facts_add_text(&f, (enum fact_text)i, longest + sizeof(longest) - 1 - bound(i));
	is_u64(f.text_used, FACT_BUFFER, "the longest texts fill the buffer");
	is_u64(f.left_out, 0, "none is left out");
	is_int(job_record_create(&f, job_facts_size(&f), "c", &r), 0, "and come back");
	is_u64(strlen(r->nodes), FACT_NODES_MAX, "whole");
	is_u64(strlen(r->array_tasks), FACT_TEXT_MAX, "to the last");
	record_destroy(r);

	memset(&f, 0, sizeof(f));
	for (i = 0; i < FACT_TEXT_N; i++)
		job_facts_add_text(&f, (enum fact_text)i, longest + sizeof(longest) - 2 - bound(i));
	is_u64(f.text_used, 0, "longer ones are not cut");
	is_u64(f.left_out, (UINT32_C(1) << FACT_TEXT_N) - 1, "but left out, and marked in left_out");
	is_int(job_record_create(&f, job_facts_size(&f), "c", &r), 0,
	       "facts without those texts make a record");
	ok(!r->nodes && !r->job_name, "in which they are unknown");
	record_destroy(r);
	job_facts_from_key(&key, &f);
	is_int(job_record_create(&f, job_facts_size(&f), "c", &r), 0, "facts of a key alone");
	is_u64(r->job_id, 9, "with the job");
	ok(!r->qos && !r->state && !r->priority.known && !r->time_limit_min.known && !r->array_job_id.known &&
		   !r->group_id && !r->exit_code && !r->exit_signal,
	   "and nothing that is not known");
	record_destroy(r);
}

int main(void)
{
	test_facts();
	test_hook_wins();
	test_resized();
	test_open_row();
	test_other_run();
	return done_testing();
}
