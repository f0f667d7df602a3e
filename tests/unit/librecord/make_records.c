/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make_records [--sums FILE] JOBS SEED: prints the messages of JOBS synthetic jobs as JSON lines, as a topic
 * may have them: repeats, corrections that replace what came before, long records in parts, unknown values,
 * hostile texts. The same JOBS and SEED give the same bytes.
 *
 * FILE gets the sums that a consumer must find: CSV of account, hour of the job's end, jobs, energy_j,
 * co2e_g, waste_j. They are added up from the final version of each job, before any JSON is written.
 *
 * Waste is the energy of jobs that failed. Of others it is the static CPU energy times the unused part of the
 * CPUs, cut to microjoules.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/librecord/record.h"
#include "src/libutil/parse.h"
#include "src/libutil/util.h"
#include "usual_values.h"

#define FIRST_END UINT64_C(1764547200) /* 2025-12-01 */
#define JOBS_PER_HOUR 1500
#define ACCOUNTS 25
#define UJ_PER_J UINT64_C(1000000)
/* A later version of a record comes up to DELAY_MAX - 1 jobs later. */
#define DELAY_MAX 4096
#define VERSIONS_MAX 3
#define PART_BYTES 9000

/* What of a job matters to the sums; of its final version. */
struct job_sum {
	unsigned int account;
	uint64_t hour; /* since FIRST_END */
	uint64_t energy_j, co2e_ng, waste_uj;
	bool has_energy, has_co2e;
};

struct sum {
	uint64_t jobs, energy_j, co2e_ng, waste_uj;
};

/* Messages to print when the job of this number is made. */
struct bucket {
	uint64_t *job;
	uint8_t *version;
	size_t n, room;
};

static struct bucket bucket[DELAY_MAX];
static uint64_t seed, nmessages, nrepeats, ncorrections, nparts;
static struct errmsg err;

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "make_records: %s\n", what);
	exit(1);
}

/* SplitMix64 of the seed, the job and WHICH: a job's numbers do not depend on the order of questions. */
static uint64_t draw(uint64_t job, unsigned int which, uint64_t below)
{
	uint64_t z = seed + job * UINT64_C(0x9e3779b97f4a7c15) + which * UINT64_C(0xd1b54a32d192ed03);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % below;
}

enum draw {
	DRAW_ACCOUNT,
	DRAW_STATE,
	DRAW_ELAPSED,
	DRAW_CPUS,
	DRAW_POWER,
	DRAW_LOAD,
	DRAW_STATIC,
	DRAW_FACTOR,
	DRAW_UNKNOWN,
	DRAW_VERSIONS,
	DRAW_MOVE,
	DRAW_NAME,
	DRAW_STEPS,
	DRAW_REPEAT,
	DRAW_DELAY,
};

/* How many versions the record of JOB has: 0 to VERSIONS_MAX - 1 corrections. */
static unsigned int versions(uint64_t job)
{
	uint64_t d = draw(job, DRAW_VERSIONS, 100);

	return d < 2 ? 3 : d < 10 ? 2 : 1;
}

static void set_text(char **to, const char *text)
{
	*to = strdup(text);
	if (!*to)
		die("out of memory");
}

static void set_values(struct record *r, uint64_t job, uint64_t energy_uj)
{
	uint64_t cpu_ns = (r->end - r->start) * r->total_cpus * draw(job, DRAW_LOAD, 1000001) * 1000;
	unsigned int m;

	metric_foreach(m)
		if (is_usual((enum metric)m))
			values_set(&r->values, (enum metric)m, draw(job, 100 + m, UINT64_C(100000000000)));
	values_set(&r->values, METRIC_ENERGY, energy_uj);
	values_set(&r->values, METRIC_CPU_ENERGY, energy_uj / 10 * 8);
	values_set(&r->values, METRIC_DRAM_ENERGY, energy_uj / 10);
	values_set(&r->values, METRIC_CPU_ENERGY_STATIC, energy_uj / 1000 * draw(job, DRAW_STATIC, 700));
	values_set(&r->values, METRIC_DRAM_ENERGY_STATIC, energy_uj / 20);
	values_set(&r->values, METRIC_SOURCE_RAPL, energy_uj);
	values_set(&r->values, METRIC_CPU_TIME, cpu_ns);
	values_set(&r->values, METRIC_TASK_CLOCK, cpu_ns);
	values_set(&r->values, METRIC_CO2E,
		   energy_uj / UJ_PER_J * (20 + draw(job, DRAW_FACTOR, 600)) * 2500 / 9);
}

