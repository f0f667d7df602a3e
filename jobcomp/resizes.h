/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resizes.h - remembers when each running job was last resized. A resize ends one row of the job in slurmdbd
 * and begins the next. The time of the resize is the submit time of the new row, and so part of its key. When
 * the new row ends by another resize, slurmctld has already overwritten that time; so it must be remembered
 * here.
 *
 * The table is guarded by slurmctld's job lock, which is held in all functions.
 */
#ifndef CEEMS_RESIZES_H
#define CEEMS_RESIZES_H

#include <stdint.h>

/*
 * Notes the last resize of each job that slurmctld has. Takes the job read lock, so it must
 * not be called in a hook.
 */
void resizes_load(void);

/*
 * Notes that the job was resized at NOW. Returns the time of its resize before that, or 0 if there was none
 * since START. If more than 4096 jobs have been resized, those noted first are forgotten.
 */
uint64_t resizes_note(uint32_t job_id, uint64_t start, uint64_t now);

#endif
