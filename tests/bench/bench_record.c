/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_record - CPU time to write a record as JSON and to read it back, which each job end takes: with usual
 * values, with all values that can be requested, and for a job of 100,000 steps.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_size.h"
#include "src/librecord/record.h"
#include "usual_values.h"

#define RUNS 5 /* of which the fastest counts: the machine has other work, which takes its caches */
#define CALLS bench_n(2000)
#define STEPS 3
#define MANY_STEPS bench_n(100000)

static struct errmsg err;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void fill_values(struct values *f, bool all)
{
	unsigned int m;

	values_init(f);
	metric_foreach(m)
		if (all || is_usual((enum metric)m))
			values_set(f, (enum metric)m, UINT64_C(1234567891) * (m + 1));
}

static struct record *make(size_t nsteps, bool all)
{
	struct record *r = record_create();
	size_t i;

	r->cluster = strdup("bench");
	r->job_id = 4711;
	r->submit = 1700000000;
	r->eligible = r->submit;
	r->start = r->submit + 10;
	r->end = r->start + 3600;
	r->state = strdup("COMPLETED");
	r->job_name = strdup("a job of the benchmark");
	r->user_name = strdup("alice");
	r->group_name = strdup("users");
	r->account = strdup("physics");
	r->partition = strdup("standard");
	r->qos = strdup("normal");
	r->work_dir = strdup("/home/alice/work/of/the/benchmark");
	r->nodes = strdup("node[0001-0004]");
	r->tres_req = strdup("billing=64,cpu=64,mem=256G,node=4");
	r->tres_alloc = strdup("billing=64,cpu=64,energy=7200,mem=256G,node=4");
	r->total_cpus = 64;
	r->total_nodes = 4;
	r->energy = (struct record_energy){
		.final = true,
		.total_j = { 7200, true },
		.method = "counters",
		.source = "rapl",
	};
	r->emissions = (struct record_emissions){
		.method = CO2E_PER_TICK,
		.factor_ug_per_kwh = { 56123000, true },
		.kind = "static",
		.scope = "life-cycle",
		.region = "FR",
		.source = "a source",
		.year = 2024,
		.pue_milli = 1350,
	};
	fill_values(&r->values, all);
	r->steps_known = true;
	r->nsteps = nsteps;
	r->steps = calloc(nsteps, sizeof(*r->steps));
	for (i = 0; i < nsteps; i++) {
		r->steps[i] = (struct record_step){
			.step_id = (uint32_t)i,
			.name = strdup("solver"),
			.state = "COMPLETED",
			.nodes = strdup("node[0001-0004]"),
			.ntasks = 64,
			.nnodes = 4,
			.ncpus = 64,
			.start = r->start,
			.end = r->end,
			.user_cpu_us = { 123456789, true },
			.system_cpu_us = { 1234567, true },
			.max_rss_bytes = { 123456789, true },
			.cpu_time = { { 7200000000123, true }, "node0001" },
			.energy = { { 2000000123, true }, "node0003" },
		};
		fill_values(&r->steps[i].values, all);
	}
	return r;
}

static void say(const char *what, double us, const char *more)
{
	printf("%-44s %.1f us per record%s\n", what, us, more);
}

/* The fastest of RUNS, in microseconds of CPU time per call. */
#define BEST(n, call)                                    \
	({                                               \
		uint64_t best_ = UINT64_MAX;             \
		const uint64_t n_ = (n);                 \
		int run_;                                \
		uint64_t i_;                             \
		for (run_ = 0; run_ < RUNS; run_++) {    \
			uint64_t t_ = cpu_ns();          \
			for (i_ = 0; i_ < n_; i_++)      \
				call;                    \
			t_ = cpu_ns() - t_;              \
			best_ = t_ < best_ ? t_ : best_; \
		}                                        \
		(double)best_ / 1000 / (double)n_;       \
	})

static void write_one(const struct record *r)
{
	char *json = NULL;

	if (record_to_json(r, &json, NULL, &err) < 0)
		puts(err.text);
	free(json);
}

static void read_one(const char *json, size_t len)
{
	struct record *r = NULL;

	if (record_from_json(json, len, &r, &err) < 0)
		puts(err.text);
	record_destroy(r);
}

static int count_part(void *ctx, size_t part, const char *key, const char *json, size_t len,
		      struct errmsg *part_err)
{
	(void)key;
	(void)json;
	(void)len;
	(void)part_err;
	*(size_t *)ctx = part + 1;
	return 0;
}

static void split_one(const struct record *r, size_t *ret_n)
{
	*ret_n = 0;
	if (record_write_parts(r, 900 << 10, count_part, ret_n, &err) < 0)
		puts(err.text);
}

static void bench(bool all)
{
	const char *which = all ? "all values" : "usual values";
	struct record *r = make(STEPS, all);
	char *json = NULL;
	char what[64];
	char more[32];
	size_t len = 0;

	if (record_to_json(r, &json, &len, &err) < 0)
		return;
	(void)snprintf(more, sizeof(more), " of %zu bytes", len);
	(void)snprintf(what, sizeof(what), "record to JSON, %d steps, %s", STEPS, which);
	say(what, BEST(CALLS, write_one(r)), more);
	(void)snprintf(what, sizeof(what), "record from JSON, %d steps, %s", STEPS, which);
	say(what, BEST(CALLS, read_one(json, len)), more);
	free(json);
	record_destroy(r);
}

int main(void)
{
	struct record *r = make(MANY_STEPS, false);
	char what[64];
	char more[32];
	size_t n = 0;
	double us;

	bench(false);
	bench(true);
	us = BEST(1, split_one(r, &n));
	(void)snprintf(more, sizeof(more), ", in %zu parts", n);
	(void)snprintf(what, sizeof(what), "record to parts, %" PRIu64 ",000 steps", MANY_STEPS / 1000);
	say(what, us, more);
	record_destroy(r);
	return 0;
}
