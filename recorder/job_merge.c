/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder/job_merge.h"

#include <stdlib.h>
#include <string.h>

#include "src/libutil/util.h"

enum job_merge_run job_merge_run_of(const struct job_facts *f, const struct record *row)
{
	/* a start before the submit time is that of a resized job's first part */
	if (!row->end || !f->start || row->start < f->submit)
		return RUN_SAME;
	if (row->start > f->start)
		return RUN_LATER;
	return row->start < f->start && row->end < f->end ? RUN_EARLIER : RUN_SAME;
}

static void merge_text(char **to, char **from)
{
	if (!*to)
		*to = TAKE_PTR(*from);
}

static void merge_number(struct maybe_u64 *to, struct maybe_u64 from)
{
	if (!to->known)
		*to = from;
}

static void merge_u32(uint32_t *to, uint32_t from)
{
	if (!*to)
		*to = from;
}

static void merge_time(uint64_t *to, uint64_t from)
{
	if (!*to)
		*to = from;
}

static void merge_texts(struct record *facts, struct record *row)
{
	merge_text(&facts->sluid, &row->sluid);
	merge_text(&facts->job_name, &row->job_name);
	merge_text(&facts->user_name, &row->user_name);
	merge_text(&facts->group_name, &row->group_name);
	merge_text(&facts->account, &row->account);
	merge_text(&facts->partition, &row->partition);
	merge_text(&facts->qos, &row->qos);
	merge_text(&facts->wckey, &row->wckey);
	merge_text(&facts->state, &row->state);
	merge_text(&facts->nodes, &row->nodes);
	merge_text(&facts->work_dir, &row->work_dir);
	merge_text(&facts->reservation, &row->reservation);
	merge_text(&facts->submit_host, &row->submit_host);
	merge_text(&facts->comment, &row->comment);
	merge_text(&facts->tres_req, &row->tres_req);
	merge_text(&facts->tres_alloc, &row->tres_alloc);
	merge_text(&facts->array_tasks, &row->array_tasks);
	merge_text(&facts->script, &row->script);
}

static void merge_numbers(struct record *facts, const struct record *row)
{
	merge_number(&facts->db_index, row->db_index);
	merge_number(&facts->array_job_id, row->array_job_id);
	merge_number(&facts->array_task_id, row->array_task_id);
	merge_number(&facts->het_job_id, row->het_job_id);
	merge_number(&facts->het_job_offset, row->het_job_offset);
	merge_number(&facts->time_limit_min, row->time_limit_min);
	merge_number(&facts->priority, row->priority);
	merge_u32(&facts->user_id, row->user_id);
	merge_u32(&facts->group_id, row->group_id);
	merge_u32(&facts->total_nodes, row->total_nodes);
	merge_u32(&facts->total_cpus, row->total_cpus);
	merge_time(&facts->eligible, row->eligible);
	merge_time(&facts->start, row->start);
}

/*
 * Merges the job's end. slurmctld reports an end to slurmdbd and to the hook at the same time.
 * After it was killed, slurmctld may report another end; slurmdbd has the last one, whatever the
 * order of arrival here.
 */
static void merge_ending(struct record *facts, struct record *row)
{
	if (!row->end || (facts->state && !strcmp(facts->state, "RESIZING")))
		return;
	if (row->state) {
		free(facts->state);
		facts->state = TAKE_PTR(row->state);
	}
	facts->end = row->end;
	facts->exit_code = row->exit_code;
	facts->exit_signal = row->exit_signal;
	facts->derived_exit_code = row->derived_exit_code;
	facts->derived_exit_signal = row->derived_exit_signal;
}

void job_merge(struct record *facts, struct record *row)
{
	merge_ending(facts, row);
	merge_texts(facts, row);
	merge_numbers(facts, row);
	if (row->steps_known) {
		record_steps_destroy(facts->steps, facts->nsteps);
		facts->steps = TAKE_PTR(row->steps);
		facts->nsteps = row->nsteps;
		facts->steps_known = true;
		row->nsteps = 0;
	}
}
