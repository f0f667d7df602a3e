/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of slurmdbd, made by hand, as records. */
#include "slurmdb/slurmdb_copy.h"

#include <stdlib.h>

#include "slurmdb/slurm_compat.h"
#include "src/libledger/ledger.h"
#include "src/libutil/util.h"
#include "tap.h"

#define TRES_ALLOC "1=4,2=8192,3=824,4=2,5=4"
#define ENERGY_UNKNOWN "3=18446744073709551614"

static struct slurmdb_names names;

/* What Slurm's rows have where there is nothing. */
static slurmdb_step_rec_t a_step(uint32_t id)
{
	static char name[] = "step", nodes[] = "n[1-2]", alloc[] = "1=2,2=1024,4=2";
	static char in_tot[] = "1=1500,2=1048576,3=412,6=4096,7=0,1001=2", in_max[] = "1=1000,2=786432,3=300";
	static char nodeid[] = "1=1,2=1,3=1";
	static char out_tot[] = "1002=6000000", out_max[] = "1002=5000000";
	slurmdb_step_rec_t s;

	memset(&s, 0, sizeof(s));
	s.step_id.job_id = 12;
	s.step_id.step_id = id;
	s.step_id.step_het_comp = NO_VAL;
	s.stepname = name;
	s.nodes = nodes;
	s.nnodes = 2;
	s.ntasks = 2;
	s.start = 1000;
	s.end = 1060;
	s.suspended = 7;
	s.state = JOB_COMPLETE;
	s.tres_alloc_str = alloc;
	s.user_cpu_sec = 1;
	s.user_cpu_usec = 250000;
	s.sys_cpu_usec = 5;
	s.stats.tres_usage_in_tot = in_tot;
	s.stats.tres_usage_in_max = in_max;
	s.stats.tres_usage_in_max_nodeid = nodeid;
	s.stats.tres_usage_out_tot = out_tot;
	s.stats.tres_usage_out_max = out_max;
	s.stats.consumed_energy = NO_CONSUME_VAL64;
	return s;
}

static slurmdb_job_rec_t a_job(void)
{
	static char cluster[] = "c", name[] = "sim", user[] = "ann", account[] = "physics";
	static char partition[] = "batch", nodes[] = "n[1-2]", dir[] = "/home/ann", none[] = "";
	static char alloc[] = TRES_ALLOC, req[] = "1=4,2=8192,4=2,5=4";
	slurmdb_job_rec_t j;

	memset(&j, 0, sizeof(j));
	j.cluster = cluster;
	j.jobid = 12;
	j.jobname = name;
	j.user = user;
	j.uid = 1000;
	j.gid = 100;
	j.account = account;
	j.partition = partition;
	j.nodes = nodes;
	j.work_dir = dir;
	j.wckey = none;
	j.qosid = 1;
	j.timelimit = 60;
	j.priority = 77;
	j.state = JOB_COMPLETE;
	j.submit = 990;
	j.eligible = 991;
	j.start = 1000;
	j.end = 1060;
	j.suspended = 20;
	j.alloc_nodes = 2;
	j.tres_alloc_str = alloc;
	j.tres_req_str = req;
	j.array_task_id = NO_VAL;
	j.het_job_offset = NO_VAL;
	return j;
}

static struct slurmdb_job copy_of(slurmdb_job_rec_t *row, slurmdb_step_rec_t *step, size_t n,
				  const struct slurmdb_known *known)
{
	static const struct slurmdb_known nothing;
	struct slurmdb_copy c = { .names = &names, .known = known ? known : &nothing };
	struct slurmdb_job job = { 0 };
	size_t i;

	row->steps = slurm_list_create(NULL);
	for (i = 0; i < n; i++)
		slurm_list_append(row->steps, &step[i]);
	is_int(slurmdb_copy_job(&c, row, &job), 0, "a row");
	slurm_list_destroy(row->steps);
	return job;
}

