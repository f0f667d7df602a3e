/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmdb/slurmdb_signs.h"

#include "src/libledger/ledger.h"
#include "src/libutil/util.h"

const char *slurmdb_sign_text(enum slurmdb_sign sign)
{
	static const char *const text[SIGN_N] = {
		[SIGN_NONE] = "nothing",
		[SIGN_END] = "the job's end",
		[SIGN_START] = "the job's start",
		[SIGN_THIS_END] = "the end that slurmctld reported last",
		[SIGN_THIS_RUN] = "the steps of this run",
		[SIGN_STEP_END] = "the end of a step",
		[SIGN_STEP_USAGE] = "the usage of a step",
		[SIGN_EXTERN] = "the extern step",
		[SIGN_BATCH] = "the batch step",
		[SIGN_STEP] = "the last step",
	};

	return (unsigned int)sign < SIGN_N ? text[sign] : text[SIGN_NONE];
}

static bool signs_have_step(const struct slurmdb_signs *s, uint32_t step_id)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->step[i].step_id == step_id)
			return true;
	return false;
}

enum slurmdb_sign slurmdb_signs_missing(const struct slurmdb_signs *s, const struct slurmdb_known *known)
{
	bool ran = s->start && s->start <= s->end;
	size_t i;

	if (!s->end)
		return SIGN_END;
	if (!s->has_start_row)
		return SIGN_START;
	/* a slurmctld that was killed may forget an end and report another one later */
	if (s->end < known->end)
		return SIGN_THIS_END;
	if (s->no_ends)
		return SIGN_NONE;
	for (i = 0; i < s->n; i++) {
		const struct slurmdb_step_signs *step = &s->step[i];

		/*
		 * a step of an earlier run: slurmctld does not send the new start of a step that
		 * has a row
		 */
		if (ran && step->start < s->start)
			return SIGN_THIS_RUN;
		if (!step->end)
			return SIGN_STEP_END;
		if (!s->no_usage && !step->has_usage && !step->lost)
			return SIGN_STEP_USAGE;
	}
	if (!ran)
		return SIGN_NONE;
	if (known->has_extern && !signs_have_step(s, LEDGER_STEP_EXTERN))
		return SIGN_EXTERN;
	if (known->has_batch && !signs_have_step(s, LEDGER_STEP_BATCH))
		return SIGN_BATCH;
	/*
	 * Checks only the last step number. A lower number without a row is a step that slurmctld
	 * numbered and then refused ("no usable CPUs"). Rows of real steps cannot be missing, since
	 * slurmctld's queue keeps the order.
	 */
	if (known->has_nsteps && known->nsteps && !signs_have_step(s, known->nsteps - 1))
		return SIGN_STEP;
	return SIGN_NONE;
}
