/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/slurm_compat.h"

#include "jobcomp/job_copy.h"
#include "slurmdb/slurm_names.h"
#include "src/libcore/trace_context.h"

static uint64_t seconds(time_t t)
{
	return t > 0 ? (uint64_t)t : 0;
}

static uint32_t unless_no_val(uint32_t v)
{
	return v == NO_VAL || v == INFINITE ? FACT_UNKNOWN : v;
}

static const char *job_state_name(uint32_t state)
{
	const char *flagged = slurm_names_flagged_state(state);

	return flagged ? flagged : job_state_string((enum job_states)(state & JOB_STATE_BASE));
}

#define TASKS_MAX 16384 /* for a larger array, formatting the list of tasks takes too long under the lock */

/*
 * Copies the list of an array's tasks that have not started. Slurm makes the text task_id_str only when it
 * needs it, so it may have to be made here. If it is too long for that, the recorder reads it from slurmdbd
 * some seconds later.
 */
static void copy_array_tasks(const struct job_record *job, struct job_facts *ret)
{
	static char text[FACT_TEXT_MAX + 2];
	const job_array_struct_t *array = job->array_recs;

	/* the record of a single task does not list the other tasks */
	if (!array || job->array_task_id != NO_VAL) {
		job_facts_add_text(ret, FACT_ARRAY_TASKS, NULL);
		return;
	}
	text[0] = '\0';
	if (array->task_id_str)
		(void)snprintf(text, sizeof(text), "%s", array->task_id_str);
	else if (array->task_id_bitmap && bit_size(array->task_id_bitmap) <= TASKS_MAX)
		(void)bit_fmt(text, sizeof(text), array->task_id_bitmap);
	if (*text)
		job_facts_add_text(ret, FACT_ARRAY_TASKS, text);
	else
		job_facts_leave_out(ret, FACT_ARRAY_TASKS);
}

#define SPANK_VARIABLES_MAX 64 /* of a job; a user may set any number */

/* spank_ceems.so had it put there at submission. Users can do the same, so it is checked. */
static void copy_trace_parent(const struct job_record *job, struct job_facts *ret)
{
	static const char name[] = "CEEMS_TRACEPARENT=";
	char text[TRACE_PARENT_LEN + 1] = "";
	struct trace_context c;
	uint32_t i;

	for (i = 0; i < job->spank_job_env_size && i < SPANK_VARIABLES_MAX; i++) {
		const char *variable = job->spank_job_env[i];

		if (!xstrncmp(variable, name, sizeof(name) - 1) &&
		    trace_context_parse(variable + sizeof(name) - 1, /* may_begin= */ true, &c))
			trace_context_format(&c, text);
	}
	job_facts_add_text(ret, FACT_TRACE_PARENT, text);
}

/*
 * Seconds from START to the end in which the job was suspended. Slurm's suspend_time is when it was last
 * suspended or resumed, and pre_sus_time how long it ran before that. Neither is of a part of a resized job.
 */
static uint64_t suspended_s(const struct job_record *job, uint64_t start)
{
	uint64_t ran = seconds(job->start_time) + seconds(job->pre_sus_time);

	if (!start || seconds(job->suspend_time) <= start)
		return 0;
	if (start != seconds(job->start_time))
		return UINT64_MAX;
	return seconds(job->suspend_time) > ran ? seconds(job->suspend_time) - ran : 0;
}

