/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_merge.h - makes one record from the facts of the plugin's hook and from slurmdbd's row. The hook knows the
 * owner and the request of the job. slurmdbd adds its end, its energy, its steps, and facts that the hook did not
 * have.
 */
#ifndef CEEMS_RECORDER_JOB_MERGE_H
#define CEEMS_RECORDER_JOB_MERGE_H

#include "recorder/slurmdb_rows.h"
#include "src/libstore/job_facts.h"

/*
 * Whether ROW is of the run that the facts F are of. A slurmctld that is killed may forget a run,
 * or the end of a run. The job then runs again under the same key. RUN_EARLIER: slurmdbd has not
 * committed the end of F's run yet. RUN_LATER: the hook tells the later run with facts of its own.
 */
enum job_merge_run { RUN_SAME, RUN_EARLIER, RUN_LATER };
enum job_merge_run job_merge_run_of(const struct job_facts *f, const struct record *row);

/*
 * Adds to FACTS what ROW has. Takes over ROW's texts and steps. For a part of a resized job, the
 * state, the times and the exit codes stay those of the hook, since slurmdbd's row of a part does
 * not have them.
 */
void job_merge(struct record *facts, struct record *row);

#endif
