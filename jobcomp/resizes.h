/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resizes.h - when running jobs were resized. slurmctld overwrites that time before it tells of a
 * resize, and it is the submit time of slurmdbd's row, and so the key, of the part that ends then.
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
