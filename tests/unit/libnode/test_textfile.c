/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems.prom: which series a node, its jobs and its GPUs have, and which they must not have. */
#include "src/libnode/textfile.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "src/libutil/util.h"
#include "tap.h"

static struct ledger_page page;

static void fill_page(void)
{
	struct source_state *st = &page.state[SOURCE_RAPL];

	page.t_mono_ns = 1;
	page.t_wall_ns = UINT64_C(1700000000123000000);
	page.domain_source[DOMAIN_CPU] = SOURCE_RAPL;
	page.domain_source[DOMAIN_DRAM] = SOURCE_RAPL;
	page.domain_source[DOMAIN_GPU] = SOURCE_N;
	page.domain_source[DOMAIN_OTHER] = SOURCE_MODEL;
	st->ncounters = 4;
	snprintf(st->counter[0].name, sizeof(st->counter[0].name), "intel-rapl:0");
	st->counter[0].raw = 1500000;
	snprintf(st->counter[1].name, sizeof(st->counter[1].name), "intel-rapl:0:1");
	st->counter[1].raw = 7;
	snprintf(st->counter[2].name, sizeof(st->counter[2].name), "intel-rapl:1");
	st->counter[2].raw = 2000000;
	snprintf(st->counter[3].name, sizeof(st->counter[3].name), "intel-rapl:0:2");
	page.measured.total_uj[DOMAIN_CPU] = 12000001;
	page.unallocated.total_uj[DOMAIN_OTHER] = 4000000;
	page.power_mw[DOMAIN_CPU] = 45678;
	page.idle_mw[DOMAIN_OTHER] = 90000;
	page.nparts = 2;
	page.part[0] = (struct ledger_part){ .domain = DOMAIN_CPU,
					     .unit = 1,
					     .source = SOURCE_RAPL,
					     .energy_uj = 12000001,
					     .power_mw = 45678 };
	page.part[1] = (struct ledger_part){ .domain = DOMAIN_OTHER,
					     .source = SOURCE_MODEL,
					     .quality = QUALITY_ESTIMATE,
					     .idle = LEDGER_IDLE_STATED,
					     .idle_mw = 90000 };
	page.late = 3;
	page.disagreement_uj = 5;
	page.factor_known = 1;
	page.factor = (struct emission_factor){ .mg_per_kwh = 52000,
						.kind = EMISSION_AVERAGE,
						.region = "FR" };
	page.factor_step = FACTOR_LAST;
	page.factor_until_s = 1699999000;
	page.market_known = 1;
	page.pue_milli = 1350;
	page.measured.co2e_ng[DOMAIN_CPU] = 1234567890;
	page.measured.factor_uj[FACTOR_LAST] = 12000000;
	page.step[1].energy.market_ng = 5;
	page.njobs = 3;
	page.nsteps = 2;
	page.job[0].job_id = 7;
	page.job[0].cpus = 2;
	page.job[0].open_slots = 1;
	page.job[0].closed.total_uj[DOMAIN_CPU] = 1000000;
	page.job[0].closed.source_uj[SOURCE_RAPL] = 1000000;
	page.job[0].closed_busy_ns = 500000000;
	values_init(&page.job[0].values);
	values_set(&page.job[0].values, METRIC_IO_READ_BYTES, 4096);
	values_set(&page.job[0].values, METRIC_CPU_USER_TIME, 400000000);
	values_set(&page.job[0].values, METRIC_CPU_SYSTEM_TIME, 100000000);
	values_set(&page.job[0].values, METRIC_TCP_RECEIVED_BYTES, 17);
	values_set(&page.job[0].values, METRIC_UDP_RECEIVED_BYTES, 0);
	/* entry 1 is free; entry 2 is a job that is over */
	page.job[2].job_id = 9;
	page.job[2].mem_mb = 100;
	values_init(&page.job[2].values);
	page.step[1].job = 1;
	page.step[1].until_mono_ns = 5;
	page.step[1].busy_ns = 250000000;
	page.step[1].energy.total_uj[DOMAIN_CPU] = 2000001;
	page.step[1].energy.source_uj[SOURCE_RAPL] = 2000001;
}

