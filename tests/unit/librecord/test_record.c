/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as JSON and back: values, borders of decimals, what is unknown, ratios, and texts that are not a
 * record. With an argument it prints sample records instead, for test_record_schema.
 */
#include "src/librecord/record.h"

#include <errno.h>
#include <stdlib.h>

#include "src/libutil/util.h"

#include "tap.h"

#define MINIMAL "\"schema\":\"ceems.job.v1\",\"cluster\":\"c\",\"jobid\":1,\"restart_count\":0"

static const struct {
	const char *what;
	const char *json;
	const char *named; /* what the error must name */
} broken[] = {
	{ "nothing", "", "" },
	{ "not an object", "[1,2]", "schema" },
	{ "cut in the middle", "{" MINIMAL ",\"state\":\"COMP", "COMP" },
	{ "bytes behind the end", "{" MINIMAL "} x", "end of file" },
	{ "a member twice", "{" MINIMAL ",\"jobid\":2}", "duplicate" },
	{ "no schema", "{\"cluster\":\"c\",\"jobid\":1}", "schema" },
	{ "another schema", "{\"schema\":\"ceems.job.v2\"}", "schema" },
	{ "no cluster", "{\"schema\":\"ceems.job.v1\",\"jobid\":1}", "cluster" },
	{ "no job", "{\"schema\":\"ceems.job.v1\",\"cluster\":\"c\"}", "jobid" },
	{ "a negative job", "{\"schema\":\"ceems.job.v1\",\"cluster\":\"c\",\"jobid\":-1}", "jobid" },
	{ "a job above 32 bits", "{\"schema\":\"ceems.job.v1\",\"cluster\":\"c\",\"jobid\":4294967296}",
	  "jobid" },
	{ "text where a number is due", "{" MINIMAL ",\"total_cpus\":\"4\"}", "total_cpus" },
	{ "a number where text is due", "{" MINIMAL ",\"state\":3}", "state" },
	{ "a time without zone", "{" MINIMAL ",\"@end\":\"2026-01-31T12:00:00\"}", "@end" },
	{ "a time before 1970", "{" MINIMAL ",\"@end\":\"1960-01-31T12:00:00Z\"}", "@end" },
	{ "an exit code of one part", "{" MINIMAL ",\"exit_code\":\"7\"}", "exit_code" },
	{ "energy that is no object", "{" MINIMAL ",\"energy\":7}", "energy" },
	{ "negative joules", "{" MINIMAL ",\"energy\":{\"total_j\":-1}}", "total_j" },
	{ "joules above 64 bits", "{" MINIMAL ",\"energy\":{\"by_domain\":{\"cpu_j\":9000000000000000000}}}",
	  "cpu_j" },
	{ "real joules above 64 bits", "{" MINIMAL ",\"energy\":{\"by_domain\":{\"cpu_j\":1e300}}}",
	  "cpu_j" },
	{ "final that is no boolean", "{" MINIMAL ",\"energy\":{\"final\":1}}", "final" },
	{ "a negative contract", "{" MINIMAL ",\"emissions\":{\"market_factor_g_per_kwh\":-1}}",
	  "market_factor" },
	{ "steps that are no array", "{" MINIMAL ",\"steps\":{}}", "steps" },
	{ "a step that is no object", "{" MINIMAL ",\"steps\":[7]}", "steps" },
	{ "spread over nodes that is no object",
	  "{" MINIMAL ",\"steps\":[{\"load_imbalance\":{\"energy\":3}}]}", "energy" },
	{ "a negative maximum", "{" MINIMAL ",\"steps\":[{\"load_imbalance\":{\"energy\":{\"max_j\":-1}}}]}",
	  "max_j" },
	{ "a step with a bad value", "{" MINIMAL ",\"steps\":[{\"usage\":{\"io\":[]}}]}", "io" },
};

