/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report of --ceems-report: which lines a step has, and that they fit a terminal and a pipe. */
#include "src/librecord/report.h"

#include "src/libutil/util.h"
#include "tap.h"

static struct ledger_identity id = { .job_id = 12, .step_cpus = 2, .node_count = 1 };
static struct values f;
static struct report_input in = { .node = "n1", .id = &id, .values = &f, .elapsed_ns = UINT64_C(8400000000) };
static char buf[4096];

static void miss_all(enum metric_reason reason)
{
	unsigned int m;

	values_init(&f);
	metric_foreach(m)
		values_miss(&f, (enum metric)m, reason);
}

static void set_all(void)
{
	values_init(&f);
	values_set(&f, METRIC_ENERGY, 152300000);
	values_set(&f, METRIC_CO2E, 20104000);
	values_set(&f, METRIC_CPU_ENERGY, 120000000);
	values_set(&f, METRIC_CPU_ENERGY_STATIC, 30000000);
	values_set(&f, METRIC_DRAM_ENERGY, 32300000);
	values_set(&f, METRIC_DRAM_ENERGY_STATIC, 10100000);
	values_set(&f, METRIC_SOURCE_RAPL, 152300000);
	values_set(&f, METRIC_CPU_TIME, UINT64_C(15800000000));
	values_set(&f, METRIC_IO_READ_BYTES, 1258291);
	values_set(&f, METRIC_IO_READ_CALLS, 1234);
	values_set(&f, METRIC_IO_WRITE_BYTES, 17);
	values_set(&f, METRIC_IO_WRITE_CALLS, 3);
	values_set(&f, METRIC_STORAGE_READ_BYTES, 0);
	values_set(&f, METRIC_STORAGE_WRITE_BYTES, 4096);
	values_set(&f, METRIC_TASK_CLOCK, UINT64_C(15790000000));
	values_set(&f, METRIC_CONTEXT_SWITCHES, 12345);
	values_set(&f, METRIC_CPU_MIGRATIONS, 7);
	values_set(&f, METRIC_PAGE_FAULTS, 999);
	values_set(&f, METRIC_MEMORY_PEAK, UINT64_C(3) << 30);
	values_set(&f, METRIC_MEMORY_KERNEL_PEAK, UINT64_C(7) << 29);
	values_set(&f, METRIC_MEMORY_ALLOCATED, UINT64_C(4) << 30);
	values_set(&f, METRIC_MEMORY_TIME, 84 * (UINT64_C(3) << 20) / 10);
	values_set(&f, METRIC_CACHE_TIME, 84 * (UINT64_C(1) << 19) / 10);
	values_set(&f, METRIC_SWAP_PEAK, 0);
	values_set(&f, METRIC_OOM_KILLS, 0);
	values_set(&f, METRIC_CYCLES, UINT64_C(52000000000));
	values_set(&f, METRIC_INSTRUCTIONS, UINT64_C(101400000000));
	values_set(&f, METRIC_CACHE_REFERENCES, 2000000);
	values_set(&f, METRIC_CACHE_MISSES, 50000);
	values_set(&f, METRIC_BRANCHES, UINT64_C(1000000000));
	values_set(&f, METRIC_BRANCH_MISSES, 1500000);
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

static struct step_detail detail;
static struct perf_request request;

/* All that --ceems-perf=hw,io,net,events: gives. */
static void set_asked(void)
{
	static const struct detail_fs fs[] = {
		{ "/home", "nfs", 1000, 0, 3, 0, 1, 0 },
		{ "/scratch", "lustre", 1256291, 17, 1200, 3, 0, 0 },
		{ "/unused", "ext4", 0, 0, 0, 0, 0, 0 },
		{ "pipe", "", 1000, 5, 31, 1, 0, 2 },
	};

	memset(&detail, 0, sizeof(detail));
	memcpy(detail.fs, fs, sizeof(fs));
	detail.nfs = ARRAY_SIZE(fs);
	values_set(&f, METRIC_SWAP_PEAK, 1 << 20);
	values_set(&f, METRIC_OOM_KILLS, 2);
	values_set(&f, METRIC_RUN_DELAY, UINT64_C(1200000000));
	values_set(&f, METRIC_OFF_CPU, UINT64_C(500000000));
	values_set(&f, METRIC_CPU_PRESSURE_SOME, UINT64_C(1100000000));
	values_set(&f, METRIC_CPU_PRESSURE_FULL, 0);
	values_set(&f, METRIC_MEMORY_PRESSURE_SOME, 0);
	values_set(&f, METRIC_MEMORY_PRESSURE_FULL, 0);
	values_set(&f, METRIC_IO_PRESSURE_SOME, 20000000);
	values_set(&f, METRIC_CPU_THROTTLED, UINT64_C(3000000000));
	values_set(&f, METRIC_CPU_THROTTLED_PERIODS, 40);
	values_set(&f, METRIC_STORAGE_READ_BYTES, 314573);
	values_set(&f, METRIC_TCP_RECEIVED_BYTES, 2048);
	values_set(&f, METRIC_TCP_SENT_BYTES, 1024);
	values_set(&f, METRIC_TCP_CONNECTIONS, 12);
	values_set(&f, METRIC_TCP_RETRANSMITTED_BYTES, 0);
	values_set(&f, METRIC_RECEIVED_PACKETS, 30);
	values_set(&f, METRIC_IP_RECEIVED_BYTES, 4096);
	values_set(&f, METRIC_IPV6_RECEIVED_BYTES, 512);
	values_set(&f, METRIC_SENT_PACKETS, 20);
	values_set(&f, METRIC_IP_SENT_BYTES, 2048);
	values_set(&f, METRIC_IPV6_SENT_BYTES, 0);
	values_set(&f, METRIC_UDP_RECEIVED_BYTES, 100);
	values_set(&f, METRIC_UDP_SENT_BYTES, 0);
	values_miss(&f, METRIC_RDMA_RECEIVED_BYTES, REASON_NO_DEVICE);
	values_miss(&f, METRIC_RDMA_SENT_BYTES, REASON_NO_DEVICE);
	values_set(&f, METRIC_FP_OPERATIONS, UINT64_C(12000000000));
	values_set(&f, METRIC_MEMORY_BYTES, UINT64_C(68719476736));
	values_set(&f, METRIC_PMU_ENABLED, UINT64_C(16000000000));
	values_set(&f, METRIC_PMU_RUNNING, UINT64_C(10000000000));
	detail.nnet = 2;
	detail.net[0] = (struct detail_net){ "tcp4", 28, 3584, 20, 2048 };
	detail.net[1] = (struct detail_net){ "udp6", 2, 512, 0, 0 };
	detail.nevents = 2;
	detail.event[0] = (struct detail_event){ "L1D:REPLACEMENT", 12300000, REASON_NONE, 620000 };
	detail.event[1] = (struct detail_event){ "FOO", 0, REASON_NO_EVENT, 0 };
	detail.lost_events = 7;
	(void)snprintf(detail.counters, sizeof(detail.counters), "bperf, skylakex");
	request.groups = PERF_GROUP_HW | PERF_GROUP_IO | PERF_GROUP_NET | PERF_GROUP_SCHED |
			 PERF_GROUP_EVENTS;
	in.detail = &detail;
	in.request = &request;
}

static const char full[] = "ceems: step 12.0 on n1, 8.40 s\n"
			   "  CPU        [############### ]  94 %   15.8 s of 16.8 s (2 CPUs)\n"
			   "  memory     [############    ]  75 %   3.00 GiB of 4.00 GiB\n"
			   "  energy     42.2 mWh (152.0 J), mean 18.1 W, 26 % idle   rapl\n"
			   "  CO2e       20.1 mg\n"
			   "  I/O        read 1.20 MiB, written 17 B\n"
			   "  more       --ceems-perf=hw,sw,io,net,sched counts more\n";

static const char asked[] =
	"ceems: step 12.0 on n1, 8.40 s\n"
	"  CPU        [############### ]  94 %   15.8 s of 16.8 s (2 CPUs)\n"
	"  memory     [############    ]  75 %   3.00 GiB of 4.00 GiB\n"
	"  energy     42.2 mWh (152.0 J), mean 18.1 W, 26 % idle   rapl\n"
	"  CO2e       20.1 mg\n"
	"  I/O        read 1.20 MiB, written 17 B, TCP in 2.00 KiB, out 1.00 KiB\n"
	"  note       memory ran out; processes that the kernel killed: 2\n"
	"  stalled for              1.10 s  CPU, 0 ns memory, 20.0 ms I/O\n"
	"  CPU throttled            3.00 s\n"
	"  task clock               15.8 s\n"
	"  run-queue wait           1.20 s  7.1 % of running and waiting\n"
	"  off-CPU                500.0 ms\n"
	"  context switches         12,345  7 migrations\n"
	"  page faults                 999\n"
	"  with page cache        3.50 GiB  mean 3.00 GiB, cache 512.0 MiB, swap 1.00 MiB\n"
	"  read                   1.20 MiB  1,234 calls, 75.0 % without storage\n"
	"  written                    17 B  3 calls\n"
	"    from storage        307.2 KiB\n"
	"    to storage           4.00 KiB\n"
	"         read     calls     written     calls  by file system\n"
	"     1.20 MiB     1,200        17 B         3  /scratch (lustre)\n"
	"       1000 B        31         5 B         1  pipe, 2 failed to write\n"
	"       1000 B         3         0 B         0  /home (nfs), 1 failed to read\n"
	"  TCP received           2.00 KiB  12 connections\n"
	"  TCP sent               1.00 KiB  0 B retransmitted\n"
	"  packets received             30  4.00 KiB, 512 B of it IPv6\n"
	"  packets sent                 20  2.00 KiB\n"
	"    tcp4     in 28 packets, 3.50 KiB; out 20 packets, 2.00 KiB\n"
	"    udp6     in 2 packets, 512 B; out 0 packets, 0 B\n"
	"  UDP received              100 B\n"
	"  UDP sent                    0 B\n"
	"  RDMA                        n/a (no device)\n"
	"  cycles                   52.0 G  3.25 GHz\n"
	"  instructions            101.4 G  1.95 per cycle, 1.5 nJ each\n"
	"  cache references         2.00 M  2.5 % missed\n"
	"  branches                 1.00 G  0.1 % mispredicted\n"
	"  FP operations            12.0 G  1.43 GFLOP/s\n"
	"  read from memory       64.0 GiB  7.62 GiB/s\n"
	"  counted                  62.5 %  of the time; bperf, skylakex\n"
	"  own events               12.3 M  L1D:REPLACEMENT, counted 62.0 %\n"
	"                              n/a  FOO (no such event on this CPU)\n"
	"  lost events                   7  at most; I/O, TCP, tasks are lower bounds\n";

static const char none[] = "ceems: step 12.batch on n1, 0 ns\n"
			   "  CPU        n/a: no sensor (2 CPUs)\n"
			   "  memory     n/a: no sensor\n"
			   "  energy     n/a: no sensor\n"
			   "  CO2e       n/a: no sensor\n"
			   "  I/O        n/a: no sensor\n"
			   "  more       --ceems-perf=hw,sw,io,net,sched counts more\n";

static bool has(const char *text)
{
	return strstr(buf, text) != NULL;
}

/* Many file systems with long names that a user chose, and events with long names. */
static void fill_up(void)
{
	uint32_t i;

	memset(&detail, 0, sizeof(detail));
	detail.nfs = DETAIL_FS;
	for (i = 0; i < DETAIL_FS; i++) {
		struct detail_fs *fs = &detail.fs[i];

		memset(fs->mount, 'm', sizeof(fs->mount) - 1);
		memset(fs->type, 't', sizeof(fs->type) - 1);
		(void)snprintf(fs->mount, sizeof(fs->mount), "/%02u%0110u", i, i);
		fs->read_bytes = 1000 + i;
		fs->write_bytes = fs->read_calls = fs->write_calls = UINT64_C(1) << 60;
		fs->read_errors = fs->write_errors = UINT64_C(1) << 60;
	}
	detail.nevents = PERF_REQUEST_EVENTS;
	for (i = 0; i < PERF_REQUEST_EVENTS; i++)
		memset(detail.event[i].name, 'e', sizeof(detail.event[i].name) - 1);
	detail.nnet = 6;
	for (i = 0; i < 6; i++)
		detail.net[i] = (struct detail_net){ "tcp4xxx", UINT64_MAX, UINT64_MAX, UINT64_MAX,
						     UINT64_MAX };
	memset(detail.counters, 'c', sizeof(detail.counters) - 1);
	detail.lost_events = UINT64_MAX;
}

static void test_detail(void)
{
	size_t n;
	size_t i;

	set_all();
	set_asked();
	(void)report_format(&in, buf, sizeof(buf));
	is_str(buf, asked, "all that can be asked for");
	ok(longest_line() <= 80, "lines fit a terminal");

	/* mount points are named by users, and so are events */
	(void)snprintf(detail.fs[1].mount, DETAIL_MOUNT_MAX, "/a\033[2J\n\x7f\xc2\x9b\xc3\xa9");
	(void)snprintf(detail.event[0].name, PERF_REQUEST_NAME_MAX, "X\rY");
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("  /a?[2J???\xc3\xa9 (lustre)\n"), "control bytes are masked, letters are not");
	ok(has("  X?Y, counted"), "in events, too");
	memset(detail.fs[1].mount, 'x', sizeof(detail.fs[1].mount));
	memset(detail.fs[1].type, 'y', sizeof(detail.fs[1].type));
	memset(detail.counters, 'z', sizeof(detail.counters));
	detail.nfs = detail.nevents = detail.nnet = UINT32_MAX;
	memset(&detail.fs[DETAIL_FS - 1], 'w', sizeof(detail.fs[0]));
	n = report_format(&in, buf, sizeof(buf));
	ok(n == strlen(buf) && n < sizeof(buf), "texts without end and wrong numbers do no harm");

	/* asked for, and not to be had */
	set_all();
	set_asked();
	detail.nfs = detail.nevents = detail.nnet = 0;
	detail.lost_events = 0;
	miss_all(REASON_NO_HOOK);
	values_miss(&f, METRIC_RECEIVED_PACKETS, REASON_NO_CGROUP);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("I/O by file system          n/a (no function hooks)\n"), "no hooks");
	ok(has("packets received            n/a (no v2 cgroup)\n"), "two reasons, two lines");
	ok(has("own events                  n/a (not measured)\n"), "no event");
	ok(!has("lost"), "nothing was lost: no line");
	ok(!has("needs"), "and all was asked for");
	values_set(&f, METRIC_HOME_READ_BYTES, 4096);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("  read, home             4.00 KiB\n"), "the site's names, without the details");

	miss_all(REASON_NOT_MEASURED);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("run-queue wait              n/a (not measured)\n"), "what was asked for is never left out");

	/* a part that is larger than the whole is none */
	set_all();
	set_asked();
	values_set(&f, METRIC_STORAGE_READ_BYTES, UINT64_C(1) << 40);
	values_set(&f, METRIC_PMU_ENABLED, 0);
	values_set(&f, METRIC_PMU_RUNNING, 0);
	(void)report_format(&in, buf, sizeof(buf));
	ok(!has("without storage"), "more from storage than was read: no rate");
	ok(!has("counted   "), "no time on the PMU: no coverage");

	/* nothing was asked for */
	miss_all(REASON_NOT_MEASURED);
	request.groups = 0;
	in.detail = NULL;
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("  more       --ceems-perf=hw,sw,io,net,sched counts more\n"), "says how to ask");
	ok(!has("(needs") && !has("\n  RDMA") && !has("own events") && !has("task clock"), "in one line");

	/* what does not fit */
	set_all();
	set_asked();
	for (i = 0; i < METRIC_N; i++)
		values_set(&f, (enum metric)i, UINT64_MAX - 1);
	fill_up();
	n = report_format(&in, buf, sizeof(buf));
	ok(n < sizeof(buf) && buf[n - 1] == '\n', "the largest report fits a pipe: %zu bytes", n);
	ok(has("/15000") && !has("/00000") && has(" more\n"), "the smallest file systems are left out");
	ok(has("  /15000000000000000...0000000000000000015"), "of a long path both ends are shown");
	ok(has("lost events"), "nothing else is");
	n = report_format(&in, buf, 200);
	is_u64(n, 199, "a small buffer is cut");
}

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

	in.factor_ug_per_kwh = 365600000;
	in.pue_milli = 1300;
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("  CO2e       20.1 mg = 42.2 mWh x 365.6 g/kWh x PUE 1.3\n"), "the factor and the PUE");
	in.pue_milli = 1000;
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("  CO2e       20.1 mg = 42.2 mWh x 365.6 g/kWh"), "without overhead, too");
	in.factor_ug_per_kwh = in.pue_milli = 0;

	values_set(&f, METRIC_FRESH_FACTOR, 130000000);
	values_set(&f, METRIC_STATIC_FACTOR, 22300000);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("  CO2e       20.1 mg\n             factor, 86 % fresh, 14 % yearly mean\n"),
	   "which factors there were");
	values_set(&f, METRIC_SOURCE_MODEL, 1000000);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has(" partly an estimate\n"), "a part is estimated");
	values_set(&f, METRIC_SOURCE_RAPL, 0);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has(" estimate: no sensor\n"), "all is");
	values_set(&f, METRIC_ENERGY, 1499999);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has(" (1.00 J), "), "whole joules, as slurmdbd has them");
	values_set(&f, METRIC_ENERGY, 152300000);
	values_set(&f, METRIC_SOURCE_RAPL, 152300000);

	in.request = &request;
	request.groups = PERF_GROUP_HW;
	values_miss(&f, METRIC_CO2E, REASON_NO_FACTOR);
	values_miss(&f, METRIC_CYCLES, REASON_NO_PMU);
	values_miss(&f, METRIC_INSTRUCTIONS, REASON_NO_PMU);
	values_miss(&f, METRIC_CACHE_REFERENCES, REASON_NO_PMU);
	values_miss(&f, METRIC_BRANCHES, REASON_NO_COUNTER);
	values_miss(&f, METRIC_IO_READ_CALLS, REASON_NO_BPF);
	values_miss(&f, METRIC_CPU_MIGRATIONS, REASON_FAILED);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("  CO2e       n/a: no emission factor\n"), "no factor");
	ok(has("cycles                      n/a (no PMU)\n"), "two reasons:");
	ok(has("branches                    n/a (no free counter)\n"), "both");
	ok(has("read                   1.20 MiB\n"), "no calls, no note");
	ok(has("migrations                  n/a (failed, "), "its own line");
	ok(has("(needs --ceems-perf=io)") && has("(needs --ceems-perf=net)") && !has("more  "),
	   "how to ask for the rest");
	values_miss(&f, METRIC_BRANCHES, REASON_NO_PMU);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("hardware counters           n/a (no PMU)\n"), "one reason");
	ok(!has("cycles"), "one line");
	values_miss(&f, METRIC_IO_READ_BYTES, REASON_NO_CGROUP);
	values_miss(&f, METRIC_IO_WRITE_BYTES, REASON_NO_CGROUP);
	(void)report_format(&in, buf, sizeof(buf));
	ok(has("  I/O        n/a: no v2 cgroup\n"), "why there is no I/O");

	test_detail();

	/* the longest of everything */
	in.detail = NULL;
	in.request = NULL;
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
		values_set(&f, (enum metric)n, UINT64_MAX - 1);
	(void)report_format(&in, buf, sizeof(buf));
	ok(longest_line() <= 110, "even nonsense stays in bounds");
	id = (struct ledger_identity){
		.job_id = 12345678, .step_id = 3, .step_cpus = 128, .node_id = 0, .node_count = 2
	};
	in.elapsed_ns = UINT64_C(93784000000000);
	in.node = "node-of-a-cluster-0001";
	for (n = 0; n < METRIC_N; n++)
		values_set(&f, (enum metric)n, UINT64_MAX); /* what no type can hold: not known */
	(void)report_format(&in, buf, sizeof(buf));
	ok(strstr(buf, "step 12345678.3 on node-of-a-cluster-0001 (node 1 of 2), 26h03m04s\n") != NULL,
	   "several nodes");
	ok(strstr(buf, "ceems job 12345678.3 has the whole step's.\n") != NULL, "it says where the rest is");
	ok(longest_line() <= 80, "lines fit a terminal");
	ok(strstr(buf, "more than 64 bits") && !strstr(buf, "18446744"), "and no number is made up");
	return done_testing();
}