void job_copy_facts(const struct job_record *job, uint64_t resized, struct job_facts *ret)
{
	const compat_job_details_t *d = job->details;
	bool ran = job->nodes && *job->nodes;
	uint32_t limit = job->time_limit;
	char sluid[SLURM_NAMES_SLUID_SIZE];

	if (limit == NO_VAL && job->part_ptr)
		limit = job->part_ptr->max_time;
	ret->job_id = job->job_id;
	ret->state = job->job_state;
	ret->restart_count = job->restart_cnt;
	ret->user_id = job->user_id;
	ret->group_id = job->group_id;
	ret->array_job_id = job->array_job_id ? unless_no_val(job->array_job_id) : FACT_UNKNOWN;
	ret->array_task_id = unless_no_val(job->array_task_id);
	ret->het_job_id = job->het_job_id ? unless_no_val(job->het_job_id) : FACT_UNKNOWN;
	ret->het_job_offset = ret->het_job_id == FACT_UNKNOWN ? FACT_UNKNOWN : job->het_job_offset;
	ret->time_limit_min = unless_no_val(limit);
	ret->priority = job->priority;
	ret->total_nodes = ran ? job->total_nodes : 0;
	ret->total_cpus = ran ? job->total_cpus : 0;
	ret->exit_status = job->exit_code;
	ret->derived_status = job->derived_ec;
	ret->nsteps = job->next_step_id;
	ret->flags = (job->batch_flag ? FACT_HAS_BATCH : 0) |
		     (COMPAT_HAS_STEPMGR(job) || ret->het_job_id != FACT_UNKNOWN ? 0 : FACT_HAS_NSTEPS);
	ret->db_index = job->db_index == NO_VAL64 ? 0 : job->db_index;
	ret->submit = d ? seconds(d->submit_time) : 0;
	ret->eligible = d ? seconds(d->begin_time) : 0;
	/* the start_time of a job that never ran is when it was cancelled, or was expected to start */
	ret->start = ran ? seconds(job->start_time) : 0;
	ret->end = seconds(job->end_time);
	if (job->job_state & JOB_RESIZING)
		ret->end = seconds(job->resize_time);
	else
		resized = seconds(job->resize_time);
	/* a resize before the start was in an earlier run: a requeue does not reset resize_time */
	if (ran && resized && resized >= ret->start) {
		ret->submit = ret->eligible = ret->start = resized;
		ret->flags |= FACT_IS_RESIZED | (COMPAT_FIRST_PART_HAS_STEPS ? FACT_NO_STEPS : 0);
	}
	ret->suspended_s = suspended_s(job, ret->start);

	ret->left_out = 0;
	ret->text_used = 0;
	job_facts_add_text(ret, FACT_JOB_NAME, job->name);
	job_facts_add_text(ret, FACT_USER, job->user_name);
	job_facts_add_text(ret, FACT_ACCOUNT, job->account);
	job_facts_add_text(ret, FACT_PARTITION, job->partition);
	job_facts_add_text(ret, FACT_QOS, job->qos_ptr ? job->qos_ptr->name : NULL);
	job_facts_add_text(ret, FACT_WCKEY, job->wckey);
	job_facts_add_text(ret, FACT_STATE, job_state_name(job->job_state));
	job_facts_add_text(ret, FACT_NODES, job->nodes);
	job_facts_add_text(ret, FACT_WORK_DIR, d ? d->work_dir : NULL);
	job_facts_add_text(ret, FACT_RESERVATION, job->resv_name);
	job_facts_add_text(ret, FACT_SUBMIT_HOST, job->alloc_node);
	job_facts_add_text(ret, FACT_COMMENT, job->comment);
	job_facts_add_text(ret, FACT_TRES_REQ, job->tres_fmt_req_str);
	job_facts_add_text(ret, FACT_TRES_ALLOC, job->tres_fmt_alloc_str);
	slurm_names_sluid(ret->db_index, sluid);
	job_facts_add_text(ret, FACT_SLUID, sluid);
	copy_trace_parent(job, ret);
	copy_array_tasks(job, ret);
}

void job_copy_key(const struct job_facts *f, struct job_key *ret)
{
	*ret = (struct job_key){ .job_id = f->job_id,
				 .restart_count = f->restart_count,
				 .array_job_id = f->array_job_id,
				 .array_task_id = f->array_task_id,
				 .het_job_id = f->het_job_id,
				 .het_job_offset = f->het_job_offset,
				 .user_id = f->user_id,
				 .state = f->state,
				 .submit = f->submit,
				 .start = f->start,
				 .end = f->end };
}

static bool site_is_none(const char *type, const char *none)
{
	return !type || !*type || !xstrcasecmp(type, "none") || !xstrcasecmp(type, none);
}

void job_copy_site(struct cluster_facts *ret)
{
	const char *db = slurm_conf.accounting_storage_type;

	*ret = (struct cluster_facts){ 0 };
	(void)snprintf(ret->cluster, sizeof(ret->cluster), "%s", slurm_conf.cluster_name);
	(void)snprintf(ret->state_dir, sizeof(ret->state_dir), "%s", slurm_conf.state_save_location);
	if (site_is_none(slurm_conf.acct_gather_energy_type, "acct_gather_energy/none"))
		ret->flags |= SITE_UNMEASURED;
	if (site_is_none(slurm_conf.job_acct_gather_type, "jobacct_gather/none"))
		ret->flags |= SITE_NO_USAGE;
	if (db && strstr(db, "slurmdbd"))
		ret->flags |= SITE_HAS_SLURMDBD;
	if (slurm_conf.prolog_flags & PROLOG_FLAG_CONTAIN)
		ret->flags |= SITE_HAS_EXTERN;
}