static void add_steps(struct record *r, uint64_t job)
{
	size_t n = draw(job, DRAW_STEPS, 500) ? 1 + draw(job, DRAW_STEPS, 3) : 20;
	size_t i;

	r->steps = calloc(n, sizeof(*r->steps));
	if (!r->steps)
		die("out of memory");
	r->steps_known = true;
	r->nsteps = n;
	for (i = 0; i < n; i++) {
		struct record_step *s = &r->steps[i];

		*s = (struct record_step){ .step_id = i ? (uint32_t)i - 1 : UINT32_C(0xfffffffb),
					   .state = "COMPLETED",
					   .ntasks = 1,
					   .nnodes = 1,
					   .ncpus = r->total_cpus,
					   .start = r->start,
					   .end = r->end,
					   .user_cpu_us = { 123456789, true },
					   .max_rss_bytes = { 123456789, true } };
		set_text(&s->name, i ? "solver" : "batch");
		set_text(&s->nodes, r->nodes);
		values_init(&s->values);
		values_set(&s->values, METRIC_ENERGY, r->values.value[METRIC_ENERGY] / n);
		values_set(&s->values, METRIC_CPU_TIME, r->values.value[METRIC_CPU_TIME] / n);
		values_set(&s->values, METRIC_IO_READ_BYTES, draw(job, 1000 + (unsigned int)i, 1000000000));
	}
}

/* The same operations on doubles as in SQL, so that the results are the same to the last bit. */
static double unused_cpus(const struct record *r)
{
	double used = (double)r->values.value[METRIC_CPU_TIME] / 1e9 /
		      (double)((r->end - r->start) * r->total_cpus);

	return used < 1 ? 1 - used : 0;
}

/* Version VERSION of the record of JOB; the last one is final. RET_SUM may be NULL. */
static struct record *make(uint64_t job, unsigned int version, struct job_sum *ret_sum)
{
	static const char *const state[] = { "COMPLETED", "COMPLETED",	   "COMPLETED", "COMPLETED",
					     "COMPLETED", "COMPLETED",	   "CANCELLED", "FAILED",
					     "TIMEOUT",	  "OUT_OF_MEMORY", "NODE_FAIL" };
	static const char *const name[] = {
		"relax",	  "a \"quoted\", name", "line\nbreak\ttab \\", "'; DROP TABLE job; --",
		"\xff not UTF-8", "caf\xc3\xa9"
	};
	bool is_final = version + 1 == versions(job);
	size_t which = draw(job, DRAW_STATE, 3) ? 0 : draw(job, DRAW_STATE, ARRAY_SIZE(state));
	uint64_t elapsed_s = 1 + draw(job, DRAW_ELAPSED, 86400);
	uint64_t unknown = draw(job, DRAW_UNKNOWN, 200);
	struct record *r = record_create();
	char text[64];
	uint64_t energy_uj, hour;
	unsigned int account = (unsigned int)draw(job, DRAW_ACCOUNT, ACCOUNTS);

