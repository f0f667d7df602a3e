/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_records.h - records for the sinks that are databases, and what both must make of them. The includer
 * has errmsg `err` and number(), which gives the one number of an SQL query; tables are named ceems.TABLE.
 */
#ifndef CEEMS_MADE_RECORDS_H
#define CEEMS_MADE_RECORDS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/librecord/record.h"
#include "src/libsink/db_walk.h"
#include "src/libsink/sink.h"
#include "src/libutil/util.h"
#include "tap.h"

struct made {
	char *json[600];
	char key[600][RECORD_KEY_MAX];
	struct sink_item item[600];
	enum sink_result r[600];
	size_t n;
	bool history; /* records are made as ceems export makes them */
};
static struct made made;

static inline void make_free(void)
{
	while (made.n--) {
		free(made.json[made.n]);
		free(made.item[made.n].why);
	}
	made.n = 0;
}

/* Job JOB_ID with NSTEPS steps; NAME may be NULL. */
static inline void make(uint32_t job_id, size_t nsteps, const char *name)
{
	/* of what is otherwise smaller here */
	static const enum metric part[] = { METRIC_CACHE_MISSES,     METRIC_BRANCH_MISSES,
					    METRIC_PMU_RUNNING,	     METRIC_STORAGE_READ_BYTES,
					    METRIC_GPU_NO_PROCESS,   METRIC_GPU_SM_ACTIVE,
					    METRIC_GPU_SM_OCCUPANCY, METRIC_GPU_TENSOR,
					    METRIC_GPU_DRAM };
	struct record *r = record_create();
	size_t i = made.n;
	size_t len;
	unsigned int m;
	size_t s;

	r->cluster = strdup("c1");
	r->job_id = job_id;
	r->submit = 1700000000;
	r->start = 1700000010;
	r->end = 1700003610;
	r->state = strdup("COMPLETED");
	r->user_name = strdup("alice");
	r->account = strdup("physics");
	r->job_name = name ? strdup(name) : NULL;
	r->total_cpus = 4;
	r->energy.final = true;
	if (made.history)
		(void)snprintf(r->origin, sizeof(r->origin), "%s", RECORD_HISTORY);
	r->energy.total_j = (struct maybe_u64){ 7200 + job_id, true };
	metric_foreach(m)
		if (m != METRIC_CYCLES)
			values_set(&r->values, (enum metric)m, 1000000 * (m + 1));
	values_set(&r->values, METRIC_CO2E, 123456789);
	values_set(&r->values, METRIC_ENERGY, (7200 + job_id) * UINT64_C(1000000));
	for (m = 0; m < ARRAY_SIZE(part); m++)
		values_set(&r->values, part[m], 777);
	r->emissions = (struct record_emissions){
		.method = CO2E_PER_TICK,
		.factor_ug_per_kwh = { 250123456, true },
		.kind = "mixed",
		.scope = "direct",
		.region = "FR",
		.source = "RTE; Ember",
		.year = 2024,
		.pue_milli = 1500,
		.market_ug_per_kwh = { 0, true },
		.market_source = "wind",
		.embodied_ng = { 1000000001, true },
		.embodied_source = "the vendor",
	};
	r->steps_known = true;
	r->steps = calloc(nsteps + 1, sizeof(*r->steps));
	r->nsteps = nsteps;
	for (s = 0; s < nsteps; s++) {
		r->steps[s].step_id = (uint32_t)s;
		r->steps[s].name = strdup("it's");
		values_init(&r->steps[s].values);
		values_set(&r->steps[s].values, METRIC_ENERGY, 1500000);
		r->steps[s].user_cpu_us = (struct maybe_u64){ 1234567, true };
		r->steps[s].nnodes = 2;
		r->steps[s].energy = (struct record_spread){ { 1000000, true }, "n2" };
	}
	require(record_key(r, made.key[i], RECORD_KEY_MAX) == 0);
	if (record_to_json(r, &made.json[i], &len, &err) < 0)
		diag("%s", err.text);
	record_destroy(r);
	made.item[i] = (struct sink_item){ STORE_RECORD, made.key[i], strlen(made.key[i]),
					   made.json[i], len,	      i,
					   NULL,	 false };
	made.r[i] = SINK_RETRY;
	made.n++;
}

static inline size_t count(enum sink_result which)
{
	size_t found = 0;
	size_t i;

	for (i = 0; i < made.n; i++)
		found += made.r[i] == which;
	return found;
}

/* Jobs 1 to 3; 2 is of ceems export, and the name of 3 looks as if it were. */
static inline void make_origins(void)
{
	make(1, 1, "measured");
	made.history = true;
	make(2, 1, "replayed");
	made.history = false;
	make(3, 1, ",\"origin\":\"history\",");
}

