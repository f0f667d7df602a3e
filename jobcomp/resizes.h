/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resizes.h - the time of each running job's last resize. A resize ends one row of the job in slurmdbd
 * and begins the next. The time of the resize is the submit time of the row that begins, and so is part
 * of that row's key. When slurmctld tells the plugin of the next resize, it has already overwritten the
 * time of the last one.
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