static void test_job(void)
{
	slurmdb_job_rec_t row = a_job();
	slurmdb_step_rec_t step[2] = { a_step(SLURM_EXTERN_CONT), a_step(0) };
	struct slurmdb_job job = copy_of(&row, step, 2, NULL);
	const struct record *r = job.record;

	is_int(job.state, SLURMDB_FINAL, "is final");
	ok(!job.is_half, "and not the end alone");
	is_u64(r->energy.row_j.value, 824, "energy of the job's row");
	is_str(r->qos, "normal", "QOS by name");
	is_str(r->wckey, NULL, "an empty text is unknown");
	is_str(r->tres_alloc, "cpu=4,mem=8G,node=2,billing=4", "TRES by name");
	is_str(r->state, "COMPLETED", "state");
	is_u64(r->total_cpus, 4, "CPUs");
	is_u64(r->time_limit_min.value, 60, "time limit");
	ok(!r->array_job_id.known && !r->het_job_id.known, "neither of an array nor a het job");
	is_u64(r->suspended_s.value, 20, "suspended time");
	is_u64(r->steps[1].suspended_s.value, 7, "  of a step");
	is_u64(r->nsteps, 2, "steps");
	is_u64(r->steps[1].values.value[METRIC_ENERGY], 412000000, "a step's energy");
	is_u64(r->steps[1].values.value[METRIC_SENSOR_LAG], 5000000000,
	       "the larger lag of its two nodes' sensors");
	is_u64(r->steps[1].user_cpu_us.value, 1250000, "CPU time as user");
	is_u64(r->steps[1].system_cpu_us.value, 5, "and in the kernel");
	is_u64(r->steps[1].max_rss_bytes.value, 786432, "the largest task");
	is_u64(r->steps[1].ncpus, 2, "a step's CPUs");
	is_str(r->steps[1].energy.max_node, "n2", "the node that used most");
	ok(!r->steps[1].het_component.known, "no component");
	record_destroy(job.record);
}

/*
 * Exit codes and signals as sacct shows them. The CLI once showed NO_VAL as signal 126
 * and status 1 as signal 1.
 */
static void test_exit_status(void)
{
	static const struct {
		const char *what;
		uint32_t status;
		int32_t code, sig;
		bool unknown;
	} t[] = {
		{ "success", 0, 0, 0, false },	  { "exit 3", 0x300, 3, 0, false },
		{ "SIGKILL", 9, 0, 9, false },	  { "1 is Slurm's own exit code", 1, 1, 0, false },
		{ "NO_VAL", NO_VAL, 0, 0, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		slurmdb_job_rec_t row = a_job();
		slurmdb_step_rec_t step = a_step(0);
		struct slurmdb_job job;

		row.exitcode = t[i].status;
		row.derived_ec = t[i].status;
		step.exitcode = (int32_t)t[i].status;
		diag("%s", t[i].what);
		job = copy_of(&row, &step, 1, NULL);
		is_int(job.record->exit_code, t[i].code, "exit code");
		is_int(job.record->exit_signal, t[i].sig, "signal");
		is_int(job.record->derived_exit_code, t[i].code, "derived exit code");
		is_int(job.record->derived_exit_signal, t[i].sig, "derived signal");
		is_int(job.record->steps[0].exit_code, t[i].code, "exit code of the step");
		is_int(job.record->steps[0].exit_signal, t[i].sig, "signal of the step");
		is_int(job.record->steps[0].exit_unknown, t[i].unknown, "whether it is known");
		record_destroy(job.record);
	}
}

static void test_unknown(void)
{
	static char pending_nodes[] = "None assigned", no_energy[] = "1=4," ENERGY_UNKNOWN ",4=2";
	static char no_usage[] = "";
	slurmdb_job_rec_t row = a_job();
	slurmdb_step_rec_t step = a_step(0);
	struct slurmdb_job job;

	row.tres_alloc_str = no_energy;
	row.timelimit = NO_VAL;
	row.priority = INFINITE;
	row.qosid = 99;
	job = copy_of(&row, &step, 1, NULL);
	ok(!job.record->energy.row_j.known, "a requeued run's row never has its energy");
	ok(!job.record->time_limit_min.known && !job.record->priority.known, "numbers that Slurm lacks");
	is_str(job.record->qos, NULL, "a QOS without a name is unknown, and no word");
	record_destroy(job.record);

	row = a_job();
	row.nodes = pending_nodes;
	row.start = 0;
	row.state = JOB_CANCELLED;
	row.alloc_nodes = 0;
	row.tres_alloc_str = NULL;
	job = copy_of(&row, NULL, 0, &(struct slurmdb_known){ .end = 1060, .has_extern = true });
	is_int(job.state, SLURMDB_FINAL, "a job that was cancelled while pending is final");
	is_str(job.record->nodes, NULL, "and had no nodes");
	is_u64(job.record->start, 0, "nor a start");
	is_str(job.record->state, "CANCELLED", "state");
	ok(job.record->steps_known, "it is known that it has no steps");
	record_destroy(job.record);

	row.start = INFINITE;
	row.eligible = INFINITE;
	row.end = NO_VAL;
	job = copy_of(&row, NULL, 0, NULL);
	ok(!job.record->start && !job.record->eligible && !job.record->end, "nothing is in the year 2106");
	record_destroy(job.record);

	row = a_job();
	row.state = JOB_RUNNING;
	row.end = 0;
	step.end = 0;
	step.user_cpu_sec = step.user_cpu_usec = step.sys_cpu_usec = 0;
	job = copy_of(&row, &step, 1, NULL);
	ok(!job.record->steps[0].user_cpu_us.known && !job.record->steps[0].system_cpu_us.known,
	   "of a running step slurmdbd has no CPU time, which is not 0");
	record_destroy(job.record);

	row = a_job();
	step = a_step(0);
	step.stats.tres_usage_in_tot = no_usage;
	job = copy_of(&row, &step, 1, NULL);
	is_int(job.state, SLURMDB_OPEN, "a step whose end slurmdbd invented");
	is_int(job.missing, SIGN_STEP_USAGE, "lacks its usage");
	record_destroy(job.record);
}

/* Slurm's 0 J of a step whose slurmstepd told nothing is not a measured 0. */
static void test_no_joules(void)
{
	static char untold[] = "1=0,2=0,3=0,6=0,7=0", measured[] = "1=0,2=0,3=0,6=0,7=0,1001=2";
	static char late[] = "1=0,2=0,3=0,1001=0";
	slurmdb_job_rec_t row = a_job();
	slurmdb_step_rec_t step[2] = { a_step(SLURM_EXTERN_CONT), a_step(0) };
	const struct record_step *s;
	struct slurmdb_job job;

	step[0].stats.tres_usage_in_tot = untold;
	step[0].stats.consumed_energy = 0;
	step[1].stats.tres_usage_in_tot = measured;
	job = copy_of(&row, step, 2, NULL);
	s = job.record->steps;
	ok(!values_has(&s[0].values, METRIC_ENERGY), "0 J of which no node told is unknown");
	ok(values_has(&s[1].values, METRIC_ENERGY) && s[1].values.value[METRIC_ENERGY] == 0,
	   "0 J of two nodes is 0");
	record_destroy(job.record);
	step[1].stats.tres_usage_in_tot = late;
	job = copy_of(&row, step, 2, NULL);
	ok(!values_has(&job.record->steps[1].values, METRIC_ENERGY),
	   "0 J up to the last tick in time, where the last one came late, is unknown");
	record_destroy(job.record);
}

/* slurmdbd was told the end and not the start. */
/* A node that took no sample has no peak. */
static void test_no_memory(void)
{
	static char none[] = "1=1500,1004=0", some[] = "1=1500,1004=4096";
	char *const usage[] = { none, some };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(usage); i++) {
		slurmdb_job_rec_t row = a_job();
		slurmdb_step_rec_t step = a_step(0);
		struct slurmdb_job job;

		step.stats.tres_usage_in_max = usage[i];
		step.stats.tres_usage_in_tot = usage[i];
		job = copy_of(&row, &step, 1, NULL);
		ok(values_has(&job.record->steps[0].values, METRIC_MEMORY_PEAK) == (i > 0), "  a peak of %s",
		   usage[i]);
		record_destroy(job.record);
	}
}

