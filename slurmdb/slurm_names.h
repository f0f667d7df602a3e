/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_names.h - how Slurm names a job's state and a row of slurmdbd. The plugin in slurmctld and
 * the reader of slurmdbd's rows must use the same names. Include it after Slurm's headers, internal
 * or public.
 */
#ifndef CEEMS_SLURMDB_SLURM_NAMES_H
#define CEEMS_SLURMDB_SLURM_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns "RESIZING", "REVOKED" or "REQUEUED" if a flag in STATE makes that the job's state; NULL:
 * use the base state.
 */
static inline const char *slurm_names_flagged_state(uint32_t state)
{
	if (state & JOB_RESIZING)
		return "RESIZING";
	if (state & JOB_REVOKED)
		return "REVOKED";
	/*
	 * after a requeue the base state is "pending"; a job cancelled meanwhile keeps the flag
	 * but has another base state
	 */
	if ((state & JOB_REQUEUE) && (state & JOB_STATE_BASE) == JOB_PENDING)
		return "REQUEUED";
	return NULL;
}

/*
 * Writes the SLUID that sacct shows for a row of slurmdbd; "" before 24.11, where sacct has none.
 */
#define SLURM_NAMES_SLUID_SIZE 15
static inline void slurm_names_sluid(uint64_t db_index, char buf[SLURM_NAMES_SLUID_SIZE])
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	int i;

	buf[0] = '\0';
	if (SLURM_VERSION_NUMBER < 0x180b00 || !db_index)
		return;
	buf[0] = 's';
	buf[SLURM_NAMES_SLUID_SIZE - 1] = '\0';
	for (i = SLURM_NAMES_SLUID_SIZE - 2; i > 0; i--, db_index >>= 5)
		buf[i] = digits[db_index & 31];
}

#endif
