/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_signs.h - decides from slurmdbd's rows alone whether they have all values of a job.
 * slurmctld's queue to slurmdbd keeps its order, and the last step's completion carries the job's
 * final energy. So if the rows have the job's end and each step's usage, nothing more will come.
 */
#ifndef CEEMS_RECORDER_SLURMDB_SIGNS_H
#define CEEMS_RECORDER_SLURMDB_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the rows lack; SIGN_NONE: nothing. */
enum slurmdb_sign {
	SIGN_NONE,
	SIGN_END,
	SIGN_START,
	SIGN_THIS_END,
	SIGN_THIS_RUN,
	SIGN_STEP_END,
	SIGN_STEP_USAGE,
	SIGN_EXTERN,
	SIGN_BATCH,
	SIGN_STEP,
	SIGN_N
};
/* The name of the missing sign, such as "the job's end". */
const char *slurmdb_sign_text(enum slurmdb_sign sign);

enum slurmdb_state {
	SLURMDB_ABSENT, /* no row */
	SLURMDB_OPEN,	/* slurmdbd will know more */
	SLURMDB_FINAL,
};

/* What is known about the job from elsewhere. Zeroed: nothing. */
struct slurmdb_known {
	uint64_t end;	   /* the end that the hook was told; 0: unknown */
	/*
	 * nsteps is valid. False with a stepmgr, whose step numbers slurmctld does not know, and
	 * for a het job, whose components share the numbers.
	 */
	bool has_nsteps;
	uint32_t nsteps;   /* slurmctld's next_step_id; the last step made is nsteps - 1 */
	bool has_batch;	   /* a batch job that started */
	bool has_extern;   /* PrologFlags=Contain and the job started */
};

struct slurmdb_step_signs {
	uint32_t step_id;
	uint64_t start, end;
	bool has_usage;	   /* tres_usage_in_tot is not empty */
	bool lost;	   /* exit status NO_VAL: slurmctld ended the step, which did not report */
};

struct slurmdb_signs {
	uint64_t start, end; /* of the job's row; 0: missing */
	bool has_start_row;  /* slurmdbd was told the start too, not only the end */
	bool no_ends;	     /* a part of a resized job; slurmdbd is not told the ends of steps that outlast it */
	bool no_usage;	     /* JobAcctGatherType=none */
	const struct slurmdb_step_signs *step;
	size_t n;
};

/*
 * Returns the first sign that is missing; SIGN_NONE: the rows are final.
 *
 * That all steps have an end is no sign. For an open step of an ended job, slurmdbd shows the job's
 * end and state (as_mysql_jobacct_process.c, "if the job has ended end the step also"). A step's
 * usage is one.
 */
enum slurmdb_sign slurmdb_signs_missing(const struct slurmdb_signs *s,
					const struct slurmdb_known *known);

#endif
