/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include "jobcomp/abi_check.h"

/*
 * Makes two tests. The size that Slurm's allocator knows reveals a member that was added or removed.
 * Searching slurmctld's jobs for the id that we read reveals a member that was moved. Until both pass, no
 * pointer in the job is followed, since it may be no pointer. job_list is not read, because the caller may
 * have locked it.
 */
static bool is_as_built(const struct job_record *job)
{
	void *const record = (void *)job; /* xsize() takes it without const */

	return xsize(record) == sizeof(*job) && find_job_record(job->job_id) == job &&
	       (!job->details || xsize(job->details) == sizeof(*job->details));
}

bool abi_check_job(const struct job_record *job)
{
	static bool right;
	static bool said;

	if (right)
		return true;
	right = is_as_built(job);
	if (!right && !said)
		error("ceems: jobcomp: slurmctld differs from the Slurm headers that this plugin was "
		      "built with, though both have version %s; no job records are written. Get the "
		      "source of exactly the installed package with contrib/slurm-source, and build the "
		      "plugin with it",
		      SLURM_VERSION_STRING);
	said = said || !right;
	return right;
}
