/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/job_screen.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/libutil/text.h"
#include "src/libutil/util.h"

#include "tap.h"

#define T UINT64_C(1764000000) /* 24 Nov 2025 16:00:00 UTC */
#define J UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static struct record_step step[2];

static const struct job_screen_advice advice[] = {
	{ "used 1 of 8 CPUs", "#SBATCH --cpus-per-task=1", "saves 1.6 Wh" },
	{ "used 3.9 MiB of 4 GiB", "#SBATCH --mem=100M", "" },
	{ "waited for other processes' CPUs 40 % of the time", "#SBATCH --exclusive",
	  "would have saved 1.60 Wh, 24.0 mg" },
	{ "not final", "", "" },
	{ "one more than are shown", "", "" },
};

/* The job of issue 18: eight CPUs, of which one was used. */
static struct record burn(void)
{
	struct record r = {
		.cluster = (char *)"c1",
		.job_id = 2,
		.job_name = (char *)"burn8",
		.user_name = (char *)"user1",
		.account = (char *)"physics",
		.partition = (char *)"debug",
		.nodes = (char *)"n2",
		.state = (char *)"COMPLETED",
		.tres_alloc = (char *)"cpu=8,mem=4G,energy=6900,node=1,billing=8",
		.submit = T,
		.eligible = T,
		.start = T,
		.end = T + 61,
		.time_limit_min = { 5, true },
		.total_nodes = 1,
		.total_cpus = 8,
		.energy = { .final = true,
			    .total_j = { 6900, true },
			    .quality = "estimate",
			    .source = "model" },
		.emissions = { .method = CO2E_PER_TICK,
			       .factor_ug_per_kwh = { 44200000, true },
			       .kind = "static",
			       .scope = "life-cycle",
			       .region = "FR",
			       .source = "Ember",
			       .year = 2024,
			       .pue_milli = 1300 },
	};

	values_init(&r.values);
	values_set(&r.values, METRIC_ENERGY, 6900 * J);
	values_set(&r.values, METRIC_CPU_ENERGY, 6900 * J);
	values_set(&r.values, METRIC_CPU_ENERGY_STATIC, 6600 * J);
	values_set(&r.values, METRIC_SOURCE_MODEL, 6900 * J);
	values_set(&r.values, METRIC_CO2E, 110132000);
	values_set(&r.values, METRIC_STATIC_FACTOR, 6900 * J);
	values_set(&r.values, METRIC_CPU_TIME, 18 * S);
	values_set(&r.values, METRIC_MEMORY_PEAK, 4089446);
	values_set(&r.values, METRIC_MEMORY_ALLOCATED, 4 * GIB);
	values_set(&r.values, METRIC_IO_READ_BYTES, 3 * GIB / 2);
	values_set(&r.values, METRIC_IO_WRITE_BYTES, 300 * MIB);
	return r;
}

/* Fails the test if a line is wider than a terminal, or if there are too many. */
static bool fits(const char *text)
{
	char line[4 * JOB_SCREEN_COLUMNS + 64];
	size_t lines = 0;

	for (; *text; text += strcspn(text, "\n") + 1, lines++) {
		(void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
		if (text_columns(line) > JOB_SCREEN_COLUMNS)
			return false;
	}
	return lines <= JOB_SCREEN_LINES;
}

static char *print(const struct job_screen *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f || job_screen_print(f, s) < 0)
		abort();
	(void)fclose(f);
	return text;
}

static void is_screen(const struct job_screen *s, const char *want, const char *what)
{
	_cleanup_free_ char *text = print(s);

	is_str(text, want, what);
	ok(fits(text), "  fits");
}

static void is_job(const struct record *r, const char *want, const char *what)
{
	is_screen(&(struct job_screen){ .part = &r, .n = 1, .now = T + 100, .cluster = "c1" }, want, what);
}

static void has_row(const struct record *r, const char *row, const char *what)
{
	_cleanup_free_ char *text = print(&(struct job_screen){ .part = &r, .n = 1, .now = T + 100 });

	ok(strstr(text, row), "%s", what);
}

