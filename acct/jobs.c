/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct/jobs.h"

#include <errno.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>

#include "acct/step_spread.h"
#include "src/libcore/metric_text.h"
#include "src/libcore/tresmap.h"
#include "src/libledger/ledger.h"
#include "src/librecord/record_fill.h"
#include "src/libutil/util.h"

/* List and ListIterator became list_t * and list_itr_t * in 23.11; the structs kept their names. */
typedef struct xlist slurm_rows;
typedef struct listIterator slurm_rows_iter;

_Static_assert(LEDGER_STEP_BATCH == SLURM_BATCH_SCRIPT, "number of the batch step");
_Static_assert(LEDGER_STEP_EXTERN == SLURM_EXTERN_CONT, "number of the extern step");
_Static_assert(RECORD_STATUS_UNKNOWN == NO_VAL, "exit status that is not known");
_Static_assert(LEDGER_STEP_INTERACTIVE == SLURM_INTERACTIVE_STEP, "number of that step");

static const char *state_name(uint32_t state)
{
	static const char *const names[JOB_END] = {
		[JOB_PENDING] = "PENDING",     [JOB_RUNNING] = "RUNNING",
		[JOB_SUSPENDED] = "SUSPENDED", [JOB_COMPLETE] = "COMPLETED",
		[JOB_CANCELLED] = "CANCELLED", [JOB_FAILED] = "FAILED",
		[JOB_TIMEOUT] = "TIMEOUT",     [JOB_NODE_FAIL] = "NODE_FAIL",
		[JOB_PREEMPTED] = "PREEMPTED", [JOB_BOOT_FAIL] = "BOOT_FAIL",
		[JOB_DEADLINE] = "DEADLINE",   [JOB_OOM] = "OUT_OF_MEMORY",
	};

	state &= JOB_STATE_BASE;
	return state < JOB_END && names[state] ? names[state] : "UNKNOWN";
}

