/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_copy.h - makes a struct record from one row of slurmdbd's job table and its steps.
 */
#ifndef CEEMS_SLURMDB_COPY_H
#define CEEMS_SLURMDB_COPY_H

#include "slurmdb/slurmdb_names.h"
#include "slurmdb/slurmdb_rows.h"
#include "src/libutil/must_check.h"

/*
 * How to copy. known: facts that show whether the row is complete (slurmdb_signs.h). no_steps: the
 * question did not ask for steps. no_usage: no step has usage.
 */
struct slurmdb_copy {
	const struct slurmdb_names *names;
	const struct slurmdb_known *known;
	bool no_steps;
	bool no_usage;
};

/* Fills in RET from ROW, a slurmdb_job_rec_t; the caller destroys ret->record. -ENOMEM. */
int slurmdb_copy_job(const struct slurmdb_copy *c, const void *row, struct slurmdb_job *ret) _must_check_;

/* Returns the name of a job's or step's state with its flags: "COMPLETED". NULL: unknown. */
const char *slurmdb_copy_state(uint32_t state);

/* Copies FROM to *TO (malloc'ed); does nothing if FROM is NULL or empty. -ENOMEM. */
int slurmdb_copy_text(char **to, const char *from);
/* Converts a number; Slurm's NO_VAL and INFINITE become unknown. */
struct maybe_u64 slurmdb_copy_number(uint32_t from);
/* Set the array or het job of R. JOB_ID 0: there is none. */
void slurmdb_copy_array(struct record *r, uint32_t job_id, uint32_t task_id);
void slurmdb_copy_het(struct record *r, uint32_t job_id, uint32_t offset);

#endif
