/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include "jobcomp/ctld_visit.h"
#include "jobcomp/dbd_told.h"

/* slurmctld's; weak, as it is missing in `sacct -c`, where data has to be found at once */
#pragma weak acct_db_conn

bool dbd_told_all(void)
{
	int queued = 1;

	/* a hook is told of an end before slurmdbd, under one hold of the write lock */
	if (!ctld_visit_jobs())
		return false;
	ctld_leave_jobs();

	/* the queue ends with the connection */
	if (!ctld_visit_begin())
		return false;
	if (!acct_db_conn || acct_storage_g_get_data(acct_db_conn, ACCT_STORAGE_INFO_AGENT_COUNT,
						     &queued) != SLURM_SUCCESS)
		queued = 1;
	ctld_visit_end();
	return !queued;
}