static void test_job(void)
{
	struct record r = burn();
	const struct record *part = &r;
	const struct job_screen s = { .part = &part,
				      .n = 1,
				      .now = T + 100,
				      .cluster = "c1",
				      .advice = advice,
				      .nadvice = ARRAY_SIZE(advice) };

	is_screen(&s,
		  "Job 2  burn8  user1/physics  debug  n2  COMPLETED 0:0\n"
		  "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
		  "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
		  "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB\n"
		  "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n"
		  "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
		  "             FR 2024, yearly mean, life-cycle; Ember\n"
		  "  I/O        read 1.50 GiB, written 300.0 MiB\n"
		  "  advice     used 1 of 8 CPUs        #SBATCH --cpus-per-task=1    saves 1.6 Wh\n"
		  "             used 3.9 MiB of 4 GiB   #SBATCH --mem=100M\n"
		  "             waited for other processes' CPUs 40 % of the time\n"
		  "               #SBATCH --exclusive  would have saved 1.60 Wh, 24.0 mg\n"
		  "             not final\n",
		  "a job, with advice");
	/* the same, with a pause: all goes by the time that the job ran */
	r.end += 75;
	r.suspended_s = (struct maybe_u64){ 75, true };
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n2  COMPLETED 0:0\n"
	       "  time       1m01s of 5m00s (20 %), suspended 1m15s, waited 0 s  24 Nov 16:00\n"
	       "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n"
	       "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
	       "             FR 2024, yearly mean, life-cycle; Ember\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB\n",
	       "one that was suspended");
	/* the kernel skipped BPF programs */
	r = burn();
	values_set(&r.values, METRIC_LOST_EVENTS, 941);
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n2  COMPLETED 0:0\n"
	       "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
	       "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n"
	       "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
	       "             FR 2024, yearly mean, life-cycle; Ember\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB, at least: 941 events lost\n",
	       "one whose I/O is a lower bound");
	/* no sample of its memory was taken */
	r = burn();
	values_set(&r.values, METRIC_MEMORY_KERNEL_PEAK, 3 * MIB);
	values_miss(&r.values, METRIC_MEMORY_PEAK, REASON_NOT_MEASURED);
	has_row(&r, "  memory     [#               ]  <1 %   3.00 MiB of 4.00 GiB (kernel's peak)\n",
		"the kernel's peak");
	values_set(&r.values, METRIC_MEMORY_PEAK, 0);
	has_row(&r, "  memory     [#               ]  <1 %   3.00 MiB of 4.00 GiB (kernel's peak)\n",
		"  also beside a 0");
	values_miss(&r.values, METRIC_MEMORY_KERNEL_PEAK, REASON_NO_MEMORY);
	has_row(&r, "  memory     n/a: not measured\n", "nothing known, with the reason");
	values_miss(&r.values, METRIC_MEMORY_PEAK, REASON_NO_MEMORY);
	has_row(&r, "  memory     n/a: no memory cgroup\n", "  another reason");
	r = burn();
	(void)snprintf(r.energy.quality, sizeof(r.energy.quality), "lower-bound");
	has_row(&r, "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     a node did not report\n",
		"a node is missing");
	r.is_resized = true;
	has_row(&r, "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     the job was resized\n",
		"  since the job was resized");
	r = burn();
	r.cluster = (char *)"c2";
	r.state = (char *)"OUT_OF_MEMORY";
	r.exit_signal = 125;
	r.restart_count = 1;
	r.energy.final = false;
	values_set(&r.values, METRIC_OOM_KILLS, 3);
	values_set(&r.values, METRIC_MEMORY_PEAK, 4 * GIB);
	values_set(&r.values, METRIC_SOURCE_RAPL, 3000 * J);
	values_miss(&r.values, METRIC_CO2E, REASON_NO_FACTOR);
	values_miss(&r.values, METRIC_CPU_TIME, REASON_NOT_MEASURED);
	r.time_limit_min.known = false;
	is_job(&r,
	       "Job 2  burn8  user1/physics  c2:debug  n2  OUT_OF_MEMORY 0:125\n"
	       "  time       1m01s, waited 0 s                            24 Nov 16:00\n"
	       "  CPU        n/a: not measured (8 CPUs)\n"
	       "  memory     [################] 100 %   4.00 GiB of 4.00 GiB\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     partly an estimate\n"
	       "  CO2e       n/a: no emission factor\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB\n"
	       "  note       memory ran out; processes that the kernel killed: 3\n"
	       "             run 2 of this job: --duplicates shows the others\n"
	       "             not final: slurmdbd does not have all steps yet\n",
	       "another cluster's, out of memory, not final");
}

