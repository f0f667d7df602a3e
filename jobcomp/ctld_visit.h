/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctld_visit.h - lets our own thread read slurmctld's jobs. When slurmctld ends, it waits for the threads
 * that serve requests, and then saves its state and frees its data. A thread that it does not know could
 * prevent the saving by a lock, or read freed data. So our thread is counted as one of the threads that serve
 * requests.
 */
#ifndef CEEMS_JOBCOMP_CTLD_VISIT_H
#define CEEMS_JOBCOMP_CTLD_VISIT_H

#include <stdbool.h>

/*
 * Takes the read lock on jobs; call ctld_leave_jobs() soon after. False: slurmctld is
 * ending, and there is no lock.
 */
bool ctld_visit_jobs(void);
void ctld_leave_jobs(void);

#endif
