/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/cmd/compare/job_compare.h"
#include "src/cmd/job/job_step.h"

#include <stdlib.h>
#include <string.h>

#include "src/libutil/util.h"

#include "tap.h"

#define T UINT64_C(1795603505)
#define J UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define GIB (UINT64_C(1) << 30)

static struct record job(const char *name, uint32_t cpus, uint64_t elapsed)
{
	struct record r = { .job_name = (char *)(uintptr_t)name,
			    .state = (char *)"COMPLETED",
			    .total_cpus = cpus,
			    .total_nodes = 1,
			    .tres_alloc = (char *)"cpu=2,mem=1G,node=1",
			    .start = T,
			    .end = T + elapsed };

	values_init(&r.values);
	return r;
}

static char *print(const struct record *a, const struct record *b, enum cells_format format)
{
	const struct job_compare c = { .id = { "12", "13.0" }, .r = { a, b }, .now = T + 1000 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f || job_compare_print(&c, format, /* header= */ true, f) < 0)
		abort();
	(void)fclose(f);
	return text;
}

static void test_jobs(void)
{
	struct record a = job("burn", 2, 100),
		      b = job("a\033[31m name that is longer than its column", 8, 40);
	_cleanup_free_ char *table = NULL;
	_cleanup_free_ char *csv = NULL;

	values_set(&a.values, METRIC_ENERGY, 7200 * J);
	values_set(&b.values, METRIC_ENERGY, 3600 * J);
	values_set(&a.values, METRIC_CPU_TIME, 50 * S);
	values_set(&b.values, METRIC_CPU_TIME, 160 * S);
	values_set(&a.values, METRIC_MEMORY_PEAK, GIB / 2);
	values_set(&a.values, METRIC_MEMORY_ALLOCATED, GIB);
	values_set(&b.values, METRIC_IO_WRITE_BYTES, GIB);
	table = print(&a, &b, CELLS_TABLE);
	is_str(table,
	       "                      12                       13.0 ratio\n"
	       "name                burn a?[31m name that is longe+\n"
	       "state          COMPLETED                  COMPLETED\n"
	       "nodes                  1                          1  1.00\n"
	       "CPUs                   2                          8  4.00\n"
	       "run time        00:01:40                   00:00:40  0.40\n"
	       "CPU time          50.0 s                      2m40s  3.20\n"
	       "CPU efficiency      25 %                       50 %  2.00\n"
	       "memory peak    512.0 MiB                        n/a   n/a\n"
	       "of allocated        50 %                        n/a   n/a\n"
	       "energy           2.00 Wh                    1.00 Wh  0.50\n"
	       "mean power        72.0 W                     90.0 W  1.25\n"
	       "idle share           n/a                        n/a   n/a\n"
	       "CO2e                 n/a                        n/a   n/a\n"
	       "written              n/a                   1.00 GiB   n/a\n",
	       "two jobs, masked; what neither has is not shown");
	csv = print(&a, &b, CELLS_CSV);
	ok(strstr(csv, "what,a,b,ratio\nid,12,13.0,\nname,burn,") == csv, "as CSV");
	ok(strstr(csv, "\nenergy_j,7200,3600,0.5\nmean_power_w,72,90,1.25\n") != NULL, "numbers are exact");
	ok(strstr(csv, "\nmemory_peak_bytes,536870912,,\n") != NULL, "what is not known is empty");
	ok(strstr(csv, "\ngpu_utilization,,,\n") != NULL, "every line is there");
}

static void test_step(void)
{
	struct record a = job("burn", 8, 100), b;
	struct record_step step = { .step_id = 0,
				    .name = (char *)"solve",
				    .state = "COMPLETED",
				    .ncpus = 2,
				    .start = T + 10,
				    .end = T + 60 };
	_cleanup_free_ char *table = NULL;

	values_init(&step.values);
	values_set(&step.values, METRIC_CPU_TIME, 50 * S);
	job_step_record(&a, &step, &b);
	table = print(&a, &b, CELLS_TABLE);
	is_str(table,
	       "                      12      13.0 ratio\n"
	       "name                burn     solve\n"
	       "state          COMPLETED COMPLETED\n"
	       "nodes                  1       n/a   n/a\n"
	       "CPUs                   8         2  0.25\n"
	       "run time        00:01:40  00:00:50  0.50\n"
	       "CPU time             n/a    50.0 s   n/a\n"
	       "CPU efficiency       n/a      50 %   n/a\n"
	       "memory peak          n/a       n/a   n/a\n"
	       "energy               n/a       n/a   n/a\n"
	       "mean power           n/a       n/a   n/a\n"
	       "idle share           n/a       n/a   n/a\n"
	       "CO2e                 n/a       n/a   n/a\n",
	       "a job and a step: CPUs and time are the step's");
}

int main(void)
{
	test_jobs();
	test_step();
	return done_testing();
}
