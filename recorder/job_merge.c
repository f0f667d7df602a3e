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
	record_fill_in(facts, row);
	facts->energy.row_j = row->energy.row_j;
	if (row->steps_known) {
		record_steps_destroy(facts->steps, facts->nsteps);
		facts->steps = TAKE_PTR(row->steps);
		facts->nsteps = row->nsteps;
		facts->steps_known = true;
		row->nsteps = 0;
	}
}
