/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include "jobcomp/ctld_visit.h"

bool ctld_visit_jobs(void)
{
	server_thread_incr();
	if (slurmctld_config.shutdown_time) {
		server_thread_decr();
		return false;
	}
	lock_slurmctld((slurmctld_lock_t){ .job = READ_LOCK });
	return true;
}

void ctld_leave_jobs(void)
{
	unlock_slurmctld((slurmctld_lock_t){ .job = READ_LOCK });
	server_thread_decr();
}
