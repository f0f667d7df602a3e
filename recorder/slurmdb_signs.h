/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmdb_signs.h - whether slurmdbd has all values of a job, judged from the rows alone. slurmctld's
 * queue to slurmdbd keeps its order, and the completion of the last step carries the job's final
 * energy. So if the rows have the job's end and the usage of every step, nothing more will come.
 */
#ifndef CEEMS_RECORDER_SLURMDB_SIGNS_H
#define CEEMS_RECORDER_SLURMDB_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an answer lacks; SIGN_NONE: nothing. */
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
/* "the job's end"; a constant. */
const char *slurmdb_sign_text(enum slurmdb_sign sign);

enum slurmdb_state {
	SLURMDB_ABSENT, /* no row */
	SLURMDB_OPEN,	/* slurmdbd will know more */
	SLURMDB_FINAL,
};

/* What is known of the job without slurmdbd. All zero: nothing. */
struct slurmdb_known {
	uint64_t end;	   /* as the hook was told; 0: unknown */
	/*
	 * False under a stepmgr, since slurmctld does not know its step numbers. False for a het
	 * job, since each component leaves out the numbers of the others.
	 */
	bool has_nsteps;
	uint32_t nsteps;   /* slurmctld's next_step_id: nsteps - 1 was made last */
	bool has_batch;	   /* a batch job that started */
	bool has_extern;   /* PrologFlags=Contain and the job started */
};

struct slurmdb_step_signs {
	uint32_t step_id;
	uint64_t start, end;
	bool has_usage;	   /* tres_usage_in_tot is not empty */
	bool lost;	   /* exit status NO_VAL: slurmctld ended a step that did not report */
};

struct slurmdb_signs {
	uint64_t start, end; /* of the job's row; 0: it has none */
	bool has_start_row;  /* slurmdbd was told the start too, not only the end */
	bool no_ends;	     /* a part of a resized job whose steps went on: slurmdbd is not told their ends */
	bool no_usage;	     /* JobAcctGatherType=none */
	const struct slurmdb_step_signs *step;
	size_t n;
};

/*
 * The first sign that is missing; SIGN_NONE: the rows are final.
 *
 * An end of each step proves nothing: slurmdbd shows an open step of an ended job with the job's
 * end and state (as_mysql_jobacct_process.c, "if the job has ended end the step also"). The usage
 * of a step does.
 */
enum slurmdb_sign slurmdb_signs_missing(const struct slurmdb_signs *s,
					const struct slurmdb_known *known);

#endif
