/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job's page and CSV. With an argument, the page: for tests/cmd. */
#include "src/cmd/report/job_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/libledger/ledger.h"
#include "src/libutil/util.h"

#include "tap.h"

#define T UINT64_C(1764000000) /* 24 Nov 2025 16:00:00 UTC */
#define J UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define GIB (UINT64_C(1) << 30)
#define EVIL "<img src=x onerror=alert(1)>\"'&\x1b[2J\xe2\x80\xae"
#define TRACE_ROWS 240

static struct record_step step[4];

static void make_steps(bool is_evil)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(step); i++) {
		struct record_step *s = &step[i];

		*s = (struct record_step){ .step_id = i == 3 ? LEDGER_STEP_EXTERN :
						      i == 2 ? LEDGER_STEP_BATCH :
							       (uint32_t)i,
					   .name = is_evil ? (char *)EVIL :
							     (char *)(i ? "postprocess" : "solver"),
					   .state = "COMPLETED",
					   .nodes = (char *)"n[1-2]",
					   .nnodes = 2,
					   .ncpus = 64,
					   .start = T + 600 * i,
					   .end = T + 7200 };
		values_init(&s->values);
		values_set(&s->values, METRIC_ENERGY, (3 - i) * 300000 * J);
		values_set(&s->values, METRIC_CPU_TIME, (3 - i) * 30000 * S);
		values_set(&s->values, METRIC_CO2E, (3 - i) * UINT64_C(4788000000));
	}
	step[3].start = T;
	values_set(&step[3].values, METRIC_ENERGY, 1800000 * J);
	values_set(&step[3].values, METRIC_CPU_TIME, 180000 * S);
	values_set(&step[3].values, METRIC_CO2E, 28730000000);
}

static struct record job(bool is_evil)
{
	struct record r = {
		.cluster = (char *)"alps",
		.job_id = 482117,
		.job_name = is_evil ? (char *)EVIL : (char *)"ocean-model",
		.user_name = (char *)"ann",
		.account = is_evil ? (char *)EVIL : (char *)"climate",
		.partition = (char *)"cpu",
		.nodes = (char *)"n[1-2]",
		.state = (char *)"COMPLETED",
		.tres_alloc = (char *)"cpu=64,mem=256G,node=2",
		.submit = T - 300,
		.eligible = T - 300,
		.start = T,
		.end = T + 7200,
		.time_limit_min = { 720, true },
		.total_nodes = 2,
		.total_cpus = 64,
		.energy = { .final = true,
			    .total_j = { 1800000, true },
			    .quality = "measured",
			    .source = "rapl" },
		.emissions = { .method = CO2E_PER_TICK,
			       .factor_ug_per_kwh = { 44200000, true },
			       .kind = "static",
			       .scope = "life-cycle",
			       .region = "FR",
			       .year = 2024,
			       .pue_milli = 1300 },
		.steps = step,
		.nsteps = ARRAY_SIZE(step),
		.steps_known = true,
	};

	make_steps(is_evil);
	(void)snprintf(r.emissions.source, sizeof(r.emissions.source), "%s",
		       is_evil ? EVIL : "Ember (CC BY 4.0)");
	values_init(&r.values);
	values_set(&r.values, METRIC_ENERGY, 1800000 * J);
	values_set(&r.values, METRIC_CPU_ENERGY, 1500000 * J);
	values_set(&r.values, METRIC_CPU_ENERGY_STATIC, 700000 * J);
	values_set(&r.values, METRIC_DRAM_ENERGY, 300000 * J);
	values_set(&r.values, METRIC_DRAM_ENERGY_STATIC, 200000 * J);
	values_set(&r.values, METRIC_SOURCE_RAPL, 1800000 * J);
	values_set(&r.values, METRIC_CO2E, 28730000000);
	values_set(&r.values, METRIC_CPU_CO2E, 23941000000);
	values_set(&r.values, METRIC_DRAM_CO2E, 4789000000);
	values_set(&r.values, METRIC_STATIC_FACTOR, 1800000 * J);
	values_set(&r.values, METRIC_CPU_TIME, 180000 * S);
	values_set(&r.values, METRIC_MEMORY_PEAK, 21 * GIB);
	values_set(&r.values, METRIC_MEMORY_ALLOCATED, 128 * GIB);
	values_set(&r.values, METRIC_IO_READ_BYTES, 30 * GIB / 2);
	values_set(&r.values, METRIC_IO_WRITE_BYTES, 120 * GIB);
	return r;
}

