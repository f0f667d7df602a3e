/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include "jobcomp/census.h"
#include "jobcomp/ctld_visit.h"
#include "jobcomp/job_facts.h"
#include "jobcomp/layout.h"

/* slurmctld's; weak, as it is missing in `sacct -c`, where data has to be found at once */
#pragma weak job_list

struct walk {
	uint64_t since;
	void (*fn)(void *arg, const struct job_facts *facts);
	void *arg;
};

static struct job_facts facts; /* of the one census: too large for a stack */

static int look_at(void *job, void *arg)
{
	const job_record_t *j = job;
	const struct walk *w = arg;

	if (!layout_is_right(j) || !IS_JOB_FINISHED(j) || IS_JOB_REVOKED(j) || (uint64_t)j->end_time < w->since)
		return 0;
	job_facts_copy(j, FACT_END, 0, &facts);
	w->fn(w->arg, &facts);
	return 0;
}

void census_jobs(uint64_t since, void (*fn)(void *arg, const struct job_facts *facts), void *arg)
{
	struct walk w = { since, fn, arg };

	if (!ctld_visit_jobs())
		return;
	if (job_list)
		(void)list_for_each(job_list, look_at, &w);
	ctld_leave_jobs();
}
