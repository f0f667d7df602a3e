/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_signs.h - decides from slurmdbd's rows alone whether they are complete. slurmctld's queue
 * to slurmdbd keeps its order, and the completion of the last step carries the job's final energy.
 * So nothing more will come once the rows have the job's end and the usage of each step.
 */
#ifndef CEEMS_SLURMDB_SIGNS_H
#define CEEMS_SLURMDB_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the rows lack first; SIGN_NONE: nothing. */
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
/* Returns what is missing, for people: "the job's end". */
const char *slurmdb_sign_text(enum slurmdb_sign sign);

enum slurmdb_state {
	SLURMDB_ABSENT, /* no row */
	SLURMDB_OPEN,	/* slurmdbd will know more */
	SLURMDB_FINAL,
};

/* What the hook knows about the job. All zero: nothing. */
struct slurmdb_known {
	uint64_t end; /* end that the hook was called with; 0: unknown */
	/*
	 * nsteps is valid. False with a stepmgr, whose step numbers slurmctld does not know, and
	 * for a het job, whose components share the numbers.
	 */
	bool has_nsteps;
	uint32_t nsteps; /* slurmctld's next_step_id; the last step has number nsteps - 1 */
	bool has_batch;	 /* a batch job, and it started */
	bool has_extern; /* PrologFlags=Contain is set, and the job started */
};

struct slurmdb_step_signs {
	uint32_t step_id;
	uint64_t start, end;
	bool has_usage; /* tres_usage_in_tot is not empty */
	bool lost;	/* exit status NO_VAL: slurmctld ended the step, which did not report */
};

struct slurmdb_signs {
	uint64_t start, end; /* of the job's row; 0: missing */
	bool has_start_row;  /* slurmdbd has the start too, not only the end */
	/* a part of a resized job: slurmdbd does not get the ends of steps that outlast it */
	bool no_ends;
	bool no_usage; /* JobAcctGatherType=none */
	const struct slurmdb_step_signs *step;
	size_t n;
};

/*
 * Returns the first thing that is missing; SIGN_NONE: the rows are final.
 *
 * The end of a step proves nothing. For an open step of an ended job, slurmdbd shows the job's end
 * and state (as_mysql_jobacct_process.c, "if the job has ended end the step also"). The usage of a
 * step proves that the step reported.
 */
enum slurmdb_sign slurmdb_signs_missing(const struct slurmdb_signs *s, const struct slurmdb_known *known);

#endif