/* What the tables and views say of them. */
static inline void test_origins(void)
{
	is_u64(number("SELECT COUNT(*) FROM ceems.job WHERE origin IS NULL AND jobid IN (1, 3)"), 2,
	       "jobs that were measured have no origin");
	is_u64(number("SELECT origin = 'history' FROM ceems.job_summary WHERE jobid = 2"), 1,
	       "a job of ceems export has the origin history");
	is_u64(number("SELECT jobs = 3 AND jobs_history = 1 AND ABS(history_kwh * 3600000 - 7202) < 0.01 "
		      "FROM ceems.account_month WHERE account = 'physics' AND month = '2023-11'"),
	       1, "account_month has the jobs and the energy of that origin");
	is_u64(number("SELECT jobs_history = 1 AND ABS(history_kwh * 3600000 - 7202) < 0.01 "
		      "FROM ceems.emissions_month WHERE username = 'alice'"),
	       1, "emissions_month has them, too");
}

struct walked {
	size_t n;
	uint64_t joules;
	char cpu_us[32];
	size_t end_at; /* -ECANCELED at this row */
};

static inline int walked_row(void *ctx, const struct db_walk_row *row, struct errmsg *why)
{
	struct walked *w = ctx;
	struct record *r;

	if (++w->n == w->end_at)
		return errmsg_set(why, -ECANCELED, "enough");
	if (record_from_json(row->json, row->len, &r, why) < 0)
		return -EINVAL;
	w->joules += r->energy.total_j.value;
	(void)snprintf(w->cpu_us, sizeof(w->cpu_us), "%s", row->cpu_us ? row->cpu_us : "none");
	record_destroy(r);
	return 0;
}

/* Jobs 1 to 3 end at 1700003610. CPU_US is of job 3, which has one step. */
static inline void test_walk(const struct sink_db *db, const struct settings *s, const char *cpu_us)
{
	struct walked walked = { 0 };
	struct db_walk w = { .from = 1700003610, .to = 1700003611, .each = walked_row, .ctx = &walked };
	uint64_t gone = 1;

	ok(db->walk(s, &w, &err) == 0, "the jobs of a second: %s", err.text);
	is_u64(walked.n, 3, "are read");
	is_u64(walked.joules, 3 * 7200 + 1 + 2 + 3, "with what is in their records");
	is_str(walked.cpu_us, cpu_us, "and the CPU time of their steps, in microseconds");
	walked = (struct walked){ .end_at = 2 };
	is_int(db->walk(s, &w, &err), -ECANCELED, "the caller may end the walk");
	is_str(err.text, "enough", "and says why");
	walked = (struct walked){ 0 };
	w.from = 0;
	w.to = 1700003610;
	is_int(db->walk(s, &w, &err), 0, "the time before");
	is_u64(walked.n, 0, "has none of them");
	ok(db->gone(s, 0, 1700009999, &gone, &err) == 0 && gone == 0, "none was deleted");
}

/* What the emissions of these jobs are called, and what the month makes of them. */
static inline void test_emissions(void)
{
	const unsigned int fresh = METRIC_FRESH_FACTOR + 1; /* joules, and so on */
	char sql[512];

	is_u64(number("SELECT co2e_method = 'per-tick' AND factor_g_per_kwh = 250.123456 AND "
		      "factor_kind = 'mixed' AND factor_scope = 'direct' AND factor_region = 'FR' "
		      "AND factor_source = 'RTE; Ember' AND factor_year = 2024 AND pue = 1.5 AND "
		      "market_g_per_kwh = 0 AND market_source = 'wind' AND embodied_g = 1.000000001 "
		      "AND embodied_source = 'the vendor' FROM ceems.job WHERE jobid = 1"),
	       1, "where the emissions come from");
	is_u64(number("SELECT COUNT(*) FROM ceems.emissions_month WHERE username = 'alice' AND "
		      "account = 'physics' AND month = '2023-11' AND jobs = 3 AND "
		      "ABS(co2e_kg - 0.000370370367) < 1e-8 AND ABS(embodied_kg - 0.003) < 1e-8"),
	       1, "emissions_month");
	/* 3 x 0.123456789 g of (7201 + 7202 + 7203) J at a PUE of 1.5 */
	is_u64(number("SELECT ABS(mean_g_per_kwh - 41.1409) < 0.001 FROM ceems.emissions_month"), 1,
	       "the mean factor is before PUE");
	snprintf(sql, sizeof(sql),
		 "SELECT ABS(fresh_share - 1e0 * %u / %u) < 1e-9 AND ABS(fresh_share + last_share + "
		 "static_share + default_share - 1) < 1e-9 FROM ceems.emissions_month",
		 fresh, 4 * fresh + 6);
	is_u64(number(sql), 1, "the share of each step of the chain");
	is_u64(number("SELECT ABS(market_co2e_kg * 1000 - SUM(market_co2e_g)) < 1e-6 AND "
		      "ABS(embodied_kg - 0.003) < 1e-8 FROM ceems.user_month JOIN ceems.job USING "
		      "(username)"),
	       1, "user_month has them too");
}

#endif