static char *page(const struct record *r, const struct advice_site *site, bool has_trace)
{
	static double watts[TRACE_ROWS];
	struct trace_column column = { .name = "power_w", .kind = TRACE_RATE, .metric = METRIC_ENERGY };
	const struct trace_grid grid = { .column = &column,
					 .ncolumns = 1,
					 .begin_ns = T * S,
					 .end_ns = (T + 7200) * S,
					 .every_ns = 7200 * S / TRACE_ROWS,
					 .nrows = TRACE_ROWS,
					 .value = watts };
	struct advice advice[8];
	struct job_page p = { .screen = { .part = &r, .n = 1, .now = T + 8000, .cluster = "alps" },
			      .advice = advice,
			      .trace = has_trace ? &grid : NULL };
	char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	for (i = 0; i < TRACE_ROWS; i++)
		watts[i] = 180 + 90 * sin((double)i / 9) + (i % 40 < 8 ? -90 : 0) + (double)(i * 37 % 23);
	watts[100] = NAN;
	p.nadvice = advice_find(r, site, p.screen.now, advice, ARRAY_SIZE(advice));
	if (!f || job_page_print(&p, f) < 0)
		abort();
	(void)fclose(f);
	return text;
}

static void test_page(void)
{
	static const char *const never[] = { "<img", "http:",	     "https:",	"url(",
					     "\x1b", "\xe2\x80\xae", " style=", "javascript:" };
	struct record r = job(true);
	_cleanup_free_ char *html = page(&r, NULL, false);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(never); i++)
		ok(!strstr(html, never[i]), "%s: nothing of it in the page", i < 4 ? never[i] : "and others");
	ok(strstr(html, "&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;?[2J?"),
	   "the name is escaped and shown");
	ok(strstr(html, "#SBATCH --"), "advice with what to type");
	ok(strstr(html, "Where the energy went"), "energy by part");
	ok(strstr(html, "whole job"), "the extern step is the whole job");
	ok(strstr(html, "n/a"), "what is not known is n/a");
	ok(!strstr(html, "Over time"), "no trace, no drawing");
}

static void test_trace(void)
{
	struct record r = job(false);
	_cleanup_free_ char *html = page(&r, NULL, true);
	const char *svg = strstr(html, "Over time");

	ok(svg && strstr(svg, "<svg"), "a trace is drawn");
	ok(strlen(html) < 60000, "%zu bytes, less than 60000", strlen(html));
}

static void test_link(void)
{
	struct advice_site site = { .min_elapsed_s = 300 };
	struct record r = job(false);
	_cleanup_free_ char *html = NULL;
	size_t i;

	site.rule = calloc(advice_nrules, sizeof(*site.rule));
	for (i = 0; site.rule && i < advice_nrules; i++) {
		site.rule[i].show = true;
		site.rule[i].threshold = advice_rules[i].when[0].limit;
		(void)snprintf(site.rule[i].link, sizeof(site.rule[i].link), "%s",
			       i % 2 ? "javascript:alert(1)" : "https://site.example/\"><b>");
	}
	html = page(&r, &site, false);
	ok(!strstr(html, "javascript:"), "only web links are used");
	ok(!strstr(html, "><b>"), "and is escaped");
	free(site.rule);
}

static void test_parts(void)
{
	struct record r[2] = { job(false), job(true) };
	const struct record *part[2] = { &r[0], &r[1] };
	const struct job_page p = { .screen = { .part = part, .n = 2, .now = T + 8000 } };
	_cleanup_free_ char *text = NULL;
	size_t size, i;
	FILE *f = open_memstream(&text, &size);

	for (i = 0; i < 2; i++) {
		r[i].array_job_id = (struct maybe_u64){ 482117, true };
		r[i].array_task_id = (struct maybe_u64){ i + 1, true };
	}
	if (!f || job_page_print(&p, f) < 0)
		abort();
	(void)fclose(f);
	ok(strstr(text, "Array 482117") && strstr(text, ">482117_2<"), "an array has its parts");
	ok(!strstr(text, "<img"), "and their names are escaped");
}

static void test_csv(void)
{
	struct record r = job(false);
	const struct record *part = &r;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f || job_page_csv(&part, 1, T, f) < 0)
		abort();
	(void)fclose(f);
	is_str(text,
	       "jobid,step,name,state,nodes,elapsed_s,cpu_time_s,energy_j,co2e_g,memory_peak_bytes,"
	       "read_bytes,write_bytes\n"
	       "482117,,ocean-model,COMPLETED,n[1-2],7200,180000,1800000,28.73,22548578304,16106127360,"
	       "128849018880\n"
	       "482117,0,solver,COMPLETED,n[1-2],7200,90000,900000,14.364,,,\n"
	       "482117,1,postprocess,COMPLETED,n[1-2],6600,60000,600000,9.576,,,\n"
	       "482117,batch,postprocess,COMPLETED,n[1-2],6000,30000,300000,4.788,,,\n"
	       "482117,extern,postprocess,COMPLETED,n[1-2],7200,180000,1800000,28.73,,,\n",
	       "CSV");
}

int main(int argc, char **argv)
{
	(void)setenv("TZ", "UTC0", 1);
	tzset();
	if (argc > 1) {
		struct record r = job(strcmp(argv[1], "evil") == 0);
		_cleanup_free_ char *text = page(&r, NULL, true);

		return fputs(text, stdout) < 0;
	}
	test_page();
	test_trace();
	test_link();
	test_parts();
	test_csv();
	return done_testing();
}
