/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs of slurmctld as records. This program has slurmctld's answers itself. */
#include "slurmdb/ctld_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/util.h"
#include "rnd.h"
#include "tap.h"

#define NOW ((time_t)100000)

/* --- slurmctld --------------------------------------------------------------------------------- */

static slurm_job_info_t ctld_job[3];
static uint32_t ctld_njobs;
static int ctld_error;

static int ctld_answer(job_info_msg_t **ret)
{
	static job_info_msg_t msg;

	msg.job_array = ctld_job;
	msg.record_count = ctld_njobs;
	*ret = &msg;
	if (ctld_error)
		errno = ctld_error;
	return ctld_error ? SLURM_ERROR : SLURM_SUCCESS;
}

#if SLURM_VERSION_NUMBER >= 0x1a0500
int slurm_load_job(job_info_msg_t **ret, slurm_step_id_t step_id, uint16_t flags)
{
	(void)step_id;
#else
int slurm_load_job(job_info_msg_t **ret, uint32_t job_id, uint16_t flags)
{
	(void)job_id;
#endif
	(void)flags;
	return ctld_answer(ret);
}

int slurm_load_jobs(time_t since, job_info_msg_t **ret, uint16_t flags)
{
	(void)since;
	(void)flags;
	return ctld_answer(ret);
}

void slurm_free_job_info_msg(job_info_msg_t *msg)
{
	(void)msg;
}

/* A job that ran from NOW to NOW + 100. */
static slurm_job_info_t a_job(uint32_t id)
{
	static char nodes[] = "n[1-2]", tres[] = "cpu=4,mem=8G,energy=42,node=2,billing=4";
	slurm_job_info_t j;

	memset(&j, 0, sizeof(j));
	j.job_id = id;
	j.job_state = JOB_COMPLETE;
	j.array_task_id = NO_VAL;
	j.het_job_offset = NO_VAL;
	j.nodes = nodes;
	j.tres_alloc_str = tres;
	j.submit_time = NOW - 10;
	j.eligible_time = NOW - 10;
	j.start_time = NOW;
	j.end_time = NOW + 100;
	return j;
}

/* Asks for the run of job 7 that was submitted at SUBMIT. The caller frees RET's jobs. */
static int ask(uint64_t submit, struct slurmdb_jobs *ret)
{
	const struct slurmdb_want want = { .job_id = 7, .submit = submit };
	struct errmsg err = { 0 };
	int rc;

	*ret = (struct slurmdb_jobs){ 0 };
	rc = ctld_rows_get("c", &want, 1, ret, &err);
	ok((rc < 0) == (err.text[0] != '\0'), "an error has a text: '%s'", err.text);
	return rc;
}

/* --- rows -------------------------------------------------------------------------------------- */

static void test_get(void)
{
	struct slurmdb_jobs jobs;
	const struct record *r;

	ctld_error = ESLURM_INVALID_JOB_ID;
	is_int(ask(0, &jobs), 0, "slurmctld has forgotten the job");
	is_u64(jobs.n, 0, "  no row");
	ctld_error = EAGAIN;
	is_int(ask(0, &jobs), -EIO, "slurmctld does not answer");
	ctld_error = 0;

	ctld_njobs = 2;
	ctld_job[0] = a_job(6); /* of the same array */
	ctld_job[1] = a_job(7);
	ctld_job[1].restart_cnt = 2;
	ctld_job[1].exit_code = 0x300;
	is_int(ask(0, &jobs), 0, "a job that has ended");
	is_u64(jobs.n, 1, "  one row");
	r = jobs.job[0].record;
	is_int(jobs.job[0].state, SLURMDB_FINAL, "  is final");
	is_str(r->cluster, "c", "  its cluster");
	is_str(r->state, "COMPLETED", "  state");
	is_str(r->nodes, "n[1-2]", "  nodes");
	ok(r->job_id == 7 && r->restart_count == 2 && r->exit_code == 3, "  numbers");
	ok(r->start == (uint64_t)NOW && r->end == (uint64_t)NOW + 100, "  start and end");
	ok(r->energy.row_j.known && r->energy.row_j.value == 42, "  joules");
	ok(r->suspended_s.known && !r->suspended_s.value, "  was not suspended");
	ok(!r->steps_known && !r->array_task_id.known, "  steps are unknown; no task of an array");
	slurmdb_jobs_free(&jobs);

	is_int(ask((uint64_t)NOW - 50, &jobs), 0, "an earlier run");
	ok(jobs.n == 1 && jobs.job[0].state == SLURMDB_OPEN && !jobs.job[0].record->end &&
		   jobs.job[0].record->submit == (uint64_t)NOW - 50 &&
		   !jobs.job[0].record->energy.row_j.known,
	   "  has no end and no energy");
	slurmdb_jobs_free(&jobs);
	is_int(ask((uint64_t)NOW + 50, &jobs), 0, "a later run, whose id slurmctld has from before");
	is_u64(jobs.n, 0, "  no row");
}

static void test_open(void)
{
	struct slurmdb_jobs jobs;

	ctld_njobs = 1;
	ctld_job[0] = a_job(7);
	ctld_job[0].job_state = JOB_COMPLETE | JOB_COMPLETING;
	is_int(ask(0, &jobs), 0, "a job whose epilog runs");
	ok(jobs.n == 1 && jobs.job[0].state == SLURMDB_OPEN && !jobs.job[0].record->end, "  is open");
	slurmdb_jobs_free(&jobs);
	ctld_job[0].job_state = JOB_PENDING;
	ctld_job[0].nodes = NULL;
	is_int(ask(0, &jobs), 0, "a job that waits");
	ok(jobs.n == 1 && !jobs.job[0].record->start && !jobs.job[0].record->suspended_s.known,
	   "  has no start; suspended: unknown");
	slurmdb_jobs_free(&jobs);
}

static void test_energy(void)
{
	static const struct {
		const char *tres;
		struct maybe_u64 want;
	} t[] = {
		{ NULL, { 0 } },
		{ "", { 0 } },
		{ "cpu=1,node=1", { 0 } },
		{ "energy=", { 0 } },
		{ "energy=-1", { 0 } },
		{ "energy=1x,cpu=1", { 0 } },
		{ "gres/energy=5", { 0 } },
		{ "energy=18446744073709551616", { 0 } },
		{ "energy=7", { 7, true } },
		{ "cpu=1,energy=0", { 0, true } },
		{ "cpu=1,energy=12,node=1", { 12, true } },
	};
	size_t i;

	ctld_njobs = 1;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct slurmdb_jobs jobs;

		ctld_job[0] = a_job(7);
		ctld_job[0].tres_alloc_str = (char *)t[i].tres;
		require(ask(0, &jobs) == 0 && jobs.n == 1);
		ok(jobs.job[0].record->energy.row_j.known == t[i].want.known &&
			   jobs.job[0].record->energy.row_j.value == t[i].want.value,
		   "TRES '%s'", t[i].tres ? t[i].tres : "NULL");
		slurmdb_jobs_free(&jobs);
	}
}

