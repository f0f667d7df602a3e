/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmdb/ctld_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slurmdb/slurm_compat.h"
#include "slurmdb/slurmdb_copy.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"

static bool ctld_is_over(const slurm_job_info_t *job)
{
	return (job->job_state & JOB_STATE_BASE) > JOB_SUSPENDED && !(job->job_state & JOB_COMPLETING);
}

/* Reads the energy from a TRES text such as "cpu=1,energy=42,node=1". */
static struct maybe_u64 ctld_energy(const char *tres)
{
	const char *p = tres ? strstr(tres, "energy=") : NULL;
	uint64_t joules;

	if (!p || (p > tres && p[-1] != ','))
		return (struct maybe_u64){ 0 };
	p += strlen("energy=");
	if (parse_u64_n(p, strcspn(p, ","), &joules) < 0)
		return (struct maybe_u64){ 0 };
	return (struct maybe_u64){ joules, true };
}

/* Computes what sacct's Elapsed lacks, from the run time that `scontrol show job` has. */
static struct maybe_u64 ctld_suspended(const slurm_job_info_t *job, time_t now)
{
	bool is_suspended = (job->job_state & JOB_STATE_BASE) == JOB_SUSPENDED;
	time_t end = ctld_is_over(job) ? job->end_time : now;
	time_t ran = job->pre_sus_time + (is_suspended ? 0 : end - job->suspend_time);
	time_t lost = job->suspend_time ? end - job->start_time - ran : 0;

	return (struct maybe_u64){ lost > 0 ? (uint64_t)lost : 0, true };
}

struct record *ctld_record(const char *cluster, const slurm_job_info_t *job)
{
	struct record *r = record_create();
	int rc = 0;

	if (!r)
		return NULL;
	r->job_id = job->job_id;
	r->restart_count = job->restart_cnt;
	slurmdb_copy_array(r, job->array_job_id, job->array_task_id);
	slurmdb_copy_het(r, job->het_job_id, job->het_job_offset);
	r->user_id = job->user_id;
	r->group_id = job->group_id;
	r->submit = compat_time(job->submit_time);
	r->eligible = compat_time(job->eligible_time);
	/* the end_time of a running job is when its time limit ends */
	r->end = ctld_is_over(job) ? compat_time(job->end_time) : 0;
	if (job->nodes && *job->nodes) {
		r->start = compat_time(job->start_time);
		r->suspended_s = ctld_suspended(job, time(NULL));
	}
	record_exit_status(job->exit_code, &r->exit_code, &r->exit_signal);
	record_exit_status(job->derived_ec, &r->derived_exit_code, &r->derived_exit_signal);
	rc |= slurmdb_copy_text(&r->cluster, cluster);
	rc |= slurmdb_copy_text(&r->state, slurmdb_copy_state(job->job_state));
	rc |= slurmdb_copy_text(&r->nodes, job->nodes);
	rc |= slurmdb_copy_text(&r->partition, job->partition);
	rc |= slurmdb_copy_text(&r->account, job->account);
	rc |= slurmdb_copy_text(&r->qos, job->qos);
	rc |= slurmdb_copy_text(&r->submit_host, job->alloc_node);
	rc |= slurmdb_copy_text(&r->comment, job->comment);
	rc |= slurmdb_copy_text(&r->job_name, job->name);
	if (rc == 0)
		return r;
	record_destroy(r);
	return NULL;
}

/*
 * Adds a row for JOB. SUBMIT selects a run of the job; 0: the run that JOB is. For an earlier run,
 * slurmctld still knows the submit host, so that row has no end and no energy.
 */
static int ctld_add(const char *cluster, const slurm_job_info_t *job, uint64_t submit,
		    struct slurmdb_jobs *ret)
{
	bool is_this = !submit || compat_time(job->submit_time) == submit;
	bool is_over = is_this && ctld_is_over(job);
	struct slurmdb_job *more;
	struct record *r;

	if (!is_this && compat_time(job->submit_time) < submit)
		return 0; /* the id was used again for a later job */
	more = realloc(ret->job, (ret->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	ret->job = more;
	r = ctld_record(cluster, job);
	if (!r)
		return -ENOMEM;
	if (is_this) {
		r->energy.row_j = ctld_energy(job->tres_alloc_str);
	} else {
		r->submit = submit;
		r->end = 0;
	}
	ret->job[ret->n++] = (struct slurmdb_job){
		.state = is_over ? SLURMDB_FINAL : SLURMDB_OPEN,
		.missing = is_over ? SIGN_NONE : SIGN_END,
		.record = r,
	};
	return 0;
}

static int ctld_failed(struct errmsg *err)
{
	return errmsg_set(err, -EIO, "slurmctld does not answer: %s", slurm_strerror(errno));
}

int ctld_rows_get(const char *cluster, const struct slurmdb_want *want, size_t n, struct slurmdb_jobs *ret,
		  struct errmsg *err)
{
	struct slurmdb_jobs jobs = { 0 };
	size_t i;
	int rc = 0;

	for (i = 0; i < n && rc == 0; i++) {
		job_info_msg_t *msg = NULL;
		uint32_t k;

		errno = 0;
		if (compat_load_job(&msg, want[i].job_id, SHOW_ALL) != SLURM_SUCCESS) {
			rc = errno == ESLURM_INVALID_JOB_ID ? 0 : ctld_failed(err);
			continue;
		}
		for (k = 0; k < msg->record_count && rc == 0; k++)
			if (msg->job_array[k].job_id == want[i].job_id)
				rc = ctld_add(cluster, &msg->job_array[k], want[i].submit, &jobs);
		slurm_free_job_info_msg(msg);
	}
	if (rc < 0) {
		slurmdb_jobs_free(&jobs);
		return rc == -ENOMEM ? errmsg_set(err, rc, "out of memory") : rc;
	}
	*ret = jobs;
	return 0;
}

int ctld_rows_window(const char *cluster, uint64_t from, uint64_t to, struct slurmdb_jobs *ret,
		     struct errmsg *err)
{
	struct slurmdb_jobs jobs = { 0 };
	job_info_msg_t *msg = NULL;
	uint32_t k;
	int rc = 0;

	if (slurm_load_jobs(0, &msg, SHOW_ALL) != SLURM_SUCCESS)
		return ctld_failed(err);
	for (k = 0; k < msg->record_count && rc == 0; k++) {
		const slurm_job_info_t *job = &msg->job_array[k];
		uint64_t end = compat_time(job->end_time);

		if (ctld_is_over(job) && end >= from && end <= to)
			rc = ctld_add(cluster, job, 0, &jobs);
	}
	slurm_free_job_info_msg(msg);
	if (rc < 0) {
		slurmdb_jobs_free(&jobs);
		return errmsg_set(err, rc, "out of memory");
	}
	*ret = jobs;
	return 0;
}