/* A counter that is in the state without a zone is another's mirror. */
static const struct source_zone zones[] = {
	{ "intel-rapl:0", "/sys/class/powercap/", "package", 0 },
	{ "intel-rapl:0:1", "/sys/class/powercap/", "dram", 0 },
	{ "intel-rapl:1", "/sys/class/powercap/", "psys", 0 },
	{ "intel-rapl:9", "/sys/class/powercap/", "package", 9 }, /* not read yet */
};

static const char *const expected[] = {
	"ceems_sampler_running{hostname=\"n\\\"1\"} 1\n",
	"ceems_compute_units{hostname=\"n\\\"1\",manager=\"slurm\"} 1\n",
	"ceems_compute_unit_cpus{hostname=\"n\\\"1\",manager=\"slurm\",uuid=\"7\"} 2\n",
	"ceems_compute_unit_energy_joules_total{hostname=\"n\\\"1\",manager=\"slurm\",uuid=\"7\"} "
	"3.000001\n",
	"ceems_compute_unit_cpu_seconds_total{hostname=\"n\\\"1\",manager=\"slurm\",uuid=\"7\"} "
	"0.750000000\n",
	"ceems_compute_unit_io_read_bytes_total{hostname=\"n\\\"1\",manager=\"slurm\",uuid=\"7\"} "
	"4096\n",
	/* two metrics of one name: one TYPE, and nothing between them */
	"# TYPE ceems_ebpf_ingress_bytes_total counter\n"
	"ceems_ebpf_ingress_bytes_total{hostname=\"n\\\"1\",manager=\"slurm\",uuid=\"7\","
	"proto=\"tcp\"} 17\n"
	"ceems_ebpf_ingress_bytes_total{hostname=\"n\\\"1\",manager=\"slurm\",uuid=\"7\","
	"proto=\"udp\"} 0\n",
	"ceems_rapl_package_joules_total{hostname=\"n\\\"1\",index=\"0\","
	"path=\"/sys/class/powercap/intel-rapl:0\"} 1.500000\n",
	"ceems_rapl_dram_joules_total{hostname=\"n\\\"1\",index=\"0\","
	"path=\"/sys/class/powercap/intel-rapl:0:1\"} 0.000007\n",
	"ceems_rapl_psys_joules_total{hostname=\"n\\\"1\",index=\"0\","
	"path=\"/sys/class/powercap/intel-rapl:1\"} 2.000000\n",
	/* a job's energy by domain, which a panel of hosts and one of GPUs can tell apart */
	"ceems_compute_unit_domain_energy_joules_total{hostname=\"n\\\"1\",manager=\"slurm\",uuid=\"7\","
	"domain=\"cpu\"} 3.000001\n",
	"ceems_compute_unit_domain_static_energy_joules_total{hostname=\"n\\\"1\",manager=\"slurm\","
	"uuid=\"7\","
	"domain=\"cpu\"} 0.000000\n",
	"# HELP ceems_compute_unit_domain_static_energy_joules_total Part of that energy that is idle power, "
	"split by allocation, by domain\n",
	"# HELP ceems_compute_unit_domain_energy_joules_total Energy attributed to the job on this node "
	"by domain\n",
	"ceems_compute_unit_cpu_user_seconds_total{hostname=\"n\\\"1\",manager=\"slurm\",uuid=\"7\"} "
	"0.400000000\n",
	"ceems_compute_unit_cpu_system_seconds_total{hostname=\"n\\\"1\",manager=\"slurm\",uuid=\"7\"} "
	"0.100000000\n",
	"ceems_node_energy_joules_total{hostname=\"n\\\"1\",domain=\"cpu\",source=\"rapl\"} 12.000001\n",
	"ceems_node_unallocated_joules_total{hostname=\"n\\\"1\",domain=\"other\",source=\"model\"} "
	"4.000000\n",
	"ceems_node_power_watts{hostname=\"n\\\"1\",domain=\"cpu\",source=\"rapl\"} 45.678\n",
	"source=\"model\",quality=\"estimate\",method=\"cpu-time\",estimate=\"true\"} 1\n",
	"ceems_node_conservation_error_joules_total{hostname=\"n\\\"1\"} 0.000000\n",
	"ceems_node_part_energy_joules_total{hostname=\"n\\\"1\",domain=\"cpu\",unit=\"1\","
	"source=\"rapl\"} 12.000001\n",
	"ceems_node_part_power_watts{hostname=\"n\\\"1\",domain=\"cpu\",unit=\"1\","
	"source=\"rapl\"} 45.678\n",
	"ceems_node_part_doubt{hostname=\"n\\\"1\",domain=\"cpu\",unit=\"1\",source=\"rapl\"} 0\n",
	"ceems_node_part_idle_power_watts{hostname=\"n\\\"1\",domain=\"other\",unit=\"0\","
	"source=\"model\",idle=\"stated\"} 90.000\n",
	"ceems_node_idle_power_watts{hostname=\"n\\\"1\",domain=\"other\",source=\"model\"} 90.000\n",
	"ceems_node_sensor_disagreement_joules_total{hostname=\"n\\\"1\"} 0.000005\n",
	"ceems_sensor_late_readings_total{hostname=\"n\\\"1\"} 3\n",
	"ceems_emission_factor_grams_per_kwh{hostname=\"n\\\"1\",region=\"FR\",year=\"\","
	"kind=\"average\",step=\"last\"} 52.000\n"
	"ceems_emission_factor_grams_per_kwh{hostname=\"n\\\"1\",region=\"FR\",year=\"\","
	"kind=\"marginal\",step=\"\"} 611.021\n"
	"# HELP ceems_emission_factor_age_seconds",
	"kind=\"average\",step=\"last\"} 1000\n",
	"kind=\"marginal\",step=\"\"} 0\n",
	"ceems_node_emissions_gco2e_total{hostname=\"n\\\"1\",domain=\"cpu\"} 1.234567890\n",
	"ceems_node_factor_joules_total{hostname=\"n\\\"1\",step=\"last\"} 12.000000\n",
	"ceems_node_market_emissions_gco2e_total{hostname=\"n\\\"1\"} 0.000000000\n",
	"ceems_market_factor_grams_per_kwh{hostname=\"n\\\"1\"} 0.000\n",
	"ceems_compute_unit_market_emissions_gco2e_total{hostname=\"n\\\"1\",manager=\"slurm\","
	"uuid=\"7\"} 0.000000005\n",
	"ceems_pue_ratio{hostname=\"n\\\"1\"} 1.350\n",
	"ceems_ledger_last_tick_timestamp_seconds{hostname=\"n\\\"1\"} 1700000000.123\n",
};