static void test_half(void)
{
	static char none[] = "", unknown[] = "(unknown)";
	slurmdb_job_rec_t row = a_job();
	struct slurmdb_job job;

	row.uid = row.gid = row.qosid = 0;
	row.eligible = row.start = 0;
	row.partition = row.jobname = row.user = NULL;
	row.nodes = unknown;
	row.tres_alloc_str = row.tres_req_str = none;
	job = copy_of(&row, NULL, 0, NULL);
	ok(job.is_half, "a row of the end alone");
	is_int(job.state, SLURMDB_OPEN, "is not final");
	is_int(job.missing, SIGN_START, "lacks the start");
	is_str(job.record->qos, NULL, "no QOS");
	is_str(job.record->partition, NULL, "no partition");
	record_destroy(job.record);
}

/* The extern step of a resized job outlasts the first part; up to 25.11 slurmdbd is not told its end. */
static void test_resized(void)
{
	slurmdb_job_rec_t row = a_job();
	slurmdb_step_rec_t step = a_step(SLURM_EXTERN_CONT);
	struct slurmdb_job job;

	row.state = JOB_RESIZING;
	step.stats.tres_usage_in_tot = NULL;
	job = copy_of(&row, &step, 1, NULL);
	is_str(job.record->state, "RESIZING", "a part of a resized job");
	is_str(slurmdb_sign_text(job.missing),
	       slurmdb_sign_text(SLURM_VERSION_NUMBER >= 0x1a0500 ? SIGN_STEP_USAGE : SIGN_NONE),
	       "waits for its extern step if slurmdbd will have its usage");
	ok(!job.record->is_resized, "  which is not a later part");
	record_destroy(job.record);

	row.state = JOB_COMPLETE;
	row.submit = row.start + 5;
	job = copy_of(&row, NULL, 0, NULL);
	ok(job.record->is_resized, "a start before the submit time, which is the resize: a later part");
	record_destroy(job.record);
}

