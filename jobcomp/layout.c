/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include "jobcomp/layout.h"

bool layout_is_right(const struct job_record *job)
{
	static bool right;
	static bool said;

	if (right)
		return true;
	/* no pointer of the job is followed, it may be none; nor job_list, which the caller may have locked */
	right = find_job_record(job->job_id) == job;
	if (!right && !said)
		error("ceems: jobcomp: jobs are not where the headers say that this plugin was built with, "
		      "though their version is this slurmctld's, %s; no job records are written. Build it "
		      "with the source of exactly the installed package: contrib/slurm-source gets it",
		      SLURM_VERSION_STRING);
	said = said || !right;
	return right;
}
