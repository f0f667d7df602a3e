/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbd_told.h - whether slurmdbd was told all that slurmctld had to say so far. What it is told goes through
 * a queue, which is long after slurmdbd was down; while there is something in it slurmdbd may show a
 * job as it was before. With it empty, of a job that slurmctld has done with nothing more will come, if
 * its start was told, which goes another way (finality.h).
 */
#ifndef CEEMS_DBD_TOLD_H
#define CEEMS_DBD_TOLD_H

#include <stdbool.h>

#include "src/libutil/clock.h"

/*
 * slurmdbd acknowledges what it may commit up to its CommitDelay later; slurmctld does not know that
 * setting. So long after dbd_told_all() a question shows what was told: enough for CommitDelay=3 and
 * commits that take 2 s.
 */
#define DBD_TOLD_NS (5 * NSEC_PER_SEC)

/* Whatever the hooks were told of before this call slurmdbd has acknowledged. Never waits for slurmdbd. */
bool dbd_told_all(void);

#endif