static const char *const absent[] = {
	/* its idle power is not known */
	"ceems_node_unallocated_joules_total{hostname=\"n\\\"1\",domain=\"cpu\"",
	"package_joules_total{hostname=\"n\\\"1\",index=\"1\"", /* psys has the package in it */
	"package_joules_total{hostname=\"n\\\"1\",index=\"9\"",
	"domain=\"gpu\"",	 /* nobody measures it */
	"source=\"rapl\",idle=", /* its idle power is not known: no 0 */
	"ceems_node_idle_power_watts{hostname=\"n\\\"1\",domain=\"cpu\"",
	"io_write_bytes_total", /* not known for any job: no series, and no 0 */
	"ceems_ebpf_egress",
	"memory_total_bytes{", /* the only job that has memory is over */
};

static void test_format(void)
{
	struct factor_point marginal = {
		1700000000,
		1700000300,
		1700000000,
		{ .mg_per_kwh = 611021, .kind = EMISSION_MARGINAL, .region = "FR", .source = "x" }
	};
	const struct factor_series series = { &marginal, 1 };
	const struct textfile_input in = { .series = &series,
					   .region = "FR",
					   .zone = zones,
					   .nzones = ARRAY_SIZE(zones),
					   .has_rapl = true };
	_cleanup_free_ char *text = NULL;
	struct errmsg err = { 0 };
	size_t len = 0;
	size_t i;

	ok(textfile_format("n\"1", &page, &in, &text, &len, &err) == 0, "formats %s", err.text);
	if (!text)
		return;
	is_u64(len, strlen(text), "length");
	for (i = 0; i < ARRAY_SIZE(expected); i++)
		ok(strstr(text, expected[i]) != NULL, "%.*s", (int)strcspn(expected[i], "\n"), expected[i]);
	for (i = 0; i < ARRAY_SIZE(absent); i++)
		ok(!strstr(text, absent[i]), "no %s", absent[i]);
}