	if (!r)
		die("out of memory");
	set_text(&r->cluster, "synthetic");
	r->job_id = (uint32_t)job;
	r->end = FIRST_END + job * 3600 / JOBS_PER_HOUR;
	r->start = r->end - elapsed_s;
	/* an earlier version may name another account, or an end an hour off */
	if (!is_final && !draw(job, DRAW_MOVE, 4))
		account = (account + 1) % ACCOUNTS;
	else if (!is_final && draw(job, DRAW_MOVE, 4) == 1)
		r->end += 3600;
	hour = (r->end - FIRST_END) / 3600;
	r->eligible = r->submit = r->start - 60;
	r->total_cpus = 1u << draw(job, DRAW_CPUS, 8);
	r->total_nodes = 1;
	(void)snprintf(text, sizeof(text), "account%02u", account);
	set_text(&r->account, text);
	(void)snprintf(text, sizeof(text), "user%03" PRIu64, draw(job, DRAW_ACCOUNT, 300));
	set_text(&r->user_name, text);
	(void)snprintf(text, sizeof(text), "node%04" PRIu64, draw(job, DRAW_CPUS, 2000));
	set_text(&r->nodes, text);
	set_text(&r->job_name, name[draw(job, DRAW_NAME, 20) ? 0 : draw(job, DRAW_NAME, ARRAY_SIZE(name))]);
	set_text(&r->group_name, "users");
	set_text(&r->partition, "standard");
	set_text(&r->qos, "normal");
	set_text(&r->work_dir, "/home/somebody/work");
	set_text(&r->state, state[which]);
	set_text(&r->tres_alloc, "billing=64,cpu=64,mem=256G,node=1");

	energy_uj = elapsed_s * r->total_cpus * (1 + draw(job, DRAW_POWER, 12)) * UJ_PER_J;
	if (!is_final)
		energy_uj /= 2; /* a part of the steps had not reported */
	r->energy = (struct record_energy){ .final = is_final,
					    .total_j = { energy_uj / UJ_PER_J, true },
					    .method = "cpu-time",
					    .source = "rapl",
					    .quality = "measured" };
	set_values(r, job, energy_uj);
	r->emissions = (struct record_emissions){
		.method = CO2E_PER_TICK,
		.factor_ug_per_kwh = { 56123000, true },
		.kind = "static",
		.scope = "life-cycle",
		.region = "FR",
		.source = "a source",
		.year = 2024,
		.pue_milli = 1300,
	};
	if (unknown == 0) { /* a node without sensors */
		unsigned int m;

		r->energy.total_j.known = false;
		metric_foreach(m)
			r->values.reason[m] = REASON_NOT_MEASURED;
	} else if (unknown == 1) { /* no factor */
		r->values.reason[METRIC_CO2E] = REASON_NOT_MEASURED;
	}
	if (is_final)
		add_steps(r, job);
	if (!ret_sum)
		return r;
	*ret_sum = (struct job_sum){
		.account = account, .hour = hour, .has_energy = unknown != 0, .has_co2e = unknown > 1
	};
	if (unknown == 0)
		return r;
	ret_sum->energy_j = energy_uj / UJ_PER_J;
	ret_sum->co2e_ng = unknown == 1 ? 0 : r->values.value[METRIC_CO2E];
	if (which >= 7)
		ret_sum->waste_uj = energy_uj;
	else
		ret_sum->waste_uj = (uint64_t)((double)r->values.value[METRIC_CPU_ENERGY_STATIC] *
					       unused_cpus(r));
	return r;
}

static int print_part(void *ctx, size_t part, const char *key, const char *json, size_t len,
		      struct errmsg *part_err)
{
	(void)ctx;
	(void)key;
	(void)len;
	(void)part_err;
	(void)printf("%s\n", json);
	nmessages += part == 0;
	nparts += part != 0;
	return 0;
}

static void print_message(uint64_t job, unsigned int version)
{
	struct record *r = make(job, version, NULL);

	if (record_write_parts(r, PART_BYTES, print_part, NULL, &err) < 0)
		die(err.text);
	record_destroy(r);
}

static void push(uint64_t at, uint64_t job, unsigned int version)
{
	struct bucket *b = &bucket[at % DELAY_MAX];

	if (b->n == b->room) {
		b->room = b->room ? 2 * b->room : 8;
		b->job = realloc(b->job, b->room * sizeof(*b->job));
		b->version = realloc(b->version, b->room);
		if (!b->job || !b->version)
			die("out of memory");
	}
	b->job[b->n] = job;
	b->version[b->n++] = (uint8_t)version;
}

