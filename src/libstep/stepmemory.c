/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/stepmemory.h"

#include <string.h>

#include "src/libmeter/activity/memuse.h"

static void set_kept(struct values *f, enum metric m, uint64_t value)
{
	if (value == UINT64_MAX)
		values_miss(f, m, REASON_OLD_KERNEL);
	else
		values_set(f, m, value);
}

/* Cuts PATH, a step's folder, to the job's folder above it. */
static void cut_step(char *path)
{
	char *end = strrchr(path, '/');

	*(end ? end : path) = '\0';
}

static struct cgroup_paths job_paths(const struct cgroup_paths *step)
{
	struct cgroup_paths job = *step;

	cut_step(job.v2);
	cut_step(job.cpuacct);
	cut_step(job.freezer);
	return job;
}

void stepmemory_fill_kept(const struct ledger_slot *s, struct values *f)
{
	const struct cgroup_paths job = job_paths(&s->cgroup);
	struct memuse_record kept, of_job;

	if (memuse_read_record(&s->cgroup, &kept) < 0) {
		values_miss(f, METRIC_MEMORY_KERNEL_PEAK, REASON_NO_MEMORY);
		values_miss(f, METRIC_OOM_KILLS, REASON_NO_MEMORY);
		return;
	}
	if (s->id.step_id == LEDGER_STEP_EXTERN && memuse_read_record(&job, &of_job) == 0) {
		kept.peak = of_job.peak;
		kept.swap_peak = of_job.swap_peak;
	}
	set_kept(f, METRIC_MEMORY_KERNEL_PEAK, kept.peak);
	/* in a job's cgroup, this includes the kills in its steps */
	set_kept(f, METRIC_OOM_KILLS, kept.oom_kills);
	if (kept.swap_peak != UINT64_MAX)
		values_set(f, METRIC_SWAP_PEAK, kept.swap_peak);
}

void stepmemory_fill(const struct ledger_slot *s, const struct ledger_memory *seen, uint64_t now_mono_ns,
		     struct values *f)
{
	ledger_memory_values(&s->id, seen, now_mono_ns, f);
	stepmemory_fill_kept(s, f);
}
