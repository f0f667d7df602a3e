/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/stepmemory.h"

#include <stdio.h>
#include <string.h>

#include "src/libmeter/activity/memuse.h"

static void set_kept(struct values *f, enum metric m, uint64_t value)
{
	if (value == UINT64_MAX)
		values_miss(f, m, REASON_OLD_KERNEL);
	else
		values_set(f, m, value);
}

/* Writes the path of the job's cgroup: the folder that has the folder STEP. Returns BUF. */
static const char *job_path(const char *step, char *buf, size_t size)
{
	const char *end = strrchr(step, '/');

	(void)snprintf(buf, size, "%.*s", end ? (int)(end - step) : 0, step);
	return buf;
}

void stepmemory_fill_kept(const struct ledger_slot *s, struct values *f)
{
	const char *v1 = s->cgroup_freezer[0] ? s->cgroup_freezer : s->cgroup_cpuacct;
	char job_v2[LEDGER_CGROUP_MAX], job_v1[LEDGER_CGROUP_MAX];
	struct memuse_record kept, of_job;

	if (memuse_read_record(s->cgroup_v2, v1, &kept) < 0) {
		values_miss(f, METRIC_MEMORY_KERNEL_PEAK, REASON_NO_MEMORY);
		values_miss(f, METRIC_OOM_KILLS, REASON_NO_MEMORY);
		return;
	}
	if (s->id.step_id == LEDGER_STEP_EXTERN &&
	    memuse_read_record(job_path(s->cgroup_v2, job_v2, sizeof(job_v2)),
			       job_path(v1, job_v1, sizeof(job_v1)), &of_job) == 0) {
		kept.peak = of_job.peak;
		kept.swap_peak = of_job.swap_peak;
	}
	set_kept(f, METRIC_MEMORY_KERNEL_PEAK, kept.peak);
	set_kept(f, METRIC_OOM_KILLS, kept.oom_kills); /* in a job's cgroup, this includes the kills in its steps */
	if (kept.swap_peak != UINT64_MAX)
		values_set(f, METRIC_SWAP_PEAK, kept.swap_peak);
}

void stepmemory_fill(const struct ledger_slot *s, const struct ledger_memory *seen, uint64_t now_mono_ns,
		     struct values *f)
{
	ledger_memory_values(&s->id, seen, now_mono_ns, f);
	stepmemory_fill_kept(s, f);
}
