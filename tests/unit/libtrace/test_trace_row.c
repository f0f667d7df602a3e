/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of a step as rows of CSV: which columns there are, sums, rates, and what is unknown. */
#include "src/libtrace/trace_row.h"

#include <stdlib.h>

#include "src/libcore/perf_request.h"
#include "src/libutil/clock.h"
#include "tap.h"

static char line[TRACE_ROW_MAX];

static struct trace_start start_of(uint32_t groups, bool has_gpus)
{
	struct trace_start s = {
		.node = "n1",
		.mono_ns = 100 * NSEC_PER_SEC,
		.wall_ns = UINT64_C(1700000000) * NSEC_PER_SEC + 250 * NSEC_PER_MSEC,
		.groups = groups,
		.has_gpus = has_gpus,
	};

	return s;
}

static struct trace_sample sample_at(uint64_t ms)
{
	struct trace_sample s = {
		.mono_ns = 100 * NSEC_PER_SEC + ms * NSEC_PER_MSEC,
		.wall_ns = UINT64_C(1700000000) * NSEC_PER_SEC + (250 + ms) * NSEC_PER_MSEC,
		.held_bytes = TRACE_UNKNOWN,
		.cache_bytes = TRACE_UNKNOWN,
	};

	values_init(&s.values);
	return s;
}

/*
 * The field of LINE below the column NAME of HEADER: no field of these tests has a
 * comma in it. NULL: no column.
 */
static const char *field(const char *header, const char *name, char *buf, size_t size)
{
	const char *h = header, *l = line;

	for (;;) {
		size_t nh = strcspn(h, ",\r"), nl = strcspn(l, ",\r");

		if (nh == strlen(name) && !strncmp(h, name, nh)) {
			(void)snprintf(buf, size, "%.*s", (int)nl, l);
			return buf;
		}
		if (h[nh] != ',')
			return NULL;
		h += nh + 1;
		l += nl + 1;
	}
}

static unsigned int count_commas(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == ',';
	return n;
}

static void test_columns(void)
{
	struct trace_start start = start_of(0, false);
	struct trace_row r;
	char name[TRACE_COLUMN_MAX], buf[64];

	trace_row_init(&r, &start);
	(void)trace_row_header(&r, line);
	ok(strstr(line, "node,time_utc,monotonic_s,event,dropped_samples,missed_samples,working_set_bytes,"
			"page_cache_bytes,energy_j,"
			"power_w,co2e_g,") == line,
	   "the first columns");
	ok(strlen(line) > 2 && !strcmp(line + strlen(line) - 2, "\r\n"), "a line ends as RFC 4180 has it");
	ok(!strstr(line, "cycles"), "no counters that nobody asked for");
	ok(!strstr(line, "gpu_busy"), "no GPU that the step does not have");
	ok(!strstr(line, "source_rapl") && !strstr(line, "energy_nodes") && !strstr(line, "sensor_lag"),
	   "not how it was measured");
	start = start_of(PERF_GROUP_HW | PERF_GROUP_IO | PERF_GROUP_NET, true);
	trace_row_init(&r, &start);
	(void)trace_row_header(&r, line);
	ok(strstr(line, ",cycles,cycles_per_s,") && strstr(line, ",gpu_busy_s,gpu_busy_s_per_s,") &&
		   strstr(line, ",home_read_bytes,") && strstr(line, ",received_packets,"),
	   "what was asked for");
	ok(strlen(line) < TRACE_ROW_MAX - 1, "all columns fit");
	trace_row_column(METRIC_CPU_ENERGY_STATIC, name);
	is_str(name, "cpu_energy_static_j", "energy in joules");
	trace_row_rate(METRIC_CPU_ENERGY_STATIC, name);
	is_str(name, "cpu_power_static_w", "and its rate in watts");
	trace_row_rate(METRIC_MEMORY_PEAK, name);
	is_str(name, "", "a peak has no rate");
	ok(!field(line, "no_such_column", buf, sizeof(buf)), "(the test finds no column that is not there)");
}

