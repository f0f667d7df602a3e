/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libjob/report.h"

#include "src/libutil/util.h"
#include "tap.h"

static struct ledger_identity id = { .job_id = 12, .step_cpus = 2, .node_count = 1 };
static struct figures f;
static struct report_input in = { .node = "n1", .id = &id, .figures = &f,
				  .elapsed_ns = UINT64_C(8400000000) };
static char buf[4096];

static void miss_all(enum metric_reason reason)
{
	unsigned int m;

	figures_init(&f);
	metric_foreach(m)
		figures_miss(&f, (enum metric)m, reason);
}

static void set_all(void)
{
	figures_init(&f);
	figures_set(&f, METRIC_ENERGY, 152300000);
	figures_set(&f, METRIC_CO2E, 20104000);
	figures_set(&f, METRIC_CPU_ENERGY, 120000000);
	figures_set(&f, METRIC_CPU_ENERGY_STATIC, 30000000);
	figures_set(&f, METRIC_DRAM_ENERGY, 32300000);
	figures_set(&f, METRIC_DRAM_ENERGY_STATIC, 10100000);
	figures_set(&f, METRIC_SOURCE_RAPL, 152300000);
	figures_set(&f, METRIC_CPU_TIME, UINT64_C(15800000000));
	figures_set(&f, METRIC_IO_READ_BYTES, 1258291);
	figures_set(&f, METRIC_IO_READ_CALLS, 1234);
	figures_set(&f, METRIC_IO_WRITE_BYTES, 17);
	figures_set(&f, METRIC_IO_WRITE_CALLS, 3);
	figures_set(&f, METRIC_STORAGE_READ_BYTES, 0);
	figures_set(&f, METRIC_STORAGE_WRITE_BYTES, 4096);
	figures_set(&f, METRIC_TASK_CLOCK, UINT64_C(15790000000));
	figures_set(&f, METRIC_CONTEXT_SWITCHES, 12345);
	figures_set(&f, METRIC_CPU_MIGRATIONS, 7);
	figures_set(&f, METRIC_PAGE_FAULTS, 999);
	figures_set(&f, METRIC_CYCLES, UINT64_C(52000000000));
	figures_set(&f, METRIC_INSTRUCTIONS, UINT64_C(101400000000));
	figures_set(&f, METRIC_CACHE_REFERENCES, 2000000);
	figures_set(&f, METRIC_CACHE_MISSES, 50000);
	figures_set(&f, METRIC_BRANCHES, UINT64_C(1000000000));
	figures_set(&f, METRIC_BRANCH_MISSES, 1500000);
}

static size_t longest_line(void)
{
	const char *p = buf;
	size_t max = 0;

	while (*p) {
		size_t n = strcspn(p, "\n");

		max = n > max ? n : max;
		p += n + (p[n] == '\n');
	}
	return max;
}

static const char full[] =
	"ceems: step 12.0 on n1, 8.40 s\n"
	"  energy                  152.3 J  rapl, by cpu-time\n"
	"    static share           40.1 J  idle power, by allocation\n"
	"    CPU                   120.0 J  static 30.0 J\n"
	"    DRAM                   32.3 J  static 10.1 J\n"
	"  emissions               20.1 mg  CO2e\n"
	"  CPU time                 15.8 s  94.0 % of 2 CPUs\n"
	"  read                   1.20 MiB  1,234 calls\n"
	"  written                    17 B  3 calls\n"
	"    from storage              0 B\n"
	"    to storage           4.00 KiB\n"
	"  task clock               15.8 s\n"
	"  context switches         12,345  7 migrations\n"
	"  page faults                 999\n"
	"  cycles                   52.0 G\n"
	"  instructions            101.4 G  1.95 per cycle\n"
	"  cache references         2.00 M  2.5 % missed\n"
	"  branches                 1.00 G  0.1 % mispredicted\n";

static const char none[] =
	"ceems: step 12.batch on n1, 0 ns\n"
	"  energy, emissions           n/a (no sensor)\n"
	"  CPU time                    n/a (no sensor)\n"
	"  I/O                         n/a (no sensor)\n"
	"  perf counters               n/a (no sensor)\n";

