/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `ceems jobs` makes of records: cells, orders, sums and groups. */
#include "src/cmd/jobs/jobs_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/libutil/text.h"
#include "src/libutil/util.h"

#include "tap.h"

#define T UINT64_C(1795603505) /* 25 Nov 2026 10:45:05 UTC */
#define J UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define GIB (UINT64_C(1) << 30)

static struct record job(uint32_t id, const char *name, const char *user, uint64_t end)
{
	struct record r = { .job_id = id,
			    .job_name = (char *)(uintptr_t)name,
			    .user_name = (char *)(uintptr_t)user,
			    .account = (char *)"physics",
			    .state = (char *)"COMPLETED",
			    .total_cpus = 2,
			    .total_nodes = 1,
			    .tres_alloc = (char *)"cpu=2,mem=1G,node=1",
			    .start = T,
			    .end = end };

	values_init(&r.values);
	return r;
}

/* A good one, one with a name that commands a terminal, and one that runs and of which nothing is known. */
static struct record list[3];

static void make_list(void)
{
	struct record *r = list;

	r[0] = job(12, "burn", "user1", T + 100);
	values_set(&r[0].values, METRIC_ENERGY, 7200 * J + 500000);
	values_set(&r[0].values, METRIC_CPU_ENERGY, 7200 * J + 500000);
	values_set(&r[0].values, METRIC_CPU_ENERGY_STATIC, 3600 * J + 250000);
	values_set(&r[0].values, METRIC_CO2E, 1500000000);
	values_set(&r[0].values, METRIC_CPU_TIME, 50 * S);
	values_set(&r[0].values, METRIC_MEMORY_PEAK, GIB / 2);
	values_set(&r[0].values, METRIC_MEMORY_ALLOCATED, GIB);
	r[1] = job(13, "a\033[31m,\"b\"|\xff", "user2", T + 10);
	r[1].state = (char *)"FAILED";
	r[1].array_job_id = (struct maybe_u64){ 11, true };
	r[1].array_task_id = (struct maybe_u64){ 2, true };
	values_set(&r[1].values, METRIC_ENERGY, 3600 * J);
	r[2] = job(14, "runs", "user1", 0);
	r[2].state = (char *)"RUNNING";
}

static char *print(const char *format, const char *sort, enum cells_format output, size_t top)
{
	_cleanup_free_ struct cell *cell = NULL;
	char buf[16][JOBS_TEXT_MAX];
	struct jobs_columns c;
	struct jobs_column by;
	struct errmsg err = { 0 };
	struct cells *cells;
	char *text = NULL;
	size_t size, i, k;
	FILE *f = open_memstream(&text, &size);

	if (!f || jobs_columns_parse(format, &c, &err) < 0 || !jobs_column_find(sort, &by))
		abort();
	cells = cells_create(c.cells, c.n, output, top);
	cell = calloc(c.n, sizeof(*cell));
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		struct jobs_job j;

		jobs_job_init(&j, &list[i], T + 200);
		for (k = 0; k < c.n; k++)
			jobs_cell(&j, &c.column[k], &cell[k], buf[k]);
		if (cells_add(cells, jobs_rank(&j, &by), cell) < 0)
			abort();
	}
	if (cells_print(cells, f, /* header= */ true) < 0)
		abort();
	(void)fclose(f);
	cells_destroy(cells);
	jobs_columns_free(&c);
	return text;
}

static void is_list(const char *format, const char *sort, enum cells_format output, size_t top,
		    const char *want, const char *what)
{
	_cleanup_free_ char *text = print(format, sort, output, top);

	is_str(text, want, what);
}

static void test_table(void)
{
	is_list(JOBS_FORMAT, "end", CELLS_TABLE, 0,
		"JobID Name         User  State      Elapsed CPU % Mem %  Energy   CO2e Idle %\n"
		"11_2  a?[31m,\"b\"|? user2 FAILED    00:00:10   n/a   n/a 1.00 Wh    n/a    n/a\n"
		"12    burn         user1 COMPLETED 00:01:40  25 %  50 % 2.00 Wh 1.50 g   50 %\n"
		"14    runs         user1 RUNNING   00:03:20   n/a   n/a     n/a    n/a    n/a\n",
		"by end, what runs is last, no GPU no column");
	is_list("jobid,energy", "energy", CELLS_TABLE, 0,
		"JobID  Energy\n"
		"12    2.00 Wh\n"
		"11_2  1.00 Wh\n"
		"14        n/a\n",
		"most energy first, unknown last");
	is_list("jobid", "elapsed", CELLS_TABLE, 1,
		"JobID\n"
		"14\n",
		"the first by run time only");
	is_list("name%4,state%-12,jobidraw%6", "end", CELLS_TABLE, 1,
		"Name State        JobID+\n"
		"a?[+ FAILED           13\n",
		"column widths");
	is_list("jobid,cpu_time,memory_peak_bytes", "jobid", CELLS_TABLE, 1,
		"JobID cpu_time memory_peak_bytes\n"
		"12      50.0 s         512.0 MiB\n",
		"columns of metrics");
	is_list("start", "end", CELLS_TABLE, 1,
		"Start\n"
		"2026-11-25T11:45:05\n",
		"local time for people");
}