static void print_bucket(uint64_t at)
{
	struct bucket *b = &bucket[at % DELAY_MAX];
	size_t i;

	for (i = 0; i < b->n; i++)
		print_message(b->job[i], b->version[i]);
	b->n = 0;
}

/*
 * Plans the messages of JOB: its versions in order; at times one is repeated, or the whole series, as after a
 * crash of the recorder, which sends again from its cursor.
 */
static void plan(uint64_t job)
{
	unsigned int n = versions(job);
	uint64_t repeat = draw(job, DRAW_REPEAT, 100);
	uint64_t at = job;
	unsigned int round, v;

	for (round = 0; round < (repeat < 3 ? 2u : 1u); round++) {
		nrepeats += round ? n : 0;
		for (v = 0; v < n; v++) {
			push(at, job, v);
			at += 1 + draw(job, DRAW_DELAY + round * VERSIONS_MAX + v,
				       DELAY_MAX / (2 * VERSIONS_MAX) - 1);
		}
	}
	if (repeat == 3) {
		push(at, job, n - 1);
		nrepeats++;
	}
	ncorrections += n - 1;
}

static void write_sums(const char *path, const struct sum *sum, size_t hours)
{
	FILE *f = fopen(path, "we");
	size_t i;

	if (!f)
		die("cannot write the sums");
	(void)fprintf(f, "account,hour,jobs,energy_j,co2e_g,waste_j\n");
	for (i = 0; i < hours * ACCOUNTS; i++) {
		time_t t = (time_t)(FIRST_END + i % hours * 3600);
		char hour[32];
		struct tm tm;

		if (!sum[i].jobs)
			continue;
		(void)strftime(hour, sizeof(hour), "%Y-%m-%dT%H", gmtime_r(&t, &tm));
		(void)fprintf(f,
			      "account%02zu,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ".%09" PRIu64 ",%" PRIu64
			      ".%06" PRIu64 "\n",
			      i / hours, hour, sum[i].jobs, sum[i].energy_j, sum[i].co2e_ng / NG_PER_G,
			      sum[i].co2e_ng % NG_PER_G, sum[i].waste_uj / 1000000,
			      sum[i].waste_uj % 1000000);
	}
	if (fclose(f))
		die("cannot write the sums");
}

int main(int argc, char **argv)
{
	const char *path = argc == 5 && !strcmp(argv[1], "--sums") ? argv[2] : NULL;
	struct job_sum one;
	struct sum *sum;
	size_t hours;
	uint64_t jobs;
	uint64_t job;

	if ((argc != 3 && !path) || parse_u64(argv[argc - 2], &jobs) < 0 || !jobs || jobs >= UINT32_MAX ||
	    parse_u64(argv[argc - 1], &seed) < 0) {
		(void)fprintf(stderr, "usage: make_records [--sums FILE] JOBS SEED\n");
		return 2;
	}
	hours = jobs / JOBS_PER_HOUR + 2;
	sum = calloc(hours * ACCOUNTS, sizeof(*sum));
	if (!sum)
		die("out of memory");
	for (job = 1; job <= jobs + DELAY_MAX; job++) {
		if (job <= jobs) {
			struct sum *s;

			record_destroy(make(job, versions(job) - 1, &one));
			s = &sum[one.account * hours + one.hour];
			s->jobs++;
			s->energy_j += one.energy_j;
			s->co2e_ng += one.co2e_ng;
			s->waste_uj += one.waste_uj;
			plan(job);
		}
		print_bucket(job);
	}
	if (path)
		write_sums(path, sum, hours);
	(void)fprintf(stderr,
		      "make_records: %" PRIu64 " jobs, %" PRIu64 " messages: %" PRIu64
		      " corrections, %" PRIu64 " repeats, %" PRIu64 " more parts\n",
		      jobs, nmessages, ncorrections, nrepeats, nparts);
	free(sum);
	for (job = 0; job < DELAY_MAX; job++) {
		free(bucket[job].job);
		free(bucket[job].version);
	}
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