/* What slurmdbd has of a site that accounts none of our TRES. */
static void test_bare(void)
{
	struct record r = burn();

	values_init(&r.values);
	r.energy = (struct record_energy){ .final = true };
	step[0] = (struct record_step){ .user_cpu_us = { 17000000, true },
					.system_cpu_us = { 1000000, true },
					.max_rss_bytes = { 4089446, true },
					.nnodes = 1 };
	values_init(&step[0].values);
	r.steps = step;
	r.nsteps = 1;
	r.derived_exit_code = 3;
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n2  COMPLETED 0:0\n"
	       "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
	       "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB (a task's MaxRSS)\n"
	       "  energy     n/a: not measured\n"
	       "  CO2e       n/a: not measured\n"
	       "  note       a step ended with 3:0\n",
	       "without any TRES of ours");
	values_set(&r.values, METRIC_ENERGY, 0);
	r.end = r.start;
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n2  COMPLETED 0:0\n"
	       "  time       0 s of 5m00s (0 %), waited 0 s               24 Nov 16:00\n"
	       "  CPU        18.0 s in less than 1 s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB (a task's MaxRSS)\n"
	       "  energy     less than 1 J\n"
	       "  CO2e       n/a: not measured\n"
	       "  note       a step ended with 3:0\n",
	       "less than a second, and than a joule");
}

/* Sensors that failed: with some energy, with none, and with a sensor that is as none. */
static void test_doubt(void)
{
	struct record r = burn();

	(void)snprintf(r.energy.quality, sizeof(r.energy.quality), "lower-bound");
	(void)snprintf(r.energy.missing, sizeof(r.energy.missing), "cpu: stood still");
	has_row(&r, "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     at least: see note\n",
		"a lower bound");
	has_row(&r, "  note       energy lacks cpu: stood still\n", "  and of what");
	values_set(&r.values, METRIC_ENERGY, 0);
	has_row(&r, "  energy     n/a: cpu: stood still\n",
		"0 J of a sensor that failed is not less than 1 J");
	values_miss(&r.values, METRIC_ENERGY, REASON_NOT_MEASURED);
	values_miss(&r.values, METRIC_CO2E, REASON_NOT_MEASURED);
	values_set(&r.values, METRIC_ENERGY_DOUBT, 5000);
	has_row(&r, "  energy     n/a: cpu: stood still\n", "nothing measured");
	has_row(&r, "  CO2e       n/a: a sensor failed\n", "  nor emitted");
	r = burn();
	(void)snprintf(r.energy.missing, sizeof(r.energy.missing), "other: never counted");
	has_row(&r, "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n",
		"a sensor that never counted");
	has_row(&r, "  note       energy lacks other: never counted\n", "  is named");
}