static int set_text(char **ret, const char *text)
{
	if (!text || !*text)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static struct maybe_u64 maybe(uint64_t value)
{
	return (struct maybe_u64){ .value = value, .known = true };
}

static bool has_source(const struct figures *f)
{
	unsigned int m;

	metric_foreach(m)
		if (metric_table[m].kind == KIND_SOURCE && figures_has(f, (enum metric)m))
			return true;
	return false;
}

static void copy_step(const slurmdb_step_rec_t *from, const struct tresmap *map,
		      struct record_step *to)
{
	const slurmdb_stats_t *stats = &from->stats;
	uint64_t rss;

	to->step_id = from->step_id.step_id;
	to->name = from->stepname ? strdup(from->stepname) : NULL;
	(void)snprintf(to->state, sizeof(to->state), "%s", state_name(from->state));
	to->nodes = from->nodes ? strdup(from->nodes) : NULL;
	to->ntasks = from->ntasks;
	to->nnodes = from->nnodes;
	to->ncpus = tresmap_cpus(from->tres_alloc_str);
	to->start = (uint64_t)from->start;
	to->end = (uint64_t)from->end;
	to->exit_unknown = (uint32_t)from->exitcode == NO_VAL;
	record_exit_status((uint32_t)from->exitcode, &to->exit_code, &to->exit_signal);
	to->user_cpu_us = maybe(from->user_cpu_sec * 1000000 + from->user_cpu_usec);
	to->system_cpu_us = maybe(from->sys_cpu_sec * 1000000 + from->sys_cpu_usec);
	if (tresmap_value(stats->tres_usage_in_max, TRESMAP_MEM, &rss) == 0)
		to->max_rss_bytes = maybe(rss);
	figures_init(&to->figures);
	tresmap_read(map, stats->tres_usage_in_tot, SIDE_IN, &to->figures);
	tresmap_read(map, stats->tres_usage_out_tot, SIDE_OUT, &to->figures);
	/*
	 * sacct's ConsumedEnergy of a step. Slurm stores 0 also where no energy plugin ran; ours
	 * leaves its own TRES beside it.
	 */
	if (stats->consumed_energy && stats->consumed_energy < NO_CONSUME_VAL64)
		figures_set(&to->figures, METRIC_ENERGY,
			    metric_from_tres(METRIC_ENERGY, stats->consumed_energy));
	else if (!has_source(&to->figures))
		figures_miss(&to->figures, METRIC_ENERGY, REASON_NOT_MEASURED);
	step_spread(from, map, METRIC_CPU_TIME, to, &to->cpu_time);
	step_spread(from, map, METRIC_ENERGY, to, &to->energy);
}

static int copy_steps(slurm_rows *rows, const struct tresmap *map, struct record *to)
{
	int n = rows ? slurm_list_count(rows) : 0;
	slurm_rows_iter *it;
	const slurmdb_step_rec_t *step;

	to->steps_known = true;
	if (n <= 0)
		return 0;
	to->steps = calloc((size_t)n, sizeof(*to->steps));
	if (!to->steps)
		return -ENOMEM;
	it = slurm_list_iterator_create(rows);
	while ((step = slurm_list_next(it)) && to->nsteps < (size_t)n)
		copy_step(step, map, &to->steps[to->nsteps++]);
	slurm_list_iterator_destroy(it);
	return 0;
}

/* The extern step reports the whole job; without it the job is the sum of its steps. */
static void sum_up(struct record *r)
{
	const struct record_step *whole = NULL;
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		if (r->steps[i].step_id == LEDGER_STEP_EXTERN &&
		    figures_has(&r->steps[i].figures, METRIC_ENERGY))
			whole = &r->steps[i];
	figures_init(&r->figures);
	for (i = 0; i < r->nsteps; i++)
		if (!whole || whole == &r->steps[i])
			figures_fold(&r->figures, &r->steps[i].figures);
	if (r->end)
		r->energy.total_j = record_energy_told(r, r->energy.total_j);
	if (r->energy.total_j.known)
		figures_set(&r->figures, METRIC_ENERGY,
			    metric_from_tres(METRIC_ENERGY, r->energy.total_j.value));
	if (figures_has(&r->figures, METRIC_CO2E))
		r->emissions.method = CO2E_PER_TICK;
	metric_text_sources(&r->figures, "", r->energy.source, sizeof(r->energy.source));
}

static int copy_job(const slurmdb_job_rec_t *from, const struct tresmap *map,
		    struct record **ret)
{
	struct record *r = record_create();
	uint64_t joules;
	int rc = 0;

	if (!r)
		return -ENOMEM;
	rc |= set_text(&r->cluster, from->cluster);
	rc |= set_text(&r->job_name, from->jobname);
	rc |= set_text(&r->user_name, from->user);
	rc |= set_text(&r->account, from->account);
	rc |= set_text(&r->partition, from->partition);
	rc |= set_text(&r->nodes, from->nodes);
	rc |= set_text(&r->work_dir, from->work_dir);
	rc |= set_text(&r->wckey, from->wckey);
	rc |= set_text(&r->tres_alloc, from->tres_alloc_str);
	rc |= set_text(&r->tres_req, from->tres_req_str);
	rc |= set_text(&r->state, state_name(from->state));
	if (!rc)
		rc = copy_steps(from->steps, map, r);
	if (rc) {
		record_destroy(r);
		return -ENOMEM;
	}
	r->job_id = from->jobid;
	r->db_index = maybe(from->db_index);
	r->user_id = from->uid;
	r->group_id = from->gid;
	r->submit = (uint64_t)from->submit;
	r->eligible = (uint64_t)from->eligible;
	r->start = (uint64_t)from->start;
	r->end = (uint64_t)from->end;
	r->total_nodes = from->alloc_nodes;
	r->total_cpus = tresmap_cpus(from->tres_alloc_str);
	record_exit_status(from->exitcode, &r->exit_code, &r->exit_signal);
	if (tresmap_value(from->tres_alloc_str, TRESMAP_ENERGY, &joules) == 0)
		r->energy.total_j = maybe(joules);
	sum_up(r);
	r->energy.final = r->energy.total_j.known;
	*ret = r;
	return 0;
}

/* Which number has which of our TRES in this database. */
static int learn_tres(void *db, struct tresmap *map)
{
	slurmdb_tres_cond_t cond;
	slurm_rows *rows;
	slurm_rows_iter *it;
	const slurmdb_tres_rec_t *tres;

	slurmdb_init_tres_cond(&cond, 0);
	tresmap_init(map);
	rows = slurmdb_tres_get(db, &cond);
	if (!rows)
		return -EIO;
	it = slurm_list_iterator_create(rows);
	while ((tres = slurm_list_next(it)))
		tresmap_learn(map, tres->id, tres->type, tres->name);
	slurm_list_iterator_destroy(it);
	slurm_list_destroy(rows);
	return 0;
}

static slurm_rows *ask(void *db, uint32_t job_id, const char *cluster)
{
	slurm_selected_step_t wanted = {
		.array_task_id = NO_VAL,
		.het_job_offset = NO_VAL,
		.step_id = { .job_id = job_id, .step_id = NO_VAL, .step_het_comp = NO_VAL },
	};
	slurmdb_job_cond_t cond = { .db_flags = SLURMDB_JOB_FLAG_NOTSET,
				    .flags = JOBCOND_FLAG_NO_TRUNC };
	char *name = cluster ? strdup(cluster) : NULL;
	slurm_rows *rows;

	cond.step_list = slurm_list_create(NULL);
	slurm_list_append(cond.step_list, &wanted);
	if (name) {
		cond.cluster_list = slurm_list_create(NULL);
		slurm_list_append(cond.cluster_list, name);
	}
	cond.usage_end = time(NULL) + 1;
	rows = slurmdb_jobs_get(db, &cond);
	slurm_list_destroy(cond.step_list);
	if (name)
		slurm_list_destroy(cond.cluster_list);
	free(name);
	return rows;
}

int acct_jobs_get(uint32_t job_id, const char *cluster, struct acct_jobs *ret,
		  struct errmsg *err)
{
	struct acct_jobs jobs = { 0 };
	uint16_t flags = 0;
	struct tresmap map;
	slurm_rows *rows = NULL;
	slurm_rows_iter *it;
	const slurmdb_job_rec_t *row;
	void *db;
	int rc;

	slurm_init(NULL);
	errno = 0;
	db = slurmdb_connection_get(&flags);
	if (!db || errno) {
		rc = errmsg_set(err, -EIO, "slurmdbd: %s",
				errno ? slurm_strerror(errno) : "no connection");
		goto out;
	}
	rc = learn_tres(db, &map);
	if (rc == 0) {
		rows = ask(db, job_id, cluster);
		rc = rows ? 0 : -EIO;
	}
	if (rc < 0) {
		errmsg_set(err, rc, "slurmdbd does not answer: %s", slurm_strerror(errno));
		goto out;
	}
	jobs.job = calloc((size_t)slurm_list_count(rows) + 1, sizeof(*jobs.job));
	if (!jobs.job)
		rc = -ENOMEM;
	it = slurm_list_iterator_create(rows);
	while (rc == 0 && (row = slurm_list_next(it))) {
		rc = copy_job(row, &map, &jobs.job[jobs.njobs]);
		jobs.njobs += rc == 0;
	}
	slurm_list_iterator_destroy(it);
	if (rc == 0 && !jobs.njobs)
		rc = errmsg_set(err, -ENOENT, "slurmdbd shows no job %u to this user", job_id);
	else if (rc < 0)
		errmsg_set(err, rc, "out of memory");
out:
	if (rows)
		slurm_list_destroy(rows);
	if (db)
		(void)slurmdb_connection_close(&db);
	slurm_fini();
	if (rc < 0)
		acct_jobs_free(&jobs);
	else
		*ret = jobs;
	return rc;
}

void acct_jobs_free(struct acct_jobs *jobs)
{
	size_t i;

	for (i = 0; i < jobs->njobs; i++)
		record_destroy(jobs->job[i]);
	free(jobs->job);
	jobs->job = NULL;
	jobs->njobs = 0;
}
