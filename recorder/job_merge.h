/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_merge.h - makes one record from the facts of the plugin's hook and slurmdbd's row. The hook
 * knows the owner and the request of the job; slurmdbd adds the end, the energy, the steps, and
 * facts that the hook did not have.
 */
#ifndef CEEMS_RECORDER_JOB_MERGE_H
#define CEEMS_RECORDER_JOB_MERGE_H

#include "slurmdb/slurmdb_rows.h"
#include "src/libstore/job_facts.h"

/*
 * Compares the run of slurmdbd's ROW with that of the facts F. Runs may differ under the same key,
 * because a slurmctld that was killed may forget a run, or its end, and run the job again.
 * RUN_EARLIER: ROW is an earlier run, and slurmdbd does not have the end of F's run yet. RUN_LATER:
 * ROW is a later run, for which the hook will send its own facts.
 */
enum job_merge_run { RUN_SAME, RUN_EARLIER, RUN_LATER };
enum job_merge_run job_merge_run_of(const struct job_facts *f, const struct record *row);

/*
 * Adds to FACTS what ROW knows; moves ROW's texts and steps. For a part of a resized job, FACTS
 * keeps its state, times and exit codes: slurmdbd's row of a part does not have them.
 */
void job_merge(struct record *facts, struct record *row);

#endif
