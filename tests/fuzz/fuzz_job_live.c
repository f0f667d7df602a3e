/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sstat prints, and the ids in it. */
#include "src/cmd/job_live.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct record_step step[2];
	static struct record job;
	struct record *jobs[] = { &job };
	char why[JOB_LIVE_WHY_MAX];
	FILE *f;

	if (!size)
		return 0;
	step[0] = (struct record_step){ .step_id = 0 };
	step[1] = (struct record_step){ .step_id = 1 };
	figures_init(&step[0].figures);
	figures_init(&step[1].figures);
	job = (struct record){ .job_id = 12, .start = 1, .steps = step, .nsteps = 2 };
	f = fmemopen((void *)(uintptr_t)data, size, "r");
	assert(f);
	job_live_read(f, jobs, 1, why);
	(void)fclose(f);
	/* either something is known, or it is said why not */
	assert(!*why == (figures_has(&step[0].figures, METRIC_CPU_TIME) ||
			 figures_has(&step[0].figures, METRIC_ENERGY) ||
			 figures_has(&step[1].figures, METRIC_CPU_TIME) || figures_has(&step[1].figures, METRIC_ENERGY)));
	return 0;
}