static void is_field(const char *header, const char *name, const char *want)
{
	char buf[64], what[128];

	(void)snprintf(what, sizeof(what), "  %s is '%s'", name, want);
	is_str(field(header, name, buf, sizeof(buf)), want, what);
}

static void test_rows(void)
{
	const struct trace_start start = start_of(0, false);
	struct trace_sample s = sample_at(500);
	char *header = malloc(TRACE_ROW_MAX);
	struct trace_row r;
	size_t len;

	if (!header)
		exit(99);
	trace_row_init(&r, &start);
	(void)trace_row_header(&r, header);
	s.held_bytes = 4096;
	values_set(&s.values, METRIC_ENERGY, 1500000);
	values_set(&s.values, METRIC_CPU_TIME, 250000000);
	len = trace_row_begin(&r, &s, line);
	is_u64(len, strlen(line), "the beginning");
	is_u64(count_commas(line), count_commas(header), "  has all columns");
	is_field(header, "event", "start");
	is_field(header, "time_utc", "2023-11-14T22:13:20.250000Z");
	is_field(header, "monotonic_s", "100.000000000");
	is_field(header, "energy_j", "0");
	is_field(header, "cpu_energy_j", "");
	is_field(header, "cpu_time_s", "");
	is_field(header, "working_set_bytes", "");
	len = trace_row_put(&r, &s, "", line);
	is_u64(len, strlen(line), "the first sample");
	is_u64(count_commas(line), count_commas(header), "  has all columns");
	is_field(header, "node", "n1");
	is_field(header, "time_utc", "2023-11-14T22:13:20.750000Z");
	is_field(header, "monotonic_s", "100.500000000");
	is_field(header, "event", "");
	is_field(header, "energy_j", "1.5");
	is_field(header, "power_w", "3");
	is_field(header, "cpu_time_s", "0.25");
	is_field(header, "cpu_time_s_per_s", "");
	is_field(header, "working_set_bytes", "4096");
	is_field(header, "page_cache_bytes", "");
	s = sample_at(600);
	s.dropped = 3;
	s.missed = 7;
	values_set(&s.values, METRIC_CPU_TIME, 300000000);
	(void)trace_row_put(&r, &s, "", line);
	diag("a sample without energy");
	is_field(header, "dropped_samples", "3");
	is_field(header, "missed_samples", "7");
	is_field(header, "energy_j", "");
	is_field(header, "power_w", "");
	is_field(header, "cpu_time_s_per_s", "0.5");
	s = sample_at(1000);
	values_set(&s.values, METRIC_ENERGY, 1500001);
	values_set(&s.values, METRIC_CPU_TIME, 290000000);
	values_set(&s.values, METRIC_MEMORY_PEAK, 8192);
	(void)trace_row_put(&r, &s, TRACE_EVENT_END, line);
	diag("the end");
	is_field(header, "event", "end");
	is_field(header, "energy_j", "1.500001");
	is_field(header, "power_w", "0.000002");
	is_field(header, "cpu_time_s", "0.29");
	is_field(header, "cpu_time_s_per_s", "");
	is_field(header, "memory_peak_bytes", "8192");
	free(header);
}

/* The largest numbers there are. */
static void test_bounds(void)
{
	struct trace_start start = start_of(UINT32_MAX, true);
	struct trace_sample s = sample_at(0);
	struct trace_row r;
	unsigned int m;

	memset(start.node, '"', sizeof(start.node) - 1);
	trace_row_init(&r, &start);
	(void)trace_row_begin(&r, &s, line);
	s.mono_ns = s.wall_ns = s.held_bytes = UINT64_MAX - 1;
	metric_foreach(m)
		values_set(&s.values, (enum metric)m, UINT64_MAX - 1);
	ok(trace_row_put(&r, &s, TRACE_EVENT_LIMIT, line) < TRACE_ROW_MAX / 2, "the longest row fits twice");
	ok(!strncmp(line, "\"\"\"\"\"", 5), "a quote in a field is two of them");
}

int main(void)
{
	test_columns();
	test_rows();
	test_bounds();
	return done_testing();
}