static void test_broken(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(broken); i++) {
		struct record *r = NULL;
		struct errmsg err = { 0 };
		int rc = record_from_json(broken[i].json, strlen(broken[i].json), &r, &err);

		ok(rc == -EINVAL && !r && strstr(err.text, broken[i].named), "refused: %s: %s",
		   broken[i].what, err.text);
	}
}

/* Of a version after this one. */
static void test_later(void)
{
	static const char json[] =
		"{" MINIMAL ",\"emissions\":{\"kind\":\"hourly\",\"scope\":\"upstream\",\"year\":2031}}";
	struct record *r = NULL;
	struct errmsg err = { 0 };

	is_int(record_from_json(json, strlen(json), &r, &err), 0, "a kind of factor to come");
	ok(r && !*r->emissions.kind && !*r->emissions.scope, "is unknown, as is its scope");
	ok(r && r->emissions.year == 2031, "the rest is there");
	record_destroy(r);
}

static struct record *smallest(void)
{
	struct record *r = record_create();

	r->cluster = strdup("hpc");
	r->job_id = 7;
	return r;
}

static void fill_values(struct values *f, uint64_t seed)
{
	unsigned int m;

	values_init(f);
	metric_foreach(m)
		values_set(f, (enum metric)m, seed + m * UINT64_C(123456789));
}

static struct record *full(void)
{
	struct record *r = smallest();

