/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resizes.h - when running jobs were resized. That time is the submit time of slurmdbd's row of the
 * part that ends then, and so is in its key. slurmctld overwrites the time before it tells of a
 * resize.
 *
 * All of it runs under slurmctld's job lock, which guards it.
 */
#ifndef CEEMS_RESIZES_H
#define CEEMS_RESIZES_H

#include <stdint.h>

/* From the jobs that slurmctld has. Takes the job read lock: not from a hook. */
void resizes_load(void);

/*
 * The resize of the job before that at NOW, which is noted; 0: there was none since START. Of many
 * thousand resized jobs at a time the oldest are forgotten.
 */
uint64_t resizes_note(uint32_t job_id, uint64_t start, uint64_t now);

#endif
