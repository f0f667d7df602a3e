/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobcomp/timed - stands between slurmctld and another jobcomp plugin and times its hooks, so that all
 * are measured alike. CEEMS_TIMED_PLUGIN names the other's file. When slurmctld ends, a line with
 * the number of records and p50, p99, the maximum and the mean, in nanoseconds, is appended to
 * CEEMS_TIMED_OUT. Built by tests/bench/peers against the slurmctld that is measured.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "bench_times.h"

const char plugin_name[] = "Times another jobcomp plugin";
const char plugin_type[] = "jobcomp/timed";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

#define TIMES_MAX (1 << 20)

/* Slurm calls everything here under one mutex of its own. */
static uint64_t times[TIMES_MAX];
static size_t n;

static struct {
	int (*init)(void);
	void (*fini)(void);
	int (*set_location)(void);
	int (*log_record)(void *job);
	int (*job_end)(void *job, uint32_t event);
	int (*job_start)(void *job, uint32_t event);
	void *(*get_jobs)(void *cond);
} real;

int init(void);
void fini(void);
int jobcomp_p_set_location(void);
int jobcomp_p_log_record(void *job);
int jobcomp_p_record_job_end(void *job, uint32_t event);
int jobcomp_p_record_job_start(void *job, uint32_t event);
void *jobcomp_p_get_jobs(void *cond);

static void add(uint64_t begin_ns)
{
	uint64_t took = bench_now_ns() - begin_ns;

	if (n < TIMES_MAX)
		times[n++] = took;
}

int init(void)
{
	const char *file = getenv("CEEMS_TIMED_PLUGIN");
	void *dl = file ? dlopen(file, RTLD_LAZY) : NULL;

	if (!dl) {
		fprintf(stderr, "jobcomp/timed: %s\n", file ? dlerror() : "no CEEMS_TIMED_PLUGIN");
		return SLURM_ERROR;
	}
	*(void **)&real.init = dlsym(dl, "init");
	*(void **)&real.fini = dlsym(dl, "fini");
	*(void **)&real.set_location = dlsym(dl, "jobcomp_p_set_location");
	*(void **)&real.log_record = dlsym(dl, "jobcomp_p_log_record");
	*(void **)&real.job_end = dlsym(dl, "jobcomp_p_record_job_end");
	*(void **)&real.job_start = dlsym(dl, "jobcomp_p_record_job_start");
	*(void **)&real.get_jobs = dlsym(dl, "jobcomp_p_get_jobs");
	return real.init ? real.init() : SLURM_SUCCESS;
}

static void report(FILE *to)
{
	uint64_t sum = 0;
	size_t i;

	qsort(times, n, sizeof(times[0]), bench_by_time);
	for (i = 0; i < n; i++)
		sum += times[i];
	fprintf(to, "%zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", n,
		n ? times[(n * 50 + 99) / 100 - 1] : 0, n ? times[(n * 99 + 99) / 100 - 1] : 0,
		n ? times[n - 1] : 0, n ? sum / n : 0);
}

void fini(void)
{
	const char *file = getenv("CEEMS_TIMED_OUT");
	FILE *to = file ? fopen(file, "ae") : NULL;

	if (to) {
		report(to);
		(void)fclose(to);
	}
	if (real.fini)
		real.fini();
}

int jobcomp_p_set_location(void)
{
	return real.set_location();
}

int jobcomp_p_log_record(void *job)
{
	uint64_t begin = bench_now_ns();
	int rc = real.log_record(job);

	add(begin);
	return rc;
}

int jobcomp_p_record_job_end(void *job, uint32_t event)
{
	uint64_t begin = bench_now_ns();
	int rc = real.job_end(job, event);

	add(begin);
	return rc;
}

/* Not timed: a job's end is what all have. */
int jobcomp_p_record_job_start(void *job, uint32_t event)
{
	return real.job_start(job, event);
}

void *jobcomp_p_get_jobs(void *cond)
{
	return real.get_jobs(cond);
}
