/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include "jobcomp/ctld_visit.h"
#include "jobcomp/finality.h"
#include "jobcomp/layout.h"

/* Index in Slurm's arrays of TRES, not the TRES's id in the database (3). */
#define ENERGY_INDEX TRES_ARRAY_ENERGY

static struct maybe_u64 energy_of(const job_record_t *job)
{
	uint64_t j;

	if (!job->tres_alloc_cnt)
		return (struct maybe_u64){ 0 };
	j = job->tres_alloc_cnt[ENERGY_INDEX];
	if (j == NO_VAL64 || j == INFINITE64 || j == NO_CONSUME_VAL64)
		return (struct maybe_u64){ 0 };
	return (struct maybe_u64){ j, true };
}

/* Of a job that was resized, the part that is running starts with the last resize. */
static bool starts_at(const job_record_t *job, uint64_t start)
{
	return (uint64_t)job->start_time == start ||
	       (job->resize_time > job->start_time && (uint64_t)job->resize_time == start);
}

/*
 * A requeue counts the restart at once and resets the start when the nodes are free: while the old
 * incarnation's steps end, the record is still its own.
 */
static bool is_same_incarnation(const job_record_t *job, const struct finality_query *q)
{
	return starts_at(job, q->start) &&
	       (job->restart_cnt == q->restart_count ||
		job->restart_cnt == q->restart_count + 1);
}

/* Before 24.11 slurmdbd gives it; while there is none slurmctld tries every 5 seconds, beside its queue. */
static bool has_db_index(const job_record_t *job)
{
	return job->resize_time || (job->db_index && job->db_index != NO_VAL64);
}

static void answer(struct finality_query *q)
{
	job_record_t *job = find_job_record(q->job_id);

	q->energy_j = (struct maybe_u64){ 0 };
	q->state = FINALITY_GONE;
	q->start_untold = job && (!layout_is_right(job) ||
				  (job->details && (uint64_t)job->details->submit_time == q->submit &&
				   !has_db_index(job)));
	q->is_relayed = job && layout_is_right(job) && COMPAT_HAS_STEPMGR(job);
	if (!job || !layout_is_right(job) || !is_same_incarnation(job, q))
		return;
	q->energy_j = energy_of(job);
	if (IS_JOB_COMPLETING(job) || (job->step_list && list_count(job->step_list))) {
		q->state = FINALITY_COMPLETING;
	} else if (job->restart_cnt == q->restart_count) {
		/* a slurmctld that was killed may have forgotten that it is over: it will tell again */
		q->state = IS_JOB_FINISHED(job) ? FINALITY_ENDED : FINALITY_COMPLETING;
	}
}

/* Up to 1.5 us each, when the job is in no cache: below 0.1 ms together. */
#define PER_HOLD 64

void finality_poll(struct finality_query *q, size_t n)
{
	size_t i = 0;

	while (i < n && ctld_visit_jobs()) {
		size_t until = n - i > PER_HOLD ? i + PER_HOLD : n;

		for (; i < until; i++)
			answer(&q[i]);
		ctld_leave_jobs();
	}
	for (; i < n; i++) {
		q[i].state = FINALITY_COMPLETING;
		q[i].energy_j = (struct maybe_u64){ 0 };
		q[i].start_untold = true;
		q[i].is_relayed = false;
	}
}
