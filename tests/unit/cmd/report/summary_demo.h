/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary_demo.h - two months of a made-up cluster, the same at each run, for the tests of reports and the
 * pictures in doc/.
 */
#ifndef CEEMS_TESTS_SUMMARY_DEMO_H
#define CEEMS_TESTS_SUMMARY_DEMO_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/cmd/report/summary.h"

#define DEMO_NOW UINT64_C(1764900000)	/* 5 Dec 2025 */
#define DEMO_FIRST UINT64_C(1759276800) /* 1 Oct 2025 UTC */
#define DEMO_DAYS 61
#define DEMO_EVIL "<script>alert(1)</script>&\"'\x1b[31m\xe2\x80\xae"

static uint32_t demo_seed = 1;

static uint32_t demo_random(uint32_t below)
{
	demo_seed = demo_seed * 1664525 + 1013904223;
	return (demo_seed >> 8) % below;
}

static const char *const demo_accounts[] = { "climate",	    "physics", "chemistry", "genomics",
					     "engineering", "astro",   "training",  DEMO_EVIL };
static const char *const demo_users[] = { "ann",   "bob",  "carla", "dmitri", "eve",
					  "farid", "gita", "hugo",  "ines" };
static const char *const demo_partitions[] = { "cpu", "gpu", "large" };

static void demo_energy(struct record *r, uint64_t elapsed_s, double used)
{
	uint64_t idle = elapsed_s * r->total_cpus * 1000000; /* 1 W of a CPU */
	uint64_t busy = (uint64_t)(used * 3e6 * (double)(elapsed_s * r->total_cpus));
	uint64_t dram = elapsed_s * r->total_cpus * 300000;
	uint64_t gpus;

	values_set(&r->values, METRIC_CPU_ENERGY_STATIC, idle);
	values_set(&r->values, METRIC_CPU_ENERGY, idle + busy);
	values_set(&r->values, METRIC_DRAM_ENERGY_STATIC, dram);
	values_set(&r->values, METRIC_DRAM_ENERGY, dram);
	values_set(&r->values, METRIC_ENERGY, idle + busy + dram);
	if (record_tres(r->tres_alloc, "gres/gpu", &gpus)) {
		uint64_t held = gpus * elapsed_s * 1000000000;

		values_set(&r->values, METRIC_GPU_HELD, held);
		values_set(&r->values, METRIC_GPU_BUSY, (uint64_t)(used * (double)held));
		values_set(&r->values, METRIC_GPU_ENERGY_STATIC, gpus * elapsed_s * 55000000);
		values_set(&r->values, METRIC_GPU_ENERGY,
			   gpus * elapsed_s * (55000000 + (uint64_t)(used * 245e6)));
		values_set(&r->values, METRIC_ENERGY,
			   r->values.value[METRIC_ENERGY] + r->values.value[METRIC_GPU_ENERGY]);
		(void)snprintf(r->energy.source, sizeof(r->energy.source), "rapl,nvml");
	}
	values_set(&r->values, METRIC_CO2E,
		   (uint64_t)((double)r->values.value[METRIC_ENERGY] / 3.6e12 * 57.5e9));
}

/* One of the jobs of DAY. */
static void demo_job(unsigned int day, struct record *r)
{
	static const char *const states[] = { "COMPLETED",    "COMPLETED", "COMPLETED", "COMPLETED",
					      "COMPLETED",    "COMPLETED", "COMPLETED", "COMPLETED",
					      "FAILED",	      "TIMEOUT",   "COMPLETED", "CANCELLED",
					      "COMPLETED",    "COMPLETED", "COMPLETED", "COMPLETED",
					      "OUT_OF_MEMORY" };
	uint32_t account = demo_random(4) ? demo_random(4) : demo_random(ARRAY_SIZE(demo_accounts));
	uint64_t elapsed_s = 60 + (uint64_t)demo_random(3600) * (1 + demo_random(12));
	double used = 0.3 + demo_random(68) / 100.0;
	uint32_t kind = demo_random(100);

	*r = (struct record){ .job_id = 1 + demo_random(1000000),
			      .job_name = (char *)"job",
			      .total_nodes = 1 };
	values_init(&r->values);
	r->account = (char *)(uintptr_t)demo_accounts[account];
	r->user_name = (char *)(uintptr_t)demo_users[(account + demo_random(3)) % ARRAY_SIZE(demo_users)];
	r->partition = (char *)(uintptr_t)demo_partitions[demo_random(3)];
	r->state = (char *)(uintptr_t)states[demo_random(ARRAY_SIZE(states))];
	r->total_cpus = 1u << demo_random(7);
	r->end = DEMO_FIRST + day * UINT64_C(86400) + demo_random(86400);
	r->start = r->end - elapsed_s;
	r->tres_alloc = r->partition == demo_partitions[1] ? (char *)"cpu=8,mem=64G,node=1,gres/gpu=2" :
							     (char *)"cpu=8,mem=64G,node=1";
	values_set(&r->values, METRIC_CPU_TIME, (uint64_t)(used * (double)elapsed_s * r->total_cpus * 1e9));
	values_set(&r->values, METRIC_MEMORY_ALLOCATED, UINT64_C(64) << 30);
	values_set(&r->values, METRIC_MEMORY_PEAK, (uint64_t)(4 + demo_random(40)) << 30);
	if (kind < 3)
		return; /* nobody measured it */
	(void)snprintf(r->energy.source, sizeof(r->energy.source), kind < 8 ? "model" : "rapl");
	(void)snprintf(r->energy.quality, sizeof(r->energy.quality),
		       kind < 8 ? "estimate" :
		       kind < 9 ? "lower-bound" :
				  "measured");
	(void)snprintf(r->emissions.region, sizeof(r->emissions.region), "FR");
	(void)snprintf(r->emissions.scope, sizeof(r->emissions.scope), "life-cycle");
	(void)snprintf(r->emissions.source, sizeof(r->emissions.source), "Ember (CC BY 4.0)");
	r->emissions.year = 2024;
	r->emissions.pue_milli = 1300;
	r->emissions.method = CO2E_PER_TICK;
	demo_energy(r, elapsed_s, used);
}

/* Fewer on Saturdays and Sundays. */
static unsigned int demo_jobs_of(unsigned int day)
{
	unsigned int weekday = (day + 2) % 7; /* 1 Oct 2025 is a Wednesday */

	return (weekday >= 5 ? 12 : 40) + demo_random(20) + day / 4;
}

static void demo_fill(struct summary *s)
{
	unsigned int day, i, n;
	struct jobs_job j;
	struct record r;

	demo_seed = 1;
	for (day = 0; day < DEMO_DAYS; day++) {
		n = demo_jobs_of(day);
		for (i = 0; i < n; i++) {
			demo_job(day, &r);
			jobs_job_init(&j, &r, s->now);
			if (summary_add(s, &j) < 0)
				abort();
		}
	}
}

static inline void demo_init(struct summary *s, enum jobs_group_by by)
{
	struct period p;

	if (period_parse(PERIOD_MONTH, "2025-11", DEMO_NOW, &p) < 0)
		abort();
	summary_init(s, &p, by, DEMO_NOW);
	s->whose = "all users";
	s->cluster = "alps";
	demo_fill(s);
}

#endif
