/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sstat prints, and the ids in it. */
#include "src/cmd/job/job_live.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct record job;
	struct record *jobs[] = { &job };
	char why[JOB_LIVE_WHY_MAX];
	bool is_known = false;
	size_t i;
	FILE *f;

	if (!size)
		return 0;
	/* job_live_read() may add steps */
	job = (struct record){
		.job_id = 12, .start = 1, .steps = calloc(2, sizeof(*job.steps)), .nsteps = 2
	};
	assert(job.steps);
	for (i = 0; i < job.nsteps; i++) {
		job.steps[i].step_id = (uint32_t)i;
		values_init(&job.steps[i].values);
	}
	f = fmemopen((void *)(uintptr_t)data, size, "r");
	assert(f);
	job_live_read(f, jobs, 1, why);
	(void)fclose(f);
	for (i = 0; i < job.nsteps; i++)
		is_known |= values_has(&job.steps[i].values, METRIC_CPU_TIME) ||
			    values_has(&job.steps[i].values, METRIC_ENERGY);
	/* either something is known, or it is said why not */
	assert(!*why == is_known);
	free(job.steps);
	return 0;
}