static void test_gpu(void)
{
	struct record r = burn();

	r.tres_alloc = (char *)"cpu=8,mem=4G,energy=6900,node=1,billing=8,gres/gpu=2,gres/gpu:h100=2";
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n2  COMPLETED 0:0\n"
	       "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
	       "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB\n"
	       "  GPU        n/a: not measured (2 GPUs)\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n"
	       "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
	       "             FR 2024, yearly mean, life-cycle; Ember\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB\n",
	       "GPUs without measurement");
	values_set(&r.values, METRIC_GPU_HELD, 122 * S);
	values_set(&r.values, METRIC_GPU_BUSY, 30 * S);
	values_set(&r.values, METRIC_GPU_MEMORY_PEAK, 8 * GIB);
	values_set(&r.values, METRIC_GPU_MEMORY_ALLOCATED, 160 * GIB);
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n2  COMPLETED 0:0\n"
	       "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
	       "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB\n"
	       "  GPU        [####            ]  25 %   30.0 s of 2m02s (2 GPUs)\n"
	       "  GPU memory [#               ]   5 %   8.00 GiB of 160.0 GiB\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n"
	       "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
	       "             FR 2024, yearly mean, life-cycle; Ember\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB\n",
	       "GPUs");
}

static void test_nodes(void)
{
	struct record r = burn();

	r.nodes = (char *)"n[1-4]";
	r.total_nodes = 4;
	step[0] = (struct record_step){ .nnodes = 4,
					.cpu_time = { { 9 * S, true }, "n3" },
					.energy = { { 1800 * J, true }, "n1" },
					.memory = { { 4089446, true }, "n2" } };
	values_init(&step[0].values);
	values_set(&step[0].values, METRIC_CPU_TIME, 18 * S);
	values_set(&step[0].values, METRIC_ENERGY, 6900 * J);
	r.steps = step;
	r.nsteps = 1;
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n[1-4]  COMPLETED 0:0\n"
	       "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
	       "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB on n2\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n"
	       "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
	       "             FR 2024, yearly mean, life-cycle; Ember\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB\n"
	       "  nodes      n3: CPU time 100 % above the mean of 4\n",
	       "four nodes, of which one did half of the work");
	step[0].energy.max.value = 2000 * J;
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n[1-4]  COMPLETED 0:0\n"
	       "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
	       "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB on n2\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n"
	       "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
	       "             FR 2024, yearly mean, life-cycle; Ember\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB\n"
	       "  nodes      n3: CPU time 100 % above the mean of 4\n"
	       "             n1: energy 16 % above it\n",
	       "another node used the most energy");
	(void)snprintf(step[0].energy.max_node, sizeof(step[0].energy.max_node), "n3");
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n[1-4]  COMPLETED 0:0\n"
	       "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
	       "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB on n2\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n"
	       "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
	       "             FR 2024, yearly mean, life-cycle; Ember\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB\n"
	       "  nodes      n3: CPU time 100 %, energy 16 % above the mean of 4\n",
	       "one node has the most CPU time and energy");
	step[0].energy.max.value = 1725 * J;
	step[0].cpu_time.max.value = 9 * S / 2;
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n[1-4]  COMPLETED 0:0\n"
	       "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
	       "  CPU        [#               ]   4 %   18.0 s of 8m08s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB on n2\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 113 W, 96 % idle     estimate: no sensor\n"
	       "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
	       "             FR 2024, yearly mean, life-cycle; Ember\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB\n"
	       "  nodes      4, alike\n",
	       "four nodes alike");
}