static void test_programs(void)
{
	static const char format[] = "jobid,jobname,energy,co2e,cpu,consumedenergyraw";

	is_list(format, "end", CELLS_PARSABLE, 0,
		"jobid|name|energy_j|co2e_g|cpu_efficiency|consumed_energy_raw\n"
		"11_2|a?[31m,\"b\"??|3600|||3600\n"
		"12|burn|7200.5|1.5|0.25|7200\n"
		"14|runs||||\n",
		"-P: a separator in a name is masked");
	is_list(format, "end", CELLS_CSV, 0,
		"jobid,name,energy_j,co2e_g,cpu_efficiency,consumed_energy_raw\n"
		"11_2,\"a?[31m,\"\"b\"\"|?\",3600,,,3600\n"
		"12,burn,7200.5,1.5,0.25,7200\n"
		"14,runs,,,,\n",
		"--csv: quotes");
	is_list(format, "end", CELLS_JSON, 0,
		"[\n"
		"{\"jobid\":\"11_2\",\"name\":\"a\\u001B[31m,\\\"b\\\"|\\\\xff\",\"energy_j\":3600,"
		"\"co2e_g\":null,"
		"\"cpu_efficiency\":null,\"consumed_energy_raw\":3600},\n"
		"{\"jobid\":\"12\",\"name\":\"burn\",\"energy_j\":7200.5,\"co2e_g\":1.5,"
		"\"cpu_efficiency\":0.25,\"consumed_energy_raw\":7200},\n"
		"{\"jobid\":\"14\",\"name\":\"runs\",\"energy_j\":null,\"co2e_g\":null,"
		"\"cpu_efficiency\":null,\"consumed_energy_raw\":null}\n"
		"]\n",
		"--json: null, and every byte comes back");
	is_list("start,elapsed", "end", CELLS_CSV, 1,
		"start,elapsed_s\n"
		"2026-11-25T10:45:05Z,10\n",
		"UTC and seconds for programs");
}

static void test_mistakes(void)
{
	static const char *const bad[] = { "",	      "jobid,",	 "nothing",   "jobid%",
					   "jobid%0", "jobid%-", "jobid%201", "jobid%x" };
	struct jobs_columns c;
	struct errmsg err = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		is_int(jobs_columns_parse(bad[i], &c, &err), -EINVAL, bad[i]);
}

static void is_groups(enum jobs_group_by by, enum jobs_sum_column sort, enum cells_format output,
		      const char *want, const char *what)
{
	struct jobs_groups g = { .by = by };
	_cleanup_free_ char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		struct jobs_job j;

		jobs_job_init(&j, &list[i], T + 200);
		if (jobs_groups_add(&g, &j) < 0)
			abort();
	}
	if (jobs_groups_print(&g, sort, output, 0, /* header= */ true, f) < 0)
		abort();
	(void)fclose(f);
	jobs_groups_free(&g);
	is_str(text, want, what);
}

static void test_groups(void)
{
	is_groups(JOBS_BY_USER, SUM_KEY, CELLS_TABLE,
		  "User  Jobs Failed Elapsed CPU %  Energy   CO2e    Idle Idle of In vain  Wasted\n"
		  "user1    2      0   5m00s  25 % 2.00 Wh 1.50 g 1.00 Wh 2.00 Wh       0 500 mWh\n"
		  "user2    1      1    10 s   n/a 1.00 Wh    n/a     n/a       0 1.00 Wh 1.00 Wh\n",
		  "by user");
	is_groups(JOBS_BY_NAME, SUM_FAILED_ENERGY, CELLS_CSV,
		  "name,jobs,failed,elapsed_s,cpu_efficiency,energy_j,co2e_g,idle_energy_j,idle_known_of_j,"
		  "failed_energy_j,wasted_energy_j\n"
		  "\"a?[31m,\"\"b\"\"|?\",1,1,10,,3600,,,0,3600,3600\n"
		  "burn,1,0,100,0.25,7200.5,1.5,3600.25,7200.5,0,1800.125\n"
		  "runs,1,0,200,,,,,,0,\n",
		  "by name, most energy of failed jobs first");
	is_groups(JOBS_BY_DAY, SUM_ENERGY, CELLS_PARSABLE,
		  "day|jobs|failed|elapsed_s|cpu_efficiency|energy_j|co2e_g|idle_energy_j|idle_known_of_j|"
		  "failed_energy_j|wasted_energy_j\n"
		  "2026-11-25|3|1|310|0.25|10800.5|1.5|3600.25|7200.5|3600|5400.125\n",
		  "by day");
}

static void test_sum(void)
{
	struct jobs_sum sum = { 0 };
	_cleanup_free_ char *none = jobs_sum_text(&sum);
	_cleanup_free_ char *text = NULL;
	size_t i;

	is_str(none, "0 jobs, 0 s, energy n/a, CO2e n/a", "no job");
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		struct jobs_job j;

		jobs_job_init(&j, &list[i], T + 200);
		jobs_sum_add(&sum, &j);
	}
	text = jobs_sum_text(&sum);
	is_str(text,
	       "3 jobs, 5m10s, CPU 25 %, energy 3.00 Wh (50 % of 2.00 Wh idle), CO2e 1.50 g; "
	       "1 failed: 1.00 Wh; energy of 1 not known; 1 running: see ceems top",
	       "a sum says what it lacks");
	is_u64(sum.energy_uj, 10800 * J + 500000, "to the microjoule");
}

int main(void)
{
	(void)setenv("TZ", "CET-1", 1);
	tzset();
	make_list();
	test_table();
	test_programs();
	test_mistakes();
	test_groups();
	test_sum();
	return done_testing();
}