static struct gpu_reading gpus[] = {
	{ .unit = 1, .model = "A \"model\"", .uuid = "GPU-1" },
	{ .unit = 0, .uuid = "GPU\"0" },
};

static void set_gpus(void)
{
	uint64_t *value = gpus[0].value;

	memset(gpus[0].value, 0xff, sizeof(gpus[0].value));
	memset(gpus[1].value, 0xff, sizeof(gpus[1].value));
	value[GPU_VALUE_POWER_MW] = 301500;
	value[GPU_VALUE_BUSY_PPM] = 970000;
	value[GPU_VALUE_MEM_USED_BYTES] = 1 << 30;
	value[GPU_VALUE_MEM_TOTAL_BYTES] = UINT64_C(80) << 30;
	value[GPU_VALUE_PROCESSES] = 0;
	value[GPU_VALUE_SM_MHZ] = 1980;
	value[GPU_VALUE_THROTTLED_HEAT_PPM] = 1000000;
	value[GPU_VALUE_ECC_ERRORS] = 3;
	value[GPU_VALUE_SM_PPM] = 400000;
	value[GPU_VALUE_NVLINK_TX_BPS] = 1048576;
}

static const char *const expected_of_gpus[] = {
	"ceems_gpu_info{hostname=\"n1\",gpu=\"1\",model=\"A \\\"model\\\"\",gpuuuid=\"GPU-1\"} 1\n",
	"ceems_gpu_info{hostname=\"n1\",gpu=\"0\",model=\"\",gpuuuid=\"GPU\\\"0\"} 1\n",
	"ceems_gpu_energy_joules_total{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 7.000003\n",
	"ceems_gpu_energy_joules_total{hostname=\"n1\",gpu=\"2\",gpuuuid=\"\"} 0.000000\n",
	"ceems_gpu_power_watts{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 301.500\n",
	"ceems_gpu_utilization_ratio{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 0.970000\n",
	"ceems_gpu_memory_used_bytes{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 1073741824\n",
	"ceems_gpu_memory_total_bytes{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 85899345920\n",
	"ceems_gpu_processes{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 0\n",
	"ceems_gpu_sm_clock_hertz{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 1980000000\n",
	"ceems_gpu_throttled_heat_ratio{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 1.000000\n",
	"ceems_gpu_ecc_uncorrected_errors_total{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 3\n",
	"ceems_gpu_sm_active_ratio{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 0.400000\n",
	"ceems_gpu_nvlink_transmit_bytes_per_second{hostname=\"n1\",gpu=\"1\",gpuuuid=\"GPU-1\"} 1048576\n",
	"ceems_compute_unit_gpu_index_flag{hostname=\"n1\",manager=\"slurm\",uuid=\"7\","
	"index=\"1\",hindex=\"n1/gpu-1\",gpuuuid=\"GPU-1\",gpuiid=\"\"} 0.250000\n",
	"ceems_compute_unit_gpu_share_ratio{hostname=\"n1\",manager=\"slurm\",uuid=\"7\","
	"index=\"1\",hindex=\"n1/gpu-1\",gpuuuid=\"GPU-1\",gpuiid=\"\"} 0.250000\n",
	"uuid=\"7\",index=\"2\",hindex=\"n1/gpu-2\",gpuuuid=\"\",gpuiid=\"0\"} 1.000000\n",
	"uuid=\"7\",index=\"2\",hindex=\"n1/gpu-2\",gpuuuid=\"\",gpuiid=\"14\"} 1.000000\n",
	"uuid=\"7\",index=\"2\",hindex=\"n1/gpu-2\",gpuuuid=\"\",gpuiid=\"\"} 0.500000\n",
};

static const char *const expected_of_counters[] = {
	"domain=\"cpu\",source=\"rapl\",quality=\"counter\",method=\"counters\"",
	"domain=\"gpu\",source=\"nvml\",quality=\"counter\",method=\"allocation\"",
};