static void test_not_ended(void)
{
	struct record r = burn();
	const struct record *part = &r;

	r.state = (char *)"RUNNING";
	r.end = 0;
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  n2  RUNNING\n"
	       "  time       1m40s of 5m00s (33 %), waited 0 s            24 Nov 16:00\n"
	       "  CPU        [#               ]   2 %   18.0 s of 13m20s (8 CPUs)\n"
	       "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB\n"
	       "  energy     1.92 Wh (6.90 kJ), mean 69.0 W, 96 % idle    estimate: no sensor\n"
	       "  CO2e       110.1 mg = 1.92 Wh x 44.2 g/kWh x PUE 1.3\n"
	       "             FR 2024, yearly mean, life-cycle; Ember\n"
	       "  I/O        read 1.50 GiB, written 300.0 MiB\n",
	       "running");
	values_init(&r.values);
	is_screen(&(struct job_screen){ .part = &part,
					.n = 1,
					.now = T + 61,
					.not_live = "sstat: Access denied" },
		  "Job 2  burn8  user1/physics  debug  n2  RUNNING\n"
		  "  time       1m01s of 5m00s (20 %), waited 0 s            24 Nov 16:00\n"
		  "  CPU        n/a (8 CPUs)\n"
		  "  memory     n/a\n"
		  "  energy     n/a\n"
		  "  CO2e       n/a\n"
		  "  note       running steps: sstat: Access denied\n",
		  "running, sstat is denied");
	r.state = (char *)"PENDING";
	r.start = 0;
	r.eligible = T + 3600;
	r.nodes = r.tres_alloc = NULL;
	r.tres_req = (char *)"cpu=8,mem=4G,node=1,billing=8";
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  no node  PENDING\n"
	       "  time       waits since 24 Nov 16:00 (1m40s), not before 24 Nov 17:00\n"
	       "  asked for  cpu=8,mem=4G,node=1,billing=8, for 5m00s\n",
	       "pending");
	r.state = (char *)"CANCELLED";
	r.end = T + 12;
	is_job(&r,
	       "Job 2  burn8  user1/physics  debug  no node  CANCELLED 0:0\n"
	       "  time       never started, waited 12 s from 24 Nov 16:00 on\n"
	       "  asked for  cpu=8,mem=4G,node=1,billing=8, for 5m00s\n",
	       "cancelled before it ran");
}

static void test_array(void)
{
	struct record r[40];
	const struct record *part[40];
	_cleanup_free_ char *text = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i] = burn();
		r[i].job_id = 50 + (uint32_t)i;
		r[i].array_job_id = (struct maybe_u64){ 50, true };
		r[i].array_task_id = (struct maybe_u64){ i, true };
		part[i] = &r[i];
	}
	r[1].state = (char *)"FAILED";
	r[1].exit_code = 1;
	values_miss(&r[2].values, METRIC_ENERGY, REASON_NOT_MEASURED);
	values_set(&r[2].values, METRIC_CPU_TIME, 488 * S);
	values_set(&r[2].values, METRIC_MEMORY_PEAK, 5 * GIB);
	is_screen(&(struct job_screen){ .part = part, .n = 3, .now = T + 100 },
		  "Array 50  burn8  user1/physics  debug  3 parts  2 COMPLETED, 1 FAILED\n"
		  "  PART           STATE                    TIME    CPU MEMORY    ENERGY      CO2E\n"
		  "  50_0           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_1           FAILED 1:0              1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_2           COMPLETED 0:0           1m01s  100 %  125 %       n/a  110.1 mg\n"
		  "  time       3m03s in all, longest 1m01s of 5m00s (20 %)  24 Nov 16:00\n"
		  "  CPU        [######          ]  36 %   8m44s of 24m24s (8 CPUs each)\n"
		  "  memory     [################] 125 %   5.00 GiB of 4.00 GiB in 50_2\n"
		  "  energy     3.83 Wh, 113 W each, 96 % idle, 2 of 3 parts  estimate: no sensor\n"
		  "  CO2e       330.4 mg\n"
		  "             FR 2024, yearly mean, life-cycle; Ember\n"
		  "  I/O        read 4.50 GiB, written 900.0 MiB\n",
		  "an array");
	values_set(&r[30].values, METRIC_CPU_TIME, 9 * S);
	is_screen(&(struct job_screen){ .part = part, .n = 40, .now = T + 100 },
		  "Array 50  burn8  user1/physics  debug  40 parts  39 COMPLETED, 1 FAILED\n"
		  "  PART           STATE                    TIME    CPU MEMORY    ENERGY      CO2E\n"
		  "  50_1           FAILED 1:0              1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_30          COMPLETED 0:0           1m01s    2 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_0           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_3           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_4           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_5           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_6           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_7           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_8           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50_9           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  and 30 more; these are the worst, --long shows all\n"
		  "  time       40m40s in all, longest 1m01s of 5m00s (20 %)  24 Nov 16:00\n"
		  "  CPU        [#               ]   6 %   19m41s of 5h25m20s (8 CPUs each)\n"
		  "  memory     [################] 125 %   5.00 GiB of 4.00 GiB in 50_2\n"
		  "  energy     74.8 Wh, 113 W each, 96 % idle, 39 of 40 parts  estimate: no sensor\n"
		  "  CO2e       4.41 g\n"
		  "             FR 2024, yearly mean, life-cycle; Ember\n"
		  "  I/O        read 60.0 GiB, written 11.7 GiB\n",
		  "a larger array: its worst parts first");
	text = print(&(struct job_screen){
		.part = part, .n = 40, .now = T + 100, .advice = advice, .nadvice = ARRAY_SIZE(advice) });
	ok(fits(text) && strstr(text, "  advice "), "and advice has room beside it");
	for (i = 0; i < 2; i++) {
		r[i].array_job_id.known = r[i].array_task_id.known = false;
		r[i].het_job_id = (struct maybe_u64){ 50, true };
		r[i].het_job_offset = (struct maybe_u64){ i, true };
		r[i].account = (char *)(i ? "physics" : "chemistry");
	}
	is_screen(&(struct job_screen){ .part = part, .n = 2, .now = T + 100 },
		  "Het job 50  burn8  user1/several  debug  2 parts  1 COMPLETED, 1 FAILED\n"
		  "  PART           STATE                    TIME    CPU MEMORY    ENERGY      CO2E\n"
		  "  50+0           COMPLETED 0:0           1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  50+1           FAILED 1:0              1m01s    4 %   <1 %   1.92 Wh  110.1 mg\n"
		  "  time       2m02s in all, longest 1m01s of 5m00s (20 %)  24 Nov 16:00\n"
		  "  CPU        [#               ]   4 %   36.0 s of 16m16s (8 CPUs each)\n"
		  "  memory     [#               ]  <1 %   3.90 MiB of 4.00 GiB in 50+0\n"
		  "  energy     3.83 Wh, 113 W each, 96 % idle               estimate: no sensor\n"
		  "  CO2e       220.3 mg = 3.83 Wh x 44.2 g/kWh x PUE 1.3\n"
		  "             FR 2024, yearly mean, life-cycle; Ember\n"
		  "  I/O        read 3.00 GiB, written 600.0 MiB\n",
		  "a het job");
}

