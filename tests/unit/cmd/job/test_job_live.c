/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sstat prints, of Slurm 22.05 with our TRES and without them. */
#include "src/cmd/job/job_live.h"

#include <stdlib.h>
#include <string.h>

#include "src/libledger/ledger.h"
#include "src/libutil/util.h"

#include "tap.h"

#define DENIED \
	"sstat: error: slurm_job_step_stat: there was an error with the request to n1 rc = Invalid user id\n"

static struct record_step step[3];
static struct record job[2];
static struct record *jobs[] = { &job[0], &job[1] };

static void reset(void)
{
	static const uint32_t id[] = { LEDGER_STEP_EXTERN, LEDGER_STEP_BATCH, 0 };
	size_t i;

	for (i = 0; i < 3; i++) {
		step[i] = (struct record_step){ .step_id = id[i], .nnodes = 2, .start = 100 };
		values_init(&step[i].values);
	}
	job[0] = (struct record){
		.job_id = 12, .start = 100, .steps = step, .nsteps = 3, .steps_known = true
	};
	job[1] = (struct record){ .job_id = 13 }; /* pending */
}

static const char *read_text(const char *text)
{
	static char why[JOB_LIVE_WHY_MAX];
	_cleanup_free_ char *copy = strdup(text);
	FILE *f = fmemopen(copy, strlen(copy), "r");

	job_live_read(f, jobs, ARRAY_SIZE(jobs), why);
	(void)fclose(f);
	return why;
}

static void test_ours(void)
{
	reset();
	is_str(read_text(
		       "12.extern|cpu=00:00:00,energy=10,fs/ceems=188531,ic/ceems_cpu_time=3432185,"
		       "ic/ceems_memory=4665344,ic/ceems_nodes=2,mem=221184|cpu=00:00:00,energy=5,"
		       "ic/ceems_memory=4317184,mem=110592|energy=1,fs/ceems=4497,ic/ceems_nodes=2|energy=1\n"
		       "12.batch|cpu=00:00:01,energy=0,ic/ceems_cpu_time=14971,ic/ceems_nodes=1|mem=3973120|"
		       "ic/ceems_nodes=1|\n"),
	       "", "a job with our TRES");
	is_u64(step[0].values.value[METRIC_ENERGY], 10000000, "energy");
	is_u64(step[0].values.value[METRIC_CPU_TIME], UINT64_C(3432185000), "CPU time: ours, not Slurm's");
	is_u64(step[0].values.value[METRIC_MEMORY_PEAK], 4317184, "memory: of the largest node");
	is_u64(step[0].values.value[METRIC_IO_WRITE_BYTES], 4497, "bytes written, from the TRES of output");
	is_u64(step[0].max_rss_bytes.value, 110592, "MaxRSS");
	ok(values_has(&step[1].values, METRIC_ENERGY), "0 J that was measured is 0 J");
	ok(!values_has(&step[2].values, METRIC_ENERGY), "a step without a line");
}

static void test_slurms(void)
{
	reset();
	is_str(read_text("12.0|cpu=1-01:02:03,energy=0,mem=4096|mem=4096||\n"), "", "without our TRES");
	is_u64(step[2].values.value[METRIC_CPU_TIME], UINT64_C(90123000000000), "Slurm's CPU time");
	ok(!values_has(&step[2].values, METRIC_ENERGY), "0 J without our TRES is unknown");
}

static void test_trouble(void)
{
	static const struct {
		const char *text, *why, *what;
	} rows[] = {
		{ "", "sstat shows nothing of them", "no line" },
		{ DENIED DENIED, "sstat: Invalid user id", "another user's job" },
		{ "sstat: error: couldn't get steps for job 12\n", "sstat: couldn't get steps for job 12",
		  "one that is gone" },
		{ "12.0|a|b|c\n12.0|a|b|c|d|e\n12|a|b|c|d\n9.0|cpu=00:00:01|||\nx.0|a|b|c|d\n||||\n",
		  "sstat shows nothing of them", "lines of no job that was asked for" },
		{ "12.0|cpu=x,energy=y|||\n12.0|cpu=00:00|||\n12.0|cpu=1:2:3:4|||\n12.0|cpu=-1:2:3|||\n",
		  "sstat shows nothing of them", "no numbers" },
		{ DENIED "12.0|cpu=00:00:01|||\n", "", "one step answered" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		reset();
		is_str(read_text(rows[i].text), rows[i].why, rows[i].what);
	}
	reset();
	job[1].start = 100;
	is_str(read_text("12.0|cpu=00:00:01|||\n" DENIED), "sstat: Invalid user id",
	       "one of two jobs is denied");
	reset();
	step[2].end = 110;
	(void)read_text("12.0|cpu=00:00:01|||\n");
	ok(!values_has(&step[2].values, METRIC_CPU_TIME), "what slurmdbd has of an ended step stays");
}

static void test_unlisted(void)
{
	reset();
	job[0] = (struct record){ .job_id = 12, .start = 100 };
	is_str(read_text("12.batch|cpu=00:00:01|||\n12.0|cpu=00:00:02|||\n12.0|cpu=00:00:03|||\n"), "",
	       "a job without a list of steps");
	is_int((long)job[0].nsteps, 2, "gets those that sstat shows, each once");
	ok(job[0].steps[0].step_id == LEDGER_STEP_BATCH && job[0].steps[1].step_id == 0, "by their numbers");
	is_u64(job[0].steps[1].values.value[METRIC_CPU_TIME], 3 * UINT64_C(1000000000),
	       "with what they used");
	free(job[0].steps);
}

int main(void)
{
	test_ours();
	test_slurms();
	test_trouble();
	test_unlisted();
	return done_testing();
}
