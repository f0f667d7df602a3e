/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include "jobcomp/ctld_visit.h"
#include "jobcomp/resizes.h"

#define SLOTS 4096 /* searched from the first to the last, but only when a job is resized */

static struct {
	uint32_t job_id;
	uint64_t at;
} slot[SLOTS];
static unsigned int next_slot;

uint64_t resizes_note(uint32_t job_id, uint64_t start, uint64_t now)
{
	uint64_t before;
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		if (slot[i].job_id != job_id)
			continue;
		before = slot[i].at;
		slot[i].at = now;
		return before >= start ? before : 0;
	}
	slot[next_slot].job_id = job_id;
	slot[next_slot].at = now;
	next_slot = (next_slot + 1) % SLOTS;
	return 0;
}

static int load_job(void *job, void *arg)
{
	const job_record_t *j = job;

	(void)arg;
	if (j->resize_time > 0 && !IS_JOB_FINISHED(j))
		(void)resizes_note(j->job_id, 0, (uint64_t)j->resize_time);
	return 0;
}

void resizes_load(void)
{
	if (!ctld_visit_jobs())
		return;
	if (job_list)
		(void)list_for_each(job_list, load_job, NULL);
	ctld_leave_jobs();
}