	r->restart_count = 2;
	r->db_index = (struct maybe_u64){ 4711, true };
	r->array_job_id = (struct maybe_u64){ 5, true };
	r->array_task_id = (struct maybe_u64){ 0, true };
	r->het_job_id = (struct maybe_u64){ 6, true };
	r->het_job_offset = (struct maybe_u64){ 1, true };
	r->job_name = strdup("a \"name\"\n\x01 with \\ and \xc3\xa9");
	r->user_name = strdup("alice");
	r->group_name = strdup("users");
	r->account = strdup("physics");
	r->partition = strdup("main");
	r->qos = strdup("normal");
	r->wckey = strdup("w");
	r->user_id = 1000;
	r->group_id = 100;
	r->state = strdup("REQUEUED");
	r->nodes = strdup("n[1-2]");
	r->work_dir = strdup("/home/alice");
	r->reservation = strdup("res");
	r->submit_host = strdup("login");
	r->comment = strdup("c");
	r->tres_req = strdup("cpu=4");
	r->tres_alloc = strdup("cpu=4,energy=99,node=2");
	r->array_tasks = strdup("0-9,12");
	r->trace_parent = strdup("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
	r->script = strdup("#!/bin/sh\nexit \"$?\"\n");
	(void)snprintf(r->origin, sizeof(r->origin), "%s", RECORD_HISTORY);
	r->submit = 1700000000;
	r->eligible = 1700000001;
	r->start = 1700000002;
	r->end = 1700000012;
	r->time_limit_min = (struct maybe_u64){ 60, true };
	r->exit_code = 3;
	r->exit_signal = 9;
	r->derived_exit_code = 4;
	r->total_nodes = 2;
	r->total_cpus = 4;
	r->priority = (struct maybe_u64){ 4294967293, true };
	fill_values(&r->values, 1);
	r->energy = (struct record_energy){ .final = true,
					    .total_j = { 99, true },
					    .method = "cpu-time",
					    .quality = "partly-estimate",
					    .source = "rapl,model" };
	values_set(&r->values, METRIC_ENERGY, 99000000);
	r->emissions = (struct record_emissions){
		.method = CO2E_PER_TICK,
		.factor_ug_per_kwh = { 56123456, true },
		.kind = "mixed",
		.scope = "life-cycle",
		.region = "FR; FR-COR",
		.source = "a source; \"another\"",
		.year = 2024,
		.pue_milli = 1350,
		.market_ug_per_kwh = { 0, true },
		.market_source = "hydro\xff",
		.embodied_ng = { 1234567890, true },
		.embodied_source = "the vendor",
	};
	r->steps = calloc(2, sizeof(*r->steps));
	r->nsteps = 2;
	r->steps_known = true;
	r->steps[0] = (struct record_step){
		.step_id = UINT32_C(0xfffffffb),
		.name = strdup("batch"),
		.state = "FAILED",
		.nodes = strdup("n[1-2]"),
		.ntasks = 2,
		.nnodes = 2,
		.ncpus = 4,
		.start = 1700000002,
		.end = 1700000012,
		.exit_code = 3,
		.user_cpu_us = { 1500001, true },
		.system_cpu_us = { 2, true },
		.max_rss_bytes = { 4096, true },
	};
	fill_values(&r->steps[0].values, 77);
	r->steps[0].energy = (struct record_spread){ { 77, true }, "n2" };
	r->steps[0].cpu_time = (struct record_spread){ { UINT64_C(9000000000), true }, "n1" };
	r->steps[0].memory = (struct record_spread){ { 4096, true }, "n2" };
	r->steps[1].het_component = (struct maybe_u64){ 1, true };
	values_init(&r->steps[1].values);
	return r;
}

/* Writes, reads, writes again: the two texts are the same. */
static void round_trip(const struct record *r, const char *what)
{
	_cleanup_free_ char *first = NULL;
	_cleanup_free_ char *second = NULL;
	struct record *back = NULL;
	struct errmsg err = { 0 };
	size_t len = 0;

	is_int(record_to_json(r, &first, &len, &err), 0, what);
	is_u64(len, strlen(first), "length");
	ok(!strchr(first, '\n'), "one line");
	is_int(record_from_json(first, len, &back, &err), 0, err.text[0] ? err.text : "read");
	if (!back)
		return;
	is_int(record_to_json(back, &second, NULL, &err), 0, "written again");
	is_str(second, first, "round trip");
	record_destroy(back);
}

static void test_values(void)
{
	struct record *r = full();
	struct record *back = NULL;
	_cleanup_free_ char *json = NULL;
	size_t len;
	unsigned int m;
	unsigned int same = 0;

	require(record_to_json(r, &json, &len, NULL) == 0);
	require(record_from_json(json, len, &back, NULL) == 0);
	metric_foreach(m)
		same += values_has(&back->steps[0].values, (enum metric)m) &&
			back->steps[0].values.value[m] == r->steps[0].values.value[m];
	is_u64(same, METRIC_N, "every value comes back to the last unit");
	is_u64(back->steps[0].user_cpu_us.value, 1500001, "microseconds come back");
	ok(!values_has(&back->steps[1].values, METRIC_ENERGY), "unknown stays unknown");
	ok(back->energy.final && back->energy.total_j.value == 99, "the energy");
	is_str(back->energy.source, "rapl,model", "its source");
	is_str(back->energy.quality, "partly-estimate", "its quality");
	is_u64(back->emissions.factor_ug_per_kwh.value, 56123456, "the factor");
	ok(back->emissions.market_ug_per_kwh.known && !back->emissions.market_ug_per_kwh.value,
	   "a contract's factor of 0 is known");
	is_u64(back->emissions.embodied_ng.value, 1234567890, "embodied emissions");
	is_str(back->emissions.market_source, "hydro\xff", "what is not UTF-8 in a site's own text");
	is_u64(back->time_limit_min.value, 60, "minutes");
	is_str(back->job_name, r->job_name, "control bytes and quotes");
	ok(strstr(json, "\"cpu_j\":246.913579"), "joules have six digits, no noise");
	ok(strstr(json, "\"time_limit\":3600"), "the limit is seconds, as users know it");
	ok(strstr(json, "\"@end\":\"2023-11-14T22:13:32Z\""), "times are UTC with a Z");
	ok(strstr(json, "\"exit_code\":\"3:9\""), "exit code and signal");
	record_destroy(back);
	record_destroy(r);
}

/* What a decimal looks like at the borders. */
static void test_decimals(void)
{
	static const struct {
		uint64_t ng;
		const char *text;
	} rows[] = {
		{ 0, "\"co2e_g\":0," },
		{ 159000, "\"co2e_g\":0.000159," },
		{ 1000000, "\"co2e_g\":0.001," },
		{ 300000000, "\"co2e_g\":0.3," },
		{ 1000000000, "\"co2e_g\":1," },
		{ UINT64_C(999999999999999000), "\"co2e_g\":999999999.999999," },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct record *r = smallest();
		_cleanup_free_ char *json = NULL;

		values_set(&r->values, METRIC_CO2E, rows[i].ng);
		require(record_to_json(r, &json, NULL, NULL) == 0);
		ok(strstr(json, rows[i].text), "%s", rows[i].text);
		record_destroy(r);
	}
}

static void test_unknown(void)
{
	struct record *r = smallest();
	_cleanup_free_ char *json = NULL;
	struct errmsg err = { 0 };

	r->priority = (struct maybe_u64){ UINT64_MAX, true };
	r->job_name = strdup("a\xff");
	require(record_to_json(r, &json, NULL, &err) == 0);
	ok(strstr(json, "\"total_j\":null") && strstr(json, "\"steps\":null"), "unknown is null");
	ok(strstr(json, "\"market_factor_g_per_kwh\":null") && strstr(json, "\"embodied_g\":null"),
	   "also what a site did not configure");
	ok(strstr(json, "\"@start\":null") && strstr(json, "\"elapsed\":null"),
	   "a job that never started has no time");
	ok(strstr(json, "\"priority\":null"), "what no JSON reader can hold is null");
	ok(strstr(json, "\"job_name\":\"a\\\\xff\"") && strstr(json, "\"escaped\":[\"job_name\"]"),
	   "bytes that are not UTF-8 are escaped, and it says so");
	record_destroy(r);
}

static bool json_has(const struct record *r, const char *text)
{
	_cleanup_free_ char *json = NULL;

	return record_to_json(r, &json, NULL, NULL) == 0 && strstr(json, text);
}

static void test_derived(void)
{
	struct record *r = smallest();
	struct record_step *s;
	double v = 0;

	ok(json_has(r, "\"instructions_per_cycle\":null") && json_has(r, "\"cpu_efficiency\":null"),
	   "a job of which nothing is known has no ratios");
	r->steps = s = calloc(1, sizeof(*s));
	r->nsteps = 1;
	r->steps_known = true;
	values_init(&s->values);
	ok(json_has(r, "\"derived\":{}}"), "nor has a step");
	ok(json_has(r, "\"usage\":{}"), "whose unknown values take no room");

	r->start = s->start = 1700000000;
	r->end = s->end = 1700000010;
	r->total_cpus = 8;
	s->ncpus = 2;
	s->user_cpu_us = (struct maybe_u64){ 0, true };
	s->system_cpu_us = (struct maybe_u64){ 0, true };
	ok(!record_step_derived(s, DERIVED_CPU_EFFICIENCY, &v), "Slurm's 0 s are not measured");
	s->user_cpu_us.value = 12000000;
	s->system_cpu_us.value = 3000000;
	ok(json_has(r, "\"cpu_efficiency\":0.75}"), "15 s of 10 s on 2 CPUs");
	ok(record_derived(r, DERIVED_CPU_EFFICIENCY, &v) && v > 0.187 && v < 0.188,
	   "15 s of 10 s on the job's 8");
	values_set(&s->values, METRIC_CPU_TIME, UINT64_C(10000000000));
	ok(json_has(r, "\"cpu_efficiency\":0.5}"), "our own CPU time comes first");
	values_set(&r->values, METRIC_CYCLES, 3);
	values_set(&r->values, METRIC_INSTRUCTIONS, 1);
	ok(json_has(r, "\"instructions_per_cycle\":0.333333,"), "six digits");

	s->cpu_time.max = (struct maybe_u64){ UINT64_C(7500000000), true };
	s->nnodes = 1;
	ok(!record_step_imbalance(s, METRIC_CPU_TIME, &v), "one node has no imbalance");
	s->nnodes = 2;
	ok(json_has(r, "\"load_imbalance\":{\"cpu_time\":{\"imbalance\":0.5,\"max_s\":7.5}}"),
	   "7.5 of 10 s on one of two nodes");
	values_set(&s->values, METRIC_CPU_TIME, 0);
	ok(!record_step_imbalance(s, METRIC_CPU_TIME, &v), "no mean, no imbalance");
	values_set(&s->values, METRIC_ENERGY, 30000000);
	s->energy.max = (struct maybe_u64){ 15000000, true };
	(void)snprintf(s->energy.max_node, sizeof(s->energy.max_node), "n7");
	ok(json_has(r, "\"energy\":{\"imbalance\":0.0,\"max_j\":15,\"max_node\":\"n7\"}"), "two nodes alike");
	s->memory.max = (struct maybe_u64){ 4096, true };
	(void)snprintf(s->memory.max_node, sizeof(s->memory.max_node), "n8");
	ok(json_has(r, "\"memory\":{\"max_bytes\":4096,\"max_node\":\"n8\"}"),
	   "and the one with the most memory");
	s->nnodes = 1;
	ok(!json_has(r, "\"load_imbalance\""), "of one node nothing of it");
	record_destroy(r);
}

/* Its values as large as they get in a step of an hour on a node. */
static void fill_step(struct record_step *s, bool all)
{
	static const enum metric on_request[] = {
		METRIC_HOME_READ_BYTES,	    METRIC_HOME_WRITE_BYTES,
		METRIC_PROJECT_READ_BYTES,  METRIC_PROJECT_WRITE_BYTES,
		METRIC_SCRATCH_READ_BYTES,  METRIC_SCRATCH_WRITE_BYTES,
		METRIC_IO_READ_ERRORS,	    METRIC_IO_WRITE_ERRORS,
		METRIC_LOCAL_READ_BYTES,    METRIC_LOCAL_WRITE_BYTES,
		METRIC_UDP_RECEIVED_BYTES,  METRIC_UDP_SENT_BYTES,
		METRIC_RECEIVED_PACKETS,    METRIC_SENT_PACKETS,
		METRIC_IP_RECEIVED_BYTES,   METRIC_IP_SENT_BYTES,
		METRIC_IPV6_RECEIVED_BYTES, METRIC_IPV6_SENT_BYTES,
		METRIC_RDMA_RECEIVED_BYTES, METRIC_RDMA_SENT_BYTES,
		METRIC_TASK_CLOCK,	    METRIC_CYCLES,
		METRIC_INSTRUCTIONS,	    METRIC_CACHE_REFERENCES,
		METRIC_CACHE_MISSES,	    METRIC_BRANCHES,
		METRIC_BRANCH_MISSES,	    METRIC_FP_OPERATIONS,
		METRIC_MEMORY_BYTES,	    METRIC_PMU_ENABLED,
		METRIC_PMU_RUNNING,
	};
	unsigned int m;
	size_t i;

	*s = (struct record_step){ .step_id = 123,
				   .name = strdup("solver"),
				   .state = "COMPLETED",
				   .nodes = strdup("node[0001-0002]"),
				   .ntasks = 256,
				   .nnodes = 2,
				   .ncpus = 256,
				   .start = 1700000002,
				   .end = 1700003602,
				   .user_cpu_us = { 800000000000, true },
				   .system_cpu_us = { 1234567890, true },
				   .max_rss_bytes = { UINT64_C(34359738368), true },
				   .cpu_time = { { UINT64_C(460800000001000), true }, "node0001" },
				   .energy = { { UINT64_C(7200000000000), true }, "node0002" } };
	values_init(&s->values);
	metric_foreach(m)
		values_set(&s->values, (enum metric)m, UINT64_C(1234567890123));
	for (m = METRIC_SOURCE_RAPL + 1; m <= METRIC_SOURCE_MODEL; m++)
		values_miss(&s->values, (enum metric)m, REASON_NO_SENSOR);
	for (i = 0; !all && i < ARRAY_SIZE(on_request); i++)
		values_miss(&s->values, on_request[i], REASON_NOT_ASKED);
}

/* Kafka takes messages of 1 MB unless told otherwise. */
/* Elapsed, hours and ratios of a job that was suspended are those of one that was not. */
static void test_suspended(void)
{
	struct record *r = smallest();
	struct record *again = NULL;
	_cleanup_free_ char *json = NULL;
	struct errmsg err = { 0 };
	uint64_t s = 0;
	size_t len;

	r->steps = calloc(1, sizeof(*r->steps));
	r->nsteps = 1;
	r->steps_known = true;
	values_init(&r->steps[0].values);
	r->start = r->steps[0].start = 1700000000;
	r->end = r->steps[0].end = 1700000120;
	r->total_cpus = r->steps[0].ncpus = 3;
	r->suspended_s = r->steps[0].suspended_s = (struct maybe_u64){ 20, true };
	values_set(&r->values, METRIC_CPU_TIME, UINT64_C(150000000000));
	values_set(&r->steps[0].values, METRIC_CPU_TIME, UINT64_C(75000000000));
	is_int(record_to_json(r, &json, &len, &err), 0, "a job that was suspended for 20 of 120 s");
	ok(json && strstr(json, "\"elapsed\":100,\"cpu_hours\":0.083333,"), "ran for 100 s");
	ok(json && strstr(json, "\"cpu_efficiency\":0.5"), "  and used half of that time");
	ok(json && strstr(json, "\"cpu_efficiency\":0.25"), "  its step a quarter");
	is_int(record_from_json(json, len, &again, &err), 0, "it is read");
	is_u64(again->suspended_s.value, 20, "  with the time it was suspended");
	is_u64(again->steps[0].suspended_s.value, 20, "  its step, too");
	ok(record_run_s(again, 0, &s) && s == 100, "  and so runs 100 s");
	again->end = 0;
	ok(!record_run_s(again, 0, &s), "a job that has not ended has no run time");
	ok(record_run_s(again, again->start + 70, &s) && s == 50, "  but up to now");
	ok(record_run_s(again, again->start + 10, &s) && s == 0, "  and never less than none");
	record_destroy(again);
	record_destroy(r);
}

static void test_size(void)
{
	struct record *r = smallest();
	_cleanup_free_ char *json = NULL;
	size_t len = 0;
	size_t all;
	size_t i;

	r->steps_known = true;
	r->nsteps = 100;
	r->steps = calloc(r->nsteps, sizeof(*r->steps));
	for (i = 0; i < r->nsteps; i++)
		values_init(&r->steps[i].values);
	require(record_to_json(r, &json, &len, NULL) == 0);
	diag("a step of which nothing is known takes %zu bytes", len / r->nsteps);
	free(TAKE_PTR(json));
	for (i = 0; i < r->nsteps; i++)
		fill_step(&r->steps[i], false);
	require(record_to_json(r, &json, &len, NULL) == 0);
	free(TAKE_PTR(json));
	for (i = 0; i < r->nsteps; i++) {
		free(r->steps[i].name);
		free(r->steps[i].nodes);
		fill_step(&r->steps[i], true);
	}
	require(record_to_json(r, &json, &all, NULL) == 0);
	diag("with what is always counted %zu, with all that can be asked for %zu", len / 100, all / 100);
	record_destroy(r);
}

static void test_key(void)
{
	struct record *r = record_create();
	char key[RECORD_KEY_MAX];
	char small[8];

	is_int(record_key(r, key, sizeof(key)), -EINVAL, "no key without cluster");
	r->cluster = strdup("my cluster\n");
	is_int(record_key(r, key, sizeof(key)), -EINVAL, "no key without job");
	r->job_id = 12;
	r->submit = 1700000000;
	r->restart_count = 1;
	is_int(record_key(r, small, sizeof(small)), -ENOSPC, "a key that does not fit");
	is_int(record_key(r, key, sizeof(key)), 0, "a key");
	is_str(key, "my?cluster?/12,1700000000,1/0", "no blanks or control bytes in it");
	r->sluid = strdup("sEKNKTV3WPV500");
	r->het_job_offset = (struct maybe_u64){ 3, true };
	is_int(record_key(r, key, sizeof(key)), 0, "a key with offset");
	is_str(key, "my?cluster?/12,1700000000,1/3", "a SLUID is not in it");
	record_destroy(r);
}

static void print_samples(void)
{
	struct record *r[] = { full(), smallest() };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(r); i++) {
		_cleanup_free_ char *json = NULL;
		_cleanup_free_ char *start = NULL;

