/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbd_saved.h - messages for slurmdbd that another slurmctld left on disk. One that gives way saves its
 * queue, in 26.05 after the next one has read what was there: that one's queue is empty, and what the other
 * had to say of its jobs comes to slurmdbd when the next slurmctld starts.
 */
#ifndef CEEMS_JOBCOMP_DBD_SAVED_H
#define CEEMS_JOBCOMP_DBD_SAVED_H

#include <stdint.h>

/*
 * Slurm's StateSaveLocation/dbd.messages: when it was saved, in seconds, if nobody has read it since; 0:
 * there is none, or it is empty, or was read. Where a file system keeps no access times none was read.
 */
uint64_t dbd_saved_until(const char *path);

#endif
