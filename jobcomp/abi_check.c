/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include "jobcomp/abi_check.h"

/*
 * Two tests: Slurm's allocator knows the size of the struct, and slurmctld finds a job by the id
 * that we read. The first notices a field that came or went, the second a field that was moved. No
 * pointer of the job is followed before both tests pass, since it may not be a pointer. job_list is
 * not followed either: the caller may have locked it.
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
		error("ceems: jobcomp: jobs are not where the headers say that this plugin was built with, "
		      "though their version is this slurmctld's, %s; no job records are written. Build it "
		      "with the source of exactly the installed package: contrib/slurm-source gets it",
		      SLURM_VERSION_STRING);
	said = said || !right;
	return right;
}