/* During a requeue, slurmctld may write values of the next run into the row of the run that ended. */
static void test_requeued(void)
{
	slurmdb_job_rec_t row = a_job();
	struct slurmdb_job job;

	row.eligible = row.start + 3;
	row.priority = 0;
	job = copy_of(&row, NULL, 0, NULL);
	ok(!job.record->priority.known, "a run whose next one is held: no priority");
	is_u64(job.record->eligible, 0, "a run that became eligible after its start: unknown when");
	record_destroy(job.record);
}

static void test_arrays(void)
{
	static char tasks[] = "0x1C";
	slurmdb_step_rec_t step = a_step(0);
	slurmdb_job_rec_t row = a_job();
	struct slurmdb_job job;

	row.array_job_id = 12;
	row.array_task_id = NO_VAL;
	row.array_task_str = tasks;
	job = copy_of(&row, NULL, 0, NULL);
	is_u64(job.record->array_job_id.value, 12, "an array that was cancelled whole");
	ok(!job.record->array_task_id.known, "is no task");
	is_str(job.record->array_tasks, "2-4", "and says which it had");
	record_destroy(job.record);

	row.array_task_id = 3;
	row.jobid = 15;
	job = copy_of(&row, NULL, 0, NULL);
	is_u64(job.record->array_task_id.value, 3, "a task");
	is_str(job.record->array_tasks, NULL, "does not say what was pending");
	record_destroy(job.record);

	row = a_job();
	row.het_job_id = 11;
	row.het_job_offset = 1;
	job = copy_of(&row, NULL, 0, NULL);
	is_u64(job.record->het_job_id.value, 11, "a component of a het job");
	is_u64(job.record->het_job_offset.value, 1, "and which");
	record_destroy(job.record);
	job = copy_of(&row, &step, 1, &(struct slurmdb_known){ .has_batch = true });
	is_int(job.state, SLURMDB_FINAL, "has no batch step");
	record_destroy(job.record);
	row.het_job_offset = 0;
	job = copy_of(&row, &step, 1, &(struct slurmdb_known){ .has_batch = true });
	is_int(job.missing, SIGN_BATCH, "which the first has");
	record_destroy(job.record);
}

static void test_states(void)
{
	is_str(slurmdb_copy_state(JOB_OOM), "OUT_OF_MEMORY", "a state");
	is_str(slurmdb_copy_state(JOB_PENDING | JOB_REQUEUE), "REQUEUED", "requeued");
	is_str(slurmdb_copy_state(JOB_NODE_FAIL | JOB_REQUEUE), "NODE_FAIL", "requeued for its node");
	is_str(slurmdb_copy_state(JOB_COMPLETE | JOB_RESIZING), "RESIZING", "resized");
	is_str(slurmdb_copy_state(JOB_STATE_BASE), NULL, "a state of a later version");
}

int main(void)
{
	slurmdb_names_init(&names);
	(void)slurmdb_names_add_tres(&names, 1, "cpu", NULL);
	(void)slurmdb_names_add_tres(&names, 2, "mem", NULL);
	(void)slurmdb_names_add_tres(&names, 3, "energy", NULL);
	(void)slurmdb_names_add_tres(&names, 4, "node", NULL);
	(void)slurmdb_names_add_tres(&names, 5, "billing", NULL);
	/* "ic/...": how many nodes the energy is of */
	(void)slurmdb_names_add_tres(&names, 1001, "ic", metric_table[METRIC_ENERGY_NODES].tres + 3);
	(void)slurmdb_names_add_tres(&names, 1002, "ic", metric_table[METRIC_SENSOR_LAG].tres + 3);
	(void)slurmdb_names_add_tres(&names, 1004, "ic", metric_table[METRIC_MEMORY_PEAK].tres + 3);
	(void)slurmdb_names_add_qos(&names, 1, "normal");
	test_job();
	test_exit_status();
	test_unknown();
	test_no_joules();
	test_no_memory();
	test_half();
	test_resized();
	test_requeued();
	test_arrays();
	test_states();
	slurmdb_names_fini(&names);
	return done_testing();
}
