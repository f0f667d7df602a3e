/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctld_visit.h - a thread of ours in slurmctld's data. When slurmctld ends, it waits for the
 * threads that serve requests, and then assumes to be alone. If another thread holds a lock then,
 * slurmctld does not save its state; data that the thread uses is freed. So we are counted as one
 * of those.
 */
#ifndef CEEMS_JOBCOMP_CTLD_VISIT_H
#define CEEMS_JOBCOMP_CTLD_VISIT_H

#include <stdbool.h>

/* The read lock on jobs; ctld_leave_jobs() soon. False: slurmctld is ending, stay out. */
bool ctld_visit_jobs(void);
void ctld_leave_jobs(void);

#endif
