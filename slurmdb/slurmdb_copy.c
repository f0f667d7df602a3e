/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurmdb/slurmdb_copy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "slurmdb/slurm_compat.h"
#include "slurmdb/slurm_names.h"
#include "slurmdb/slurmdb_spread.h"
#include "src/libledger/ledger.h"
#include "src/libutil/util.h"

_Static_assert(LEDGER_STEP_BATCH == SLURM_BATCH_SCRIPT, "number of the batch step");
_Static_assert(LEDGER_STEP_EXTERN == SLURM_EXTERN_CONT, "number of the extern step");
_Static_assert(LEDGER_STEP_INTERACTIVE == SLURM_INTERACTIVE_STEP, "number of that step");
_Static_assert(SLURMDB_NO_TASK == NO_VAL, "no task of an array");
_Static_assert(RECORD_STATUS_UNKNOWN == NO_VAL, "exit status that is not known");

const char *slurmdb_copy_state(uint32_t state)
{
	static const char *const names[JOB_END] = {
		[JOB_PENDING] = "PENDING",     [JOB_RUNNING] = "RUNNING",     [JOB_SUSPENDED] = "SUSPENDED",
		[JOB_COMPLETE] = "COMPLETED",  [JOB_CANCELLED] = "CANCELLED", [JOB_FAILED] = "FAILED",
		[JOB_TIMEOUT] = "TIMEOUT",     [JOB_NODE_FAIL] = "NODE_FAIL", [JOB_PREEMPTED] = "PREEMPTED",
		[JOB_BOOT_FAIL] = "BOOT_FAIL", [JOB_DEADLINE] = "DEADLINE",   [JOB_OOM] = "OUT_OF_MEMORY",
	};
	const char *flagged = slurm_names_flagged_state(state);
	uint32_t base = state & JOB_STATE_BASE;

	if (flagged)
		return flagged;
	return base < JOB_END ? names[base] : NULL;
}

/* Returns NODES, or NULL if it is one of Slurm's words for "no nodes". */
static const char *copy_known_nodes(const char *nodes)
{
	if (!nodes || !*nodes || !strcmp(nodes, "None assigned") || !strcmp(nodes, "(unknown)") ||
	    !strcmp(nodes, "(null)"))
		return NULL;
	return nodes;
}

