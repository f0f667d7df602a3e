/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history_plan.h - random histories of a node: what happens on it, before anybody measures it.
 */
#ifndef CEEMS_HISTORY_PLAN_H
#define CEEMS_HISTORY_PLAN_H

#include <string.h>

#include "fake_node.h"
#include "rnd.h"
#include "src/libledger/ledger.h"
#include "src/libutil/clock.h"

#define S NSEC_PER_SEC
#define JOBS 5
#define STEPS 4 /* of a job */
#define TICKS 12

struct step_plan {
	uint32_t step_id;
	struct split_alloc alloc;
	unsigned int from, until; /* ticks; it opens and closes some time before them */
	uint64_t open_ago_ns, close_ago_ns;
	uint64_t busy_ppm; /* of its CPUs; 0: idle */
	bool is_untold;	   /* its CPU time is not known before its end */
};

struct job_plan {
	uint32_t job_id;
	struct split_alloc alloc;
	unsigned int nsteps;
	struct step_plan step[STEPS];
	unsigned int suspended_from, suspended_until;
	unsigned int shrinks_at; /* from then on it has half the memory */
};

struct history {
	unsigned int sockets, gpus;
	bool has_dram, has_node, is_whole_node, has_reset;
	unsigned int period; /* of the node's sensor, in ticks */
	uint32_t socket_cpus[SOCKETS_MAX];
	uint32_t cpus;
	uint64_t mem_mb;
	uint64_t raw_uj[SENSORS][SENSOR_COUNTERS]; /* at the beginning */
	uint64_t dt_ns[TICKS];
	uint64_t fed_uj[TICKS][SENSORS][SENSOR_COUNTERS];
	enum sensor_fault fault[TICKS][SENSORS];
	bool reset[TICKS];
	uint64_t system_ns[TICKS][SOCKETS_MAX];
	unsigned int njobs;
	bool has_twins; /* jobs 0 and 1 are equal */
	struct job_plan job[JOBS];
};

/*
 * Far more than counter.h takes for energy: a counter wraps once at most between two readings, and
 * one that is reset from the lower half cannot seem to have wrapped.
 */
#define RANGE_UJ UINT64_C(4000000000000)

static void plan_alloc(const struct history *h, const struct split_alloc *within, struct split_alloc *ret)
{
	bool knows_sockets = rnd(2);
	unsigned int i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < h->sockets; i++) {
		uint32_t n = (uint32_t)rnd((uint64_t)(within ? within->socket_cpus[i] : h->socket_cpus[i]) +
					   1);

		ret->cpus += n;
		ret->socket_cpus[i] = knows_sockets ? n : 0;
	}
	ret->mem_mb = rnd(3) ? rnd(h->mem_mb / 2) : 0;
	for (i = 0; i < h->gpus; i++)
		ret->gpu_ppm[i] = (uint32_t)rnd(2) * (within ? within->gpu_ppm[i] : 1000000);
}

static void plan_step(const struct history *h, struct step_plan *s)
{
	s->open_ago_ns = rnd(h->dt_ns[s->from]);
	s->close_ago_ns = rnd(s->until == s->from ? s->open_ago_ns : h->dt_ns[s->until]);
	s->busy_ppm = rnd(3) ? rnd(1000001) : 0;
	s->is_untold = !rnd(6);
}

/* Extern and batch hold all of the job, from its first moment on. */
static bool holds_all(const struct step_plan *s)
{
	return s->step_id == LEDGER_STEP_EXTERN || s->step_id == LEDGER_STEP_BATCH;
}

static void plan_job(const struct history *h, struct job_plan *job)
{
	static const uint32_t first[] = { LEDGER_STEP_EXTERN, LEDGER_STEP_BATCH };
	unsigned int from = 1 + (unsigned int)rnd(TICKS - 4);
	unsigned int until = from + (unsigned int)rnd(TICKS - 2 - from);
	unsigned int i;

	plan_alloc(h, NULL, &job->alloc);
	job->nsteps = 1 + (unsigned int)rnd(STEPS);
	for (i = 0; i < job->nsteps; i++) {
		struct step_plan *s = &job->step[i];

		s->step_id = i < 2 && rnd(2) ? first[i] : i;
		s->from = holds_all(s) ? from : from + (unsigned int)rnd(until - from + 1);
		s->until = holds_all(s) ? until : s->from + (unsigned int)rnd(until - s->from + 1);
		if (holds_all(s))
			s->alloc = job->alloc;
		else
			plan_alloc(h, &job->alloc, &s->alloc);
		plan_step(h, s);
	}
	if (!rnd(3)) {
		job->suspended_from = (unsigned int)rnd(TICKS);
		job->suspended_until = job->suspended_from + (unsigned int)rnd(TICKS);
	}
	job->shrinks_at = (unsigned int)rnd(2 * TICKS);
}

static void plan_sensors(struct history *h)
{
	unsigned int t;
	unsigned int s;
	unsigned int c;

	for (s = 0; s < SENSORS; s++)
		for (c = 0; c < SENSOR_COUNTERS; c++)
			h->raw_uj[s][c] = h->has_reset || rnd(3) ? rnd(RANGE_UJ / 2) :
								   RANGE_UJ - rnd(100000000);
	for (t = 0; t < TICKS; t++) {
		for (s = 0; s < SENSORS; s++) {
			for (c = 0; c < SENSOR_COUNTERS; c++)
				h->fed_uj[t][s][c] = rnd(6) ? rnd(300 * h->dt_ns[t] / 1000 + 1) : 0;
			/* the first reading is the base, and the last two bring what is missing */
			if (t && t < TICKS - 2 && !rnd(6))
				h->fault[t][s] = (enum sensor_fault)rnd(SENSOR_IS_LATE + 1);
		}
		for (c = 0; c < h->sockets; c++)
			h->system_ns[t][c] = rnd(2) * rnd(h->dt_ns[t]);
		h->reset[t] = h->has_reset && t && t < TICKS - 4 && !rnd(4);
	}
}

static void plan_history(struct history *h)
{
	unsigned int i;

	memset(h, 0, sizeof(*h));
	h->sockets = 1 + (unsigned int)rnd(4);
	h->gpus = rnd(2) ? (unsigned int)rnd(SENSOR_COUNTERS + 1) : 0;
	h->has_dram = rnd(2);
	h->has_node = rnd(2);
	h->is_whole_node = rnd(2);
	h->has_reset = !rnd(4);
	h->period = 1 + (unsigned int)rnd(4);
	h->mem_mb = 1000 + rnd(1000000);
	for (i = 0; i < h->sockets; i++)
		h->cpus += h->socket_cpus[i] = 1 + (uint32_t)rnd(8);
	for (i = 0; i < TICKS; i++)
		h->dt_ns[i] = rnd(8) ? 1 + rnd(S) : 1 + rnd(5 * S);
	plan_sensors(h);
	h->njobs = (unsigned int)rnd(JOBS + 1);
	for (i = 0; i < h->njobs; i++) {
		plan_job(h, &h->job[i]);
		h->job[i].job_id = 100 + i;
	}
	h->has_twins = h->njobs > 1 && rnd(2);
	if (h->has_twins) {
		h->job[1] = h->job[0];
		h->job[1].job_id = 101;
	}
}

#endif
