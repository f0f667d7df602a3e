/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_copy.h - one row of slurmdbd's job table, with its steps, as a struct record.
 */
#ifndef CEEMS_RECORDER_SLURMDB_COPY_H
#define CEEMS_RECORDER_SLURMDB_COPY_H

#include "recorder/slurmdb_names.h"
#include "recorder/slurmdb_rows.h"

/* ROW is a slurmdb_job_rec_t. KNOWN is what the rows are held against; NO_STEPS: they were not asked for. */
struct slurmdb_copy {
	const struct slurmdb_names *names;
	const struct slurmdb_known *known;
	bool no_steps;
	bool no_usage;
};

/* -ENOMEM. */
int slurmdb_copy_job(const struct slurmdb_copy *c, const void *row, struct slurmdb_job *ret);

/* "COMPLETED" of a job's or a step's state with its flags; a constant; NULL: unknown. */
const char *slurmdb_copy_state(uint32_t state);

/* Into *TO a copy of FROM; nothing if there is none or it is empty. -ENOMEM. */
int slurmdb_copy_text(char **to, const char *from);
/* Unknown of Slurm's NO_VAL and INFINITE. */
struct maybe_u64 slurmdb_copy_number(uint32_t from);
/* JOB_ID 0: the job is not of an array, or not of a het job. */
void slurmdb_copy_array(struct record *r, uint32_t job_id, uint32_t task_id);
void slurmdb_copy_het(struct record *r, uint32_t job_id, uint32_t offset);

#endif