static const char *const absent_of_gpus[] = {
	"ceems_gpu_power_watts{hostname=\"n1\",gpu=\"0\"", /* unknown is no 0 */
	"ceems_gpu_utilization_ratio{hostname=\"n1\",gpu=\"0\"",
	"ceems_gpu_memory_used_bytes{hostname=\"n1\",gpu=\"0\"",
	"ceems_gpu_processes{hostname=\"n1\",gpu=\"0\"",
	"ceems_gpu_throttled_power_ratio",
	"uuid=\"7\",index=\"0\"", /* the job does not hold it */
	"uuid=\"9\",index=",	  /* a job that is over */
};

static void test_gpus(void)
{
	const struct textfile_input in = { .gpu = gpus, .ngpus = ARRAY_SIZE(gpus) };
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	size_t i;

	page.part[2] = (struct ledger_part){
		.domain = DOMAIN_GPU, .unit = 1, .source = SOURCE_NVML, .energy_uj = 7000003
	};
	page.part[3] = (struct ledger_part){ .domain = DOMAIN_GPU, .unit = 2, .source = SOURCE_NVML };
	page.nparts = 4;
	page.job[0].gpu_ppm[1] = 250000;
	page.job[0].gpu_ppm[2] = 500000;
	page.job[0].gpu_instances[2] = 1u << 0 | 1u << 14;
	page.job[2].gpu_ppm[0] = 1000000;
	ok(textfile_format("n1", &page, &in, &text, &len, NULL) == 0, "a node with GPUs");
	if (!text)
		return;
	for (i = 0; i < ARRAY_SIZE(expected_of_gpus); i++)
		ok(strstr(text, expected_of_gpus[i]) != NULL, "%.*s", (int)strcspn(expected_of_gpus[i], "\n"),
		   expected_of_gpus[i]);
	for (i = 0; i < ARRAY_SIZE(absent_of_gpus); i++)
		ok(!strstr(text, absent_of_gpus[i]), "no %s", absent_of_gpus[i]);
}

/* Of a yearly mean there is no age, and without a contract nothing of one. */
static void test_fixed_factor(void)
{
	const struct textfile_input in = { 0 };
	_cleanup_free_ char *text = NULL;
	size_t len = 0;

	page.factor = (struct emission_factor){
		.mg_per_kwh = 44180, .year = 2024, .kind = EMISSION_STATIC, .region = "FR"
	};
	page.factor_step = FACTOR_STATIC;
	page.factor_until_s = 0;
	page.market_known = 0;
	page.step[1].energy.market_ng = 0;
	ok(textfile_format("n1", &page, &in, &text, &len, NULL) == 0, "a node without a series");
	if (!text)
		return;
	ok(strstr(text, "region=\"FR\",year=\"2024\",kind=\"static\",step=\"static\"} 44.180\n") != NULL,
	   "the yearly mean");
	ok(!strstr(text, "ceems_emission_factor_age_seconds"), "has no age");
	ok(!strstr(text, "market"), "no contract, no values of one");
	ok(!strstr(text, "marginal"), "no marginal factor");
}

static void test_method(void)
{
	const struct textfile_input in = { 0 };
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	size_t i;

	page.domain_source[DOMAIN_GPU] = SOURCE_NVML;
	page.measured.static_uj[DOMAIN_CPU] = 4000000;
	page.measured.by_counters_uj = 4000001;
	ok(textfile_format("n1", &page, &in, &text, &len, NULL) == 0, "a node with counters");
	for (i = 0; text && i < ARRAY_SIZE(expected_of_counters); i++)
		ok(strstr(text, expected_of_counters[i]) != NULL, "%s", expected_of_counters[i]);
	free(text);
	text = NULL;
	page.measured.by_activity_uj = (page.measured.total_uj[DOMAIN_GPU] + 1) / 2 + 1;
	ok(textfile_format("n1", &page, &in, &text, &len, NULL) == 0 &&
		   strstr(text, "domain=\"gpu\",source=\"nvml\",quality=\"counter\",method=\"activity\""),
	   "and with MIG instances whose activity is known");
}

