/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_record.h - makes the record of a job from the facts of the plugin's hook, and completes it from
 * slurmdbd's row. The hook knows the owner and the request of the job; slurmdbd adds the end, the energy,
 * the steps, and facts that the hook did not have.
 */
#ifndef CEEMS_RECORDER_JOB_RECORD_H
#define CEEMS_RECORDER_JOB_RECORD_H

#include "src/librecord/record.h"
#include "src/libstore/job_facts.h"
#include "src/libutil/must_check.h"

/*
 * Makes a record of the SIZE bytes of facts at F; free it with record_destroy(). Members that facts
 * lack are unknown. -EINVAL: not complete facts. -ENOMEM.
 */
int job_record_create(const struct job_facts *f, size_t size, const char *cluster,
		      struct record **ret) _must_check_;
/*
 * Writes the record_key() of these facts without making the record. -EINVAL: not complete facts, or
 * no job id; -ENOSPC: ROOM is too small.
 */
int job_record_key(const struct job_facts *f, size_t size, const char *cluster, char *buf,
		   size_t room) _must_check_;

/*
 * Compares the run of slurmdbd's ROW with that of the facts F. Runs may differ under the same key,
 * because a slurmctld that was killed may forget a run, or its end, and run the job again.
 * RUN_EARLIER: ROW is an earlier run, and slurmdbd does not have the end of F's run yet. RUN_LATER:
 * ROW is a later run, for which the hook will send its own facts.
 */
enum job_record_run { RUN_SAME, RUN_EARLIER, RUN_LATER };
enum job_record_run job_record_run_of(const struct job_facts *f, const struct record *row);

/*
 * Adds to R what ROW knows: its energy and steps, its end, and the members that are FIELD_OF_SLURMDBD in
 * record_field.c and unknown in R. Texts and steps are moved. For a part of a resized job, R keeps its
 * state, times and exit codes: slurmdbd's row of a part does not have them.
 */
void job_record_complete(struct record *r, struct record *row);

#endif