int slurmdb_copy_text(char **to, const char *from)
{
	if (!from || !*from)
		return 0;
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

struct maybe_u64 slurmdb_copy_number(uint32_t from)
{
	bool known = from != NO_VAL && from != INFINITE;

	return (struct maybe_u64){ known ? from : 0, known };
}

void slurmdb_copy_array(struct record *r, uint32_t job_id, uint32_t task_id)
{
	if (!job_id)
		return;
	r->array_job_id = slurmdb_copy_number(job_id);
	r->array_task_id = slurmdb_copy_number(task_id);
}

void slurmdb_copy_het(struct record *r, uint32_t job_id, uint32_t offset)
{
	if (!job_id)
		return;
	r->het_job_id = slurmdb_copy_number(job_id);
	r->het_job_offset = slurmdb_copy_number(offset);
}

static struct maybe_u64 copy_usage(const char *usage, uint32_t id)
{
	uint64_t v;

	return tresmap_value(usage, id, &v) == 0 ? (struct maybe_u64){ v, true } : (struct maybe_u64){ 0 };
}

/* --- steps ----------------------------------------------------------------------------------- */

static void copy_energy(const slurmdb_stats_t *stats, const struct tresmap *map, struct values *values)
{
	/* ConsumedEnergy is a column of its own; if both columns have a value, they are the same */
	if (stats->consumed_energy && stats->consumed_energy < NO_CONSUME_VAL64)
		values_set(values, METRIC_ENERGY, metric_from_tres(METRIC_ENERGY, stats->consumed_energy));
	if (map->id[METRIC_ENERGY_NODES])
		values_miss_untold_joules(values);
}

/* A peak of 0 is of a node that took no sample: nodes of an earlier version of ours report it so. */
static void copy_memory(struct values *values)
{
	if (values_has(values, METRIC_MEMORY_PEAK) && !values->value[METRIC_MEMORY_PEAK])
		values_miss(values, METRIC_MEMORY_PEAK, REASON_NOT_MEASURED);
}

static int copy_step(const slurmdb_step_rec_t *from, const struct tresmap *map, struct record_step *to)
{
	const slurmdb_stats_t *stats = &from->stats;
	const char *state = slurmdb_copy_state(from->state);
	int rc = 0;

	*to = (struct record_step){
		.step_id = from->step_id.step_id,
		.het_component = slurmdb_copy_number(from->step_id.step_het_comp),
		.ntasks = from->ntasks,
		.nnodes = from->nnodes,
		.ncpus = tresmap_cpus(from->tres_alloc_str),
		.start = compat_time(from->start),
		.end = compat_time(from->end),
		.suspended_s = { from->suspended, from->start > 0 },
		.exit_unknown = (uint32_t)from->exitcode == NO_VAL,
		/* slurmdbd gets CPU times when the step ends; until then they are 0 */
		.user_cpu_us = { from->user_cpu_sec * 1000000 + from->user_cpu_usec, from->end > 0 },
		.system_cpu_us = { from->sys_cpu_sec * 1000000 + from->sys_cpu_usec, from->end > 0 },
		.max_rss_bytes = copy_usage(stats->tres_usage_in_max, TRESMAP_MEM),
	};
	rc |= slurmdb_copy_text(&to->name, from->stepname);
	rc |= slurmdb_copy_text(&to->nodes, copy_known_nodes(from->nodes));
	(void)snprintf(to->state, sizeof(to->state), "%s", state ? state : "");
	record_exit_status((uint32_t)from->exitcode, &to->exit_code, &to->exit_signal);
	values_init(&to->values);
	tresmap_read(map, stats->tres_usage_in_tot, stats->tres_usage_in_max, SIDE_IN, &to->values);
	tresmap_read(map, stats->tres_usage_out_tot, stats->tres_usage_out_max, SIDE_OUT, &to->values);
	copy_energy(stats, map, &to->values);
	copy_memory(&to->values);
	slurmdb_spread(from, map, METRIC_CPU_TIME, to, &to->cpu_time);
	slurmdb_spread(from, map, METRIC_ENERGY, to, &to->energy);
	slurmdb_spread(from, map, METRIC_MEMORY_PEAK, to, &to->memory);
	return rc ? -ENOMEM : 0;
}

/* Copies the steps of JOB to R and SIGNS, which have room for N. */
static int copy_steps(const struct slurmdb_copy *c, const slurmdb_job_rec_t *job,
		      struct slurmdb_step_signs *signs, size_t n, struct record *r)
{
	compat_list_itr *it = slurm_list_iterator_create(job->steps);
	const slurmdb_step_rec_t *step;
	int rc = 0;

	while (rc == 0 && r->nsteps < n && (step = slurm_list_next(it))) {
		const char *usage = step->stats.tres_usage_in_tot;

		signs[r->nsteps] = (struct slurmdb_step_signs){
			.step_id = step->step_id.step_id,
			.start = compat_time(step->start),
			.end = compat_time(step->end),
			.has_usage = usage && *usage,
			.lost = (uint32_t)step->exitcode == NO_VAL,
		};
		rc = copy_step(step, &c->names->map, &r->steps[r->nsteps++]);
	}
	slurm_list_iterator_destroy(it);
	return rc;
}

/* --- the job --------------------------------------------------------------------------------- */

static int copy_texts(const struct slurmdb_names *names, const slurmdb_job_rec_t *job, bool ran,
		      struct record *r)
{
	char sluid[SLURM_NAMES_SLUID_SIZE];
	int rc = 0;

	slurm_names_sluid(job->db_index, sluid);
	rc |= slurmdb_copy_text(&r->sluid, sluid);
	rc |= slurmdb_copy_text(&r->cluster, job->cluster);
	rc |= slurmdb_copy_text(&r->job_name, job->jobname);
	rc |= slurmdb_copy_text(&r->user_name, job->user);
	rc |= slurmdb_copy_text(&r->account, job->account);
	rc |= slurmdb_copy_text(&r->partition, job->partition);
	rc |= slurmdb_copy_text(&r->qos, slurmdb_names_qos(names, job->qosid));
	rc |= slurmdb_copy_text(&r->wckey, job->wckey);
	rc |= slurmdb_copy_text(&r->state, slurmdb_copy_state(job->state));
	rc |= slurmdb_copy_text(&r->nodes, ran ? job->nodes : NULL);
	rc |= slurmdb_copy_text(&r->work_dir, job->work_dir);
	rc |= slurmdb_copy_text(&r->reservation, job->resv_name);
	rc |= slurmdb_copy_text(&r->comment, job->derived_es);
	rc |= slurmdb_names_tres(names, job->tres_req_str, &r->tres_req);
	rc |= slurmdb_names_tres(names, job->tres_alloc_str, &r->tres_alloc);
	/* not for a task: its text is what was pending when the task was split off */
	if (r->array_job_id.known && !r->array_task_id.known && job->array_task_str && *job->array_task_str) {
		r->array_tasks = record_array_tasks(job->array_task_str);
		rc |= r->array_tasks ? 0 : -ENOMEM;
	}
	return rc ? -ENOMEM : 0;
}

static void copy_numbers(const slurmdb_job_rec_t *job, bool ran, struct record *r)
{
	r->job_id = job->jobid;
	r->db_index = (struct maybe_u64){ job->db_index, job->db_index != 0 };
	slurmdb_copy_array(r, job->array_job_id, job->array_task_id);
	slurmdb_copy_het(r, job->het_job_id, job->het_job_offset);
	r->time_limit_min = slurmdb_copy_number(job->timelimit);
	/*
	 * 0 means held, so a job that ran cannot have it: it is the priority of the next run after
	 * a requeue
	 */
	if (!ran || job->priority)
		r->priority = slurmdb_copy_number(job->priority);
#ifdef HAVE_SLURMDB_RESTART_CNT
	r->restart_count = job->restart_cnt;
#endif
	r->user_id = job->uid;
	r->group_id = job->gid;
	r->submit = compat_time(job->submit);
	r->end = compat_time(job->end);
	if (ran) {
		r->start = compat_time(job->start);
		/* slurmdbd has the job's own start, and the resize as the submit time */
		r->is_resized = r->start && r->start < r->submit;
		r->suspended_s = (struct maybe_u64){ job->suspended, true };
		r->total_nodes = job->alloc_nodes;
		r->total_cpus = tresmap_cpus(job->tres_alloc_str);
	}
	/* during a requeue, slurmctld may overwrite the eligible time with that of the next run */
	if (!ran || job->eligible <= job->start)
		r->eligible = compat_time(job->eligible);
	r->energy.row_j = copy_usage(job->tres_alloc_str, TRESMAP_ENERGY);
	record_exit_status(job->exitcode, &r->exit_code, &r->exit_signal);
	record_exit_status(job->derived_ec, &r->derived_exit_code, &r->derived_exit_signal);
}

/* Whether slurmdbd was told the end but not the start. Unknown columns of such a row are 0. */
static bool copy_is_half(const slurmdb_job_rec_t *job)
{
	return !job->eligible && !job->uid && (!job->partition || !*job->partition);
}

static void copy_forget_half(struct record *r)
{
	free(TAKE_PTR(r->tres_req));
	free(TAKE_PTR(r->job_name));
	r->eligible = 0;
	r->time_limit_min = r->priority = (struct maybe_u64){ 0 };
}

/*
 * Returns the part of c->known that is about this row. The batch script of a het job runs in its
 * first component.
 */
static struct slurmdb_known copy_known(const struct slurmdb_copy *c, const slurmdb_job_rec_t *job)
{
	struct slurmdb_known known = *c->known;

	if (c->no_steps)
		return (struct slurmdb_known){ .end = known.end };
	if (job->het_job_id && job->het_job_offset)
		known.has_batch = false;
	return known;
}

int slurmdb_copy_job(const struct slurmdb_copy *c, const void *row, struct slurmdb_job *ret)
{
	const slurmdb_job_rec_t *job = row;
	bool ran = copy_known_nodes(job->nodes);
	int count = c->no_steps || !job->steps ? 0 : slurm_list_count(job->steps);
	size_t n = count > 0 ? (size_t)count : 0;
	_cleanup_free_ struct slurmdb_step_signs *signs = calloc(n + 1, sizeof(*signs));
	struct record *r = record_create();
	int rc = r && signs ? 0 : -ENOMEM;

	if (rc == 0 && n) {
		r->steps = calloc(n, sizeof(*r->steps));
		rc = r->steps ? copy_steps(c, job, signs, n, r) : -ENOMEM;
	}
	if (rc == 0) {
		copy_numbers(job, ran, r);
		rc = copy_texts(c->names, job, ran, r);
	}
	if (rc == 0) {
		struct slurmdb_signs s = { .start = ran ? compat_time(job->start) : 0,
					   .end = compat_time(job->end),
					   .has_start_row = !copy_is_half(job),
					   .no_ends = !COMPAT_FIRST_PART_HAS_STEPS &&
						      (job->state & JOB_RESIZING),
					   .no_usage = c->no_usage,
					   .step = signs,
					   .n = r->nsteps };
		struct slurmdb_known known = copy_known(c, job);

		r->steps_known = !c->no_steps;
		if (!s.has_start_row)
			copy_forget_half(r);
		*ret = (struct slurmdb_job){
			.missing = slurmdb_signs_missing(&s, &known),
			.is_half = !s.has_start_row,
			.record = TAKE_PTR(r),
		};
		ret->state = ret->missing == SIGN_NONE ? SLURMDB_FINAL : SLURMDB_OPEN;
	}
	record_destroy(r);
	return rc;
}
