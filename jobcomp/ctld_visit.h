/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctld_visit.h - a thread of ours in slurmctld's data. When slurmctld ends it waits for the threads that
 * serve requests, and then counts on being alone: with a lock held it does not save its state, and what
 * the others still use is gone. So we are counted as one of those.
 */
#ifndef CEEMS_CTLD_VISIT_H
#define CEEMS_CTLD_VISIT_H

#include <stdbool.h>

/* False: slurmctld is ending, stay out. True: ctld_visit_end() soon. */
bool ctld_visit_begin(void);
void ctld_visit_end(void);

/* The same with the read lock on jobs. */
bool ctld_visit_jobs(void);
void ctld_leave_jobs(void);

#endif