/* Names as users may write them, and as long. */
static void test_names(void)
{
	static const char evil[] = "a\033[2J\xc2\x9b"
				   "31m\xe2\x80\xae\nb";
	struct record r = burn();
	const struct record *part = &r;
	struct job_screen s = { .part = &part, .n = 1, .now = T + 100, .cluster = "c1" };
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char *long_text = NULL;
	_cleanup_free_ char *colour = NULL;
	char name[1000];

	r.job_name = r.user_name = r.account = r.partition = r.nodes = (char *)evil;
	r.cluster = (char *)evil;
	text = print(&s);
	ok(!strpbrk(text, "\033\r\x7f") && !strstr(text, "\xc2\x9b") && !strstr(text, "\xe2\x80\xae"),
	   "no control byte of the names reaches the terminal");
	ok(fits(text), "  fits");
	ok(!strncmp(text, "Job 2  a?[2J?3", 14) && !strncmp(strchr(text, '\n'), "\n  time ", 8),
	   "in one head line");

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	r.job_name = r.user_name = r.account = r.partition = r.nodes = name;
	r.cluster = (char *)"c1";
	long_text = print(&s);
	ok(fits(long_text), "long names are cut");
	s.colour = true;
	r = burn();
	colour = print(&s);
	ok(strstr(colour, "\033[32mCOMPLETED 0:0\033[0m\n") &&
		   strstr(colour, "[\033[31m#\033[0m               ]   4 %"),
	   "with colours on a terminal");
}

int main(void)
{
	(void)setenv("TZ", "UTC", 1);
	tzset();
	test_job();
	test_bare();
	test_doubt();
	test_gpu();
	test_nodes();
	test_not_ended();
	test_array();
	test_names();
	return done_testing();
}