		if (record_to_json(r[i], &json, NULL, NULL) == 0)
			puts(json);
		if (record_start_to_json(r[i], &start, NULL, NULL) == 0)
			puts(start);
		record_destroy(r[i]);
	}
}

static void test_exit_status(void)
{
	static const struct {
		const char *name;
		uint32_t status;
		int32_t code, signal;
	} t[] = {
		{ "not known: no signal 126", RECORD_STATUS_UNKNOWN, 0, 0 },
		{ "Slurm's own 1: no signal 1", 1, 1, 0 },
		{ "exit 0", 0, 0, 0 },
		{ "exit 3", 3 << 8, 3, 0 },
		{ "SIGKILL", 9, 0, 9 },
		{ "SIGSEGV with a core", 11 | 0x80, 0, 11 },
	};
	int32_t code, sig;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		record_exit_status(t[i].status, &code, &sig);
		ok(code == t[i].code && sig == t[i].signal, "status: %s: %d:%d", t[i].name, (int)code,
		   (int)sig);
	}
}

static void test_tasks(void)
{
	static const struct {
		const char *text, *want;
	} t[] = {
		{ "0x1C", "2-4" }, { "0x23e", "1-5,9" }, { "0x1", "0" },     { "0x80000001", "0,31" },
		{ "0x0", "" },	   { "1-5,9", "1-5,9" }, { "0xzz", "0xzz" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_free_ char *got = record_array_tasks(t[i].text);

		is_str(got, t[i].want, t[i].text);
	}
}

static void test_tres(void)
{
	static const char all[] = "cpu=8,mem=4.50G,node=1,gres/gpu=2,gres/gpu:h100=2,license/x=";
	static const struct {
		const char *tres, *name;
		uint64_t want; /* 0: it is not there */
	} rows[] = {
		{ NULL, "cpu", 0 },
		{ "", "cpu", 0 },
		{ "=8", "cpu", 0 },
		{ all, "gres", 0 },
		{ all, "gpu", 0 },
		{ all, "license/x", 0 },
		{ "mem=x", "mem", 0 },
		{ "mem=M", "mem", 0 },
		{ "mem=-1M", "mem", 0 },
		{ "mem=99999999999999999999M", "mem", 0 },
		{ "mem=99999999P", "mem", 0 },
		{ all, "cpu", 8 },
		{ all, "gres/gpu", 2 },
		{ all, "gres/gpu:h100", 2 },
		{ all, "mem", UINT64_C(9) << 29 },
		{ "mem=200M", "mem", UINT64_C(200) << 20 },
		{ "cpu=1,mem=200", "mem", UINT64_C(200) << 20 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t n = 0;

		is_int(record_tres(rows[i].tres, rows[i].name, &n), rows[i].want != 0, rows[i].name);
		is_u64(n, rows[i].want, "  so much");
	}
}

int main(int argc, char **argv)
{
	struct record *r;

	(void)argv;
	if (argc > 1) {
		print_samples();
		return 0;
	}
	test_broken();
	test_later();
	test_key();
	test_unknown();
	test_derived();
	test_suspended();
	test_size();
	test_decimals();
	test_exit_status();
	r = smallest();
	round_trip(r, "the smallest record");
	record_destroy(r);
	r = full();
	round_trip(r, "a full record");
	record_destroy(r);
	test_values();
	record_destroy(NULL);
	test_tasks();
	test_tres();
	return done_testing();
}