int main(void)
{
	size_t n;

	miss_all(REASON_NO_SENSOR);
	id.step_id = LEDGER_STEP_BATCH;
	in.elapsed_ns = 0;
	is_u64(report_format(&in, buf, 0), 0, "no room at all");
	is_u64(report_format(&in, buf, 1), 0, "room for the NUL");
	is_u64(report_format(&in, buf, 21), 20, "cut where the buffer ends");
	is_str(buf, "ceems: step 12.batch", "and ended");
	n = report_format(&in, buf, sizeof(buf));
	is_str(buf, none, "nothing known");
	is_u64(n, sizeof(none) - 1, "the length");

	set_all();
	id.step_id = 0;
	in.elapsed_ns = UINT64_C(8400000000);
	(void)report_format(&in, buf, sizeof(buf));
	is_str(buf, full, "everything known");

	figures_set(&f, METRIC_SOURCE_MODEL, 1);
	(void)report_format(&in, buf, sizeof(buf));
	ok(strstr(buf, "rapl,model (estimate), by") != NULL, "a part is estimated");
	figures_set(&f, METRIC_SOURCE_RAPL, 0);
	(void)report_format(&in, buf, sizeof(buf));
	ok(strstr(buf, "J  model (estimate), by cpu-time") != NULL, "all is");
	figures_set(&f, METRIC_SOURCE_RAPL, 152300000);

	figures_miss(&f, METRIC_CO2E, REASON_NO_FACTOR);
	figures_miss(&f, METRIC_DRAM_ENERGY, REASON_NO_SENSOR);
	figures_miss(&f, METRIC_CYCLES, REASON_NO_PMU);
	figures_miss(&f, METRIC_INSTRUCTIONS, REASON_NO_PMU);
	figures_miss(&f, METRIC_CACHE_REFERENCES, REASON_NO_PMU);
	figures_miss(&f, METRIC_BRANCHES, REASON_NO_COUNTER);
	figures_miss(&f, METRIC_IO_READ_CALLS, REASON_NO_BPF);
	figures_miss(&f, METRIC_CPU_MIGRATIONS, REASON_FAILED);
	(void)report_format(&in, buf, sizeof(buf));
	ok(strstr(buf, "emissions                   n/a (no emission factor)\n") != NULL,
	   "no factor");
	ok(!strstr(buf, "DRAM"), "one domain needs no line of its own");
	ok(strstr(buf, "cycles                      n/a (no PMU)\n") != NULL, "two reasons:");
	ok(strstr(buf, "branches                    n/a (no free counter)\n") != NULL, "both");
	ok(strstr(buf, "read                   1.20 MiB\n") != NULL, "no calls, no note");
	ok(strstr(buf, "migrations                  n/a (failed, ") != NULL, "its own line");
	figures_miss(&f, METRIC_BRANCHES, REASON_NO_PMU);
	(void)report_format(&in, buf, sizeof(buf));
	ok(strstr(buf, "hardware counters           n/a (no PMU)\n") != NULL, "one reason");
	ok(!strstr(buf, "cycles"), "one line");

	/* the longest of everything */
	miss_all(REASON_NOT_ASKED);
	set_all();
	id.job_id = UINT32_MAX;
	id.step_id = LEDGER_STEP_INTERACTIVE;
	id.node_id = UINT32_MAX - 1;
	id.node_count = UINT32_MAX;
	id.step_cpus = UINT32_MAX;
	in.elapsed_ns = UINT64_MAX;
	in.node = "a-very-long-node-name-of-more-than-24-bytes.example";
	for (n = 0; n < METRIC_N; n++)
		figures_set(&f, (enum metric)n, UINT64_MAX);
	(void)report_format(&in, buf, sizeof(buf));
	ok(longest_line() <= 110, "even nonsense stays in bounds");
	id = (struct ledger_identity){ .job_id = 12345678, .step_id = 3, .step_cpus = 128,
				       .node_id = 0, .node_count = 2 };
	in.elapsed_ns = UINT64_C(93784000000000);
	in.node = "node-of-a-cluster-0001";
	(void)report_format(&in, buf, sizeof(buf));
	ok(strstr(buf, "step 12345678.3 on node-of-a-cluster-0001 (node 1 of 2), 26h03m04s\n") !=
		   NULL, "several nodes");
	ok(strstr(buf, "sacct -j 12345678.3 has the whole step's.\n") != NULL,
	   "it says where the rest is");
	ok(longest_line() <= 78, "lines fit a terminal");
	return done_testing();
}