static void test_lost(void)
{
	const struct nodeprobes_lost lost = { .lost = { [PROBES_TCP] = 3 },
					      .skipped = { [PROBES_IO] = 941 } };
	struct textfile_input in = { .lost = &lost };
	_cleanup_free_ char *text = NULL, *without = NULL;
	size_t len = 0;

	ok(textfile_format("n1", &page, &in, &text, &len, NULL) == 0, "a node with BPF programs");
	in.lost = NULL;
	ok(textfile_format("n1", &page, &in, &without, &len, NULL) == 0, "one without");
	if (!text || !without)
		return;
	ok(strstr(text, "ceems_bpf_lost_events_total{hostname=\"n1\",group=\"tcp\"} 3\n") != NULL, "lost");
	ok(strstr(text, "ceems_bpf_skipped_events_total{hostname=\"n1\",group=\"io\"} 941\n") != NULL,
	   "skipped");
	ok(strstr(text, "ceems_bpf_skipped_events_total{hostname=\"n1\",group=\"tasks\"} 0\n") != NULL,
	   "none");
	ok(!strstr(without, "ceems_bpf_"), "no programs, no counts");
}

/* TextfileJobs=no, and the default of TextfileRapl. */
static void test_left_out(void)
{
	const struct textfile_input in = { .gpu = gpus,
					   .ngpus = ARRAY_SIZE(gpus),
					   .zone = zones,
					   .nzones = ARRAY_SIZE(zones),
					   .no_jobs = true };
	_cleanup_free_ char *text = NULL;
	size_t len = 0;

	ok(textfile_format("n1", &page, &in, &text, &len, NULL) == 0, "without jobs");
	if (!text)
		return;
	ok(!strstr(text, "ceems_compute_unit") && !strstr(text, "uuid=\"7\""), "no series tells of a job");
	ok(strstr(text, "ceems_node_energy_joules_total{") != NULL, "the node's are there");
	ok(!strstr(text, "ceems_rapl_"), "no counter of RAPL, as nobody asked for them");
}

/* Of a slurmd that has ended nothing is left that would freeze. */
static void test_end(void)
{
	const struct textfile_input in = { .gpu = gpus,
					   .ngpus = ARRAY_SIZE(gpus),
					   .zone = zones,
					   .nzones = ARRAY_SIZE(zones),
					   .has_ended = true };
	_cleanup_free_ char *text = NULL;
	size_t len = 0;

	ok(textfile_format("n1", &page, &in, &text, &len, NULL) == 0, "the end");
	if (!text)
		return;
	ok(strstr(text, "ceems_sampler_running{hostname=\"n1\"} 0\n") != NULL, "the sampler does not run");
	ok(strstr(text, "ceems_ledger_last_tick_timestamp_seconds{") != NULL, "the time of its last tick");
	ok(!strstr(text, "joules_total") && !strstr(text, "ceems_compute_unit") && !strstr(text, "_watts"),
	   "no job and no sensor is in it");
}

static void test_promtool(void)
{
	static const struct nodeprobes_lost lost;
	const struct textfile_input in = { .gpu = gpus,
					   .ngpus = ARRAY_SIZE(gpus),
					   .zone = zones,
					   .nzones = ARRAY_SIZE(zones),
					   .lost = &lost,
					   .has_rapl = true };
	_cleanup_free_ char *text = NULL;
	unsigned int m;
	FILE *p;
	size_t len = 0;

	if (access("/usr/bin/promtool", X_OK) < 0) {
		skip(1, "promtool is not installed (Debian: prometheus)");
		return;
	}
	metric_foreach(m)
		values_set(&page.job[2].values, (enum metric)m, 1);
	if (textfile_format("n1", &page, &in, &text, &len, NULL) < 0)
		return;
	p = popen("/usr/bin/promtool check metrics >&2", "w");
	if (p)
		fwrite(text, 1, len, p);
	is_int(p ? pclose(p) : -1, 0, "promtool check metrics");
}

static void test_bad(void)
{
	const struct textfile_input in = { 0 };
	_cleanup_free_ char *text = NULL;
	struct errmsg err = { 0 };
	size_t len;

	page.njobs = LEDGER_JOBS + 1;
	is_int(textfile_format("n1", &page, &in, &text, &len, &err), -EINVAL, "a page that says nonsense");
	page.njobs = 3;
}

int main(void)
{
	set_gpus();
	fill_page();
	test_bad();
	test_format();
	test_fixed_factor();
	test_gpus();
	test_method();
	test_lost();
	test_left_out();
	test_end();
	test_promtool();
	return done_testing();
}