static void test_window(void)
{
	struct slurmdb_jobs jobs = { 0 };
	struct errmsg err = { 0 };

	ctld_njobs = 3;
	ctld_job[0] = a_job(7);
	ctld_job[1] = a_job(8);
	ctld_job[1].end_time = NOW + 101;
	ctld_job[2] = a_job(9);
	ctld_job[2].job_state = JOB_RUNNING;
	is_int(ctld_rows_window("c", (uint64_t)NOW, (uint64_t)NOW + 100, &jobs, &err), 0, "a window");
	ok(jobs.n == 1 && jobs.job[0].record->job_id == 7, "has the jobs that ended in it");
	slurmdb_jobs_free(&jobs);
	ctld_error = EAGAIN;
	is_int(ctld_rows_window("c", 0, 1, &jobs, &err), -EIO, "slurmctld does not answer");
	ctld_error = 0;
}

/* --- suspended time ------------------------------------------------------------------------------ */

/*
 * Runs and pauses in turn, each of SECONDS[i], as slurmctld keeps them: suspend_time is the last change, and
 * pre_sus_time how long the job ran before it. If a suspended job is cancelled, it ends when it was
 * suspended. Returns the length of the pauses between start and end.
 */
static time_t live(slurm_job_info_t *j, const time_t *seconds, size_t n)
{
	time_t now = j->start_time, paused = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (i + 1 == n && i % 2)
			break;
		now += seconds[i];
		paused += i % 2 ? seconds[i] : 0;
		if (i + 1 == n)
			break;
		if (i % 2 == 0)
			j->pre_sus_time += seconds[i];
		j->suspend_time = now;
	}
	j->end_time = now;
	return paused;
}

static void test_suspended(void)
{
	unsigned int bad = 0;
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		time_t seconds[9];
		size_t n = 1 + rnd(ARRAY_SIZE(seconds));
		slurm_job_info_t j = a_job(7);
		struct record *r;
		time_t paused;
		size_t k;

		for (k = 0; k < n; k++)
			seconds[k] = (time_t)rnd(1000);
		paused = live(&j, seconds, n);
		r = ctld_record("c", &j);
		require(r);
		bad += !r->suspended_s.known || r->suspended_s.value != (uint64_t)paused;
		record_destroy(r);
	}
	is_u64(bad, 0, "1000 jobs, suspended up to four times: as long as they were");
}

int main(void)
{
	test_get();
	test_open();
	test_energy();
	test_window();
	test_suspended();
	return done_testing();
}
