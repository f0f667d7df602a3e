/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scenario.h"

#include <stdlib.h>

#include "src/libutil/util.h"

#define MS UINT64_C(1000000)
#define IDLE_S 30 /* before anything runs: idle power is learned */
#define END_S 150
#define SHORT_STEPS 40
#define SECONDS_CPUS 12
#define MB_PER_CPU (NODE_MEM_MB / CPUS)

static uint64_t at(double seconds)
{
	return (uint64_t)(seconds * 1e9 / (double)STEP_NS) * STEP_NS;
}

/* N CPUs from FIRST on, each STRIDE-th: 1 both threads of a core, 2 one of them. */
static struct step_plan *add_step(struct scenario *s, unsigned int first, unsigned int n, unsigned int stride,
				  double from_s, double until_s)
{
	struct step_plan *p = &s->step[s->nsteps++];

	p->job_id = s->nsteps;
	for (p->ncpus = 0; p->ncpus < n; p->ncpus++)
		p->cpu[p->ncpus] = first + p->ncpus * stride;
	p->mem_mb = (uint64_t)n * MB_PER_CPU;
	p->used_mb = p->mem_mb / 4;
	p->from_ns = at(from_s);
	p->until_ns = at(until_s);
	if (p->until_ns > s->end_ns)
		s->end_ns = p->until_ns;
	return p;
}

static void add_task(struct scenario *s, const struct task *t)
{
	if (s->ntasks == MAX_TASKS)
		abort();
	s->task[s->ntasks++] = *t;
}

/* A task on each STRIDE-th CPU of the step that was added last. */
static void load(struct scenario *s, struct task like, unsigned int stride)
{
	const struct step_plan *p = &s->step[s->nsteps - 1];
	unsigned int i;

	like.step = s->nsteps - 1;
	for (i = 0; i < p->ncpus; i += stride) {
		like.cpu = p->cpu[i];
		add_task(s, &like);
	}
}

static void end_tasks(struct scenario *s, unsigned int step, uint64_t until_ns)
{
	unsigned int i;

	for (i = 0; i < s->ntasks; i++)
		if (s->task[i].step == step)
			s->task[i].until_ns = until_ns;
}

static void load_all(struct scenario *s, enum kind kind)
{
	const struct step_plan *p = &s->step[s->nsteps - 1];

	load(s, (struct task){ .kind = kind, .from_ns = p->from_ns, .until_ns = p->until_ns }, 1);
}

/* Daemons: so much of every second, on N CPUs all over the node. */
static void add_system(struct scenario *s, unsigned int n, uint32_t duty_ppm)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		add_task(s, &(struct task){ .step = SYSTEM,
					    .cpu = i * CPUS / n,
					    .kind = KIND_BRANCHY,
					    .until_ns = UINT64_MAX,
					    .duty_ppm = duty_ppm,
					    .period_ns = 1000 * MS });
}

static double draw(uint32_t *seed, double from, double to)
{
	return from + (to - from) * physics_random(seed);
}

static enum kind draw_kind(uint32_t *seed)
{
	return (enum kind)draw(seed, 0, KIND_N);
}

/*
 * A program: phases of 2 to 12 s, most of them of its own kind, on both threads of each core or on
 * one.
 */
static void load_phases(struct scenario *s, uint32_t *seed)
{
	const struct step_plan *p = &s->step[s->nsteps - 1];
	enum kind main_kind = draw_kind(seed);
	uint64_t t = p->from_ns;

	while (t < p->until_ns) {
		uint64_t until = t + at(draw(seed, 2, 12));
		unsigned int stride = physics_random(seed) < 0.3 ? 2 : 1;
		enum kind kind = physics_random(seed) < 0.3 ? draw_kind(seed) : main_kind;

		if (until > p->until_ns)
			until = p->until_ns;
		load(s, (struct task){ .kind = kind, .from_ns = t, .until_ns = until }, stride);
		t = until;
	}
}

/* --- the kinds -------------------------------------------------------------------------- */

static void make_exclusive(struct scenario *s, uint32_t *seed)
{
	add_system(s, 4, 10000);
	(void)add_step(s, 0, CPUS, 1, IDLE_S, END_S);
	load_phases(s, seed);
}

static void add_mixed_jobs(struct scenario *s, uint32_t *seed, double from_s, double until_s)
{
	unsigned int i;

	add_system(s, 4, 10000);
	for (i = 0; i < 4; i++) {
		(void)add_step(s, i * 8, 8, 1, from_s + 2 * i, until_s - 3 * i);
		load_phases(s, seed);
	}
}

static void make_mixed(struct scenario *s, uint32_t *seed)
{
	add_mixed_jobs(s, seed, IDLE_S, END_S);
}

static void make_mixed_long(struct scenario *s, uint32_t *seed)
{
	add_mixed_jobs(s, seed, IDLE_S, IDLE_S + 450);
}

static void make_never_idle(struct scenario *s, uint32_t *seed)
{
	add_mixed_jobs(s, seed, 0.1, END_S - IDLE_S);
}

/* Nor is a socket ever without a job. */
static void make_busy_sockets(struct scenario *s, uint32_t *seed)
{
	unsigned int i;

	add_system(s, 4, 10000);
	for (i = 0; i < 4; i++) {
		(void)add_step(s, i * 8, 8, 1, 0.1, END_S - IDLE_S);
		load_phases(s, seed);
	}
}

static void make_siblings(struct scenario *s, uint32_t *seed)
{
	unsigned int i;

	add_system(s, 4, 10000);
	for (i = 0; i < 2; i++) { /* one thread each of the first half of the cores */
		(void)add_step(s, i, 8, 2, IDLE_S, END_S);
		load_phases(s, seed);
	}
	(void)add_step(s, 16, 4, 2, IDLE_S, END_S); /* cores of its own */
	load_phases(s, seed);
}

static void make_memory_beside_compute(struct scenario *s, uint32_t *seed)
{
	(void)seed;
	add_system(s, 4, 10000);
	(void)add_step(s, 0, 8, 1, IDLE_S, END_S);
	load_all(s, KIND_COMPUTE);
	add_step(s, 8, 8, 1, IDLE_S, END_S)->used_mb *= 3;
	load_all(s, KIND_MEMORY);
}

static void make_bursty(struct scenario *s, uint32_t *seed)
{
	unsigned int i;

	add_system(s, 4, 10000);
	for (i = 0; i < 4; i++) {
		const struct step_plan *p = add_step(s, i * 8, 8, 1, IDLE_S + i, END_S);

		load(s,
		     (struct task){ .kind = draw_kind(seed),
				    .from_ns = p->from_ns,
				    .until_ns = p->until_ns,
				    .duty_ppm = (uint32_t)draw(seed, 200000, 800000),
				    .period_ns = at(draw(seed, 0.3, 4)) },
		     1);
	}
}

static void make_sockets(struct scenario *s, uint32_t *seed)
{
	unsigned int i;

	add_system(s, 4, 10000);
	for (i = 0; i < SOCKETS; i++) {
		(void)add_step(s, i * SOCKET_CPUS, SOCKET_CPUS, 1, IDLE_S, END_S);
		load_phases(s, seed);
	}
}

/* N steps of 100 ms of one job, one after the other. */
static void add_short_steps(struct scenario *s, uint32_t *seed, unsigned int n)
{
	unsigned int job_id = s->nsteps + 1;
	unsigned int i;

	for (i = 0; i < n; i++) {
		double from_s = IDLE_S + 20 + 2.3 * i + draw(seed, 0, 1);

		add_step(s, 0, 4, 1, from_s, from_s + 0.1)->job_id = job_id;
		load_all(s, draw_kind(seed));
	}
}

static void add_short_steps_alone(struct scenario *s, uint32_t *seed, unsigned int n)
{
	add_system(s, 4, 10000);
	(void)add_step(s, SOCKET_CPUS, SOCKET_CPUS, 1, IDLE_S, IDLE_S + 28 + 2.3 * n);
	load_phases(s, seed);
	add_short_steps(s, seed, n);
}

static void make_short_steps_alone(struct scenario *s, uint32_t *seed)
{
	add_short_steps_alone(s, seed, SHORT_STEPS);
}

static void make_more_alone(struct scenario *s, uint32_t *seed)
{
	add_short_steps_alone(s, seed, 2 * SHORT_STEPS);
}

/* Another job fills the rest of the socket; its energy per instruction, which no event shows, may differ. */
static void add_short_steps_beside(struct scenario *s, uint32_t *seed, unsigned int n)
{
	add_system(s, 4, 10000);
	(void)add_step(s, 4, 12, 1, IDLE_S, IDLE_S + 28 + 2.3 * n);
	load_phases(s, seed);
	add_short_steps(s, seed, n);
}

static void make_short_steps_beside(struct scenario *s, uint32_t *seed)
{
	add_short_steps_beside(s, seed, SHORT_STEPS);
}

static void make_lengths_beside(struct scenario *s, uint32_t *seed)
{
	unsigned int i;

	add_short_steps_beside(s, seed, 2 * SHORT_STEPS);
	for (i = 1; i < s->nsteps; i++) {
		uint64_t ns = at(draw(seed, 0.05, 0.2));

		s->step[i].until_ns = s->step[i].from_ns + ns;
		end_tasks(s, i, s->step[i].until_ns);
	}
}

static void make_more_beside(struct scenario *s, uint32_t *seed)
{
	add_short_steps_beside(s, seed, 2 * SHORT_STEPS);
}

/* Jobs of 50 ms on one CPU each: bursts of 18, three or four at a time, beside a job on the socket. */
static void make_crowd(struct scenario *s, uint32_t *seed)
{
	unsigned int i;

	add_system(s, 4, 10000);
	(void)add_step(s, 4, 12, 1, IDLE_S, IDLE_S + 50);
	load_phases(s, seed);
	for (i = 0; i < 180; i++) {
		double from_s = IDLE_S + 5 + 4 * (i / 18) + 0.015 * (i % 18) + draw(seed, 0, 0.01);

		(void)add_step(s, i % 4, 1, 1, from_s, from_s + 0.05);
		load_all(s, draw_kind(seed));
	}
}

/* Jobs of 0.5 to 3 s with short breaks; on the other socket, a crowd of short steps makes many ticks. */
static void make_seconds(struct scenario *s, uint32_t *seed)
{
	double t = IDLE_S + 5;
	unsigned int i;

	add_system(s, 4, 10000);
	for (i = 0; i < 40; i++) {
		double from_s = t;

		t += draw(seed, 0.5, 3);
		(void)add_step(s, 0, SECONDS_CPUS, 1, from_s, t);
		load_all(s, draw_kind(seed));
		t += draw(seed, 0.02, 0.3);
	}
	for (i = 0; i < 150; i++) {
		double from_s = IDLE_S + 5 + 0.4 * i + draw(seed, 0, 0.2);

		(void)add_step(s, SOCKET_CPUS + i % 4, 1, 1, from_s, from_s + 0.05);
		load_all(s, draw_kind(seed));
	}
}

static void make_idle_job(struct scenario *s, uint32_t *seed)
{
	const struct step_plan *p;

	add_system(s, 4, 10000);
	(void)add_step(s, 0, 8, 1, IDLE_S, END_S);
	load_phases(s, seed);
	p = add_step(s, 8, 8, 1, IDLE_S, END_S);
	load(s,
	     (struct task){ .kind = KIND_BRANCHY, .from_ns = p->from_ns, .until_ns = p->from_ns + 20 * MS },
	     8);
}

static void make_system_noise(struct scenario *s, uint32_t *seed)
{
	unsigned int i;

	add_system(s, 8, 10000);
	for (i = 0; i < 8; i++) /* and a backup that begins with the jobs */
		add_task(s, &(struct task){ .step = SYSTEM,
					    .cpu = 4 * i + 3,
					    .kind = KIND_MEMORY,
					    .from_ns = at(IDLE_S),
					    .until_ns = UINT64_MAX,
					    .duty_ppm = 250000,
					    .period_ns = 700 * MS });
	for (i = 0; i < 3; i++) {
		(void)add_step(s, i * 8, 8, 1, IDLE_S, END_S);
		load_phases(s, seed);
	}
}

/* Targets for mixed load. The other limits below are a tenth above the errors measured once. */
#define MIXED                                          \
	{                                              \
		.mean_counters = 3, .mean_cpu_time = 7 \
	}
#define NO_SHARING                                                              \
	{                                                                       \
		.mean_counters = 0.5, .mean_cpu_time = 0.5, .worst_counters = 1 \
	}

const struct scenario_kind scenario_kinds[] = {
	{ .name = "one job has the node", .make = make_exclusive, .target = NO_SHARING },
	{ .name = "mixed jobs, 2 minutes", .make = make_mixed, .target = MIXED },
	{ .name = "mixed jobs, 7 minutes", .make = make_mixed_long, .target = MIXED },
	{ .name = "mixed jobs, never seen idle",
	  .make = make_never_idle,
	  .target = { .mean_counters = 3.2, .mean_cpu_time = 4.6, .mean_above_idle = 9.5 } },
	{ .name = "mixed jobs, no socket ever idle",
	  .make = make_busy_sockets,
	  .target = { .mean_counters = 3.3, .mean_cpu_time = 4.9, .mean_above_idle = 38.5 } },
	{ .name = "jobs on each other's SMT siblings", .make = make_siblings, .target = MIXED },
	{ .name = "memory beside compute bound", .make = make_memory_beside_compute, .target = MIXED },
	{ .name = "bursts", .make = make_bursty, .target = MIXED },
	{ .name = "one job on each socket", .make = make_sockets, .target = NO_SHARING },
	{ .name = "an idle job beside a busy one", .make = make_idle_job, .target = NO_SHARING },
	{ .name = "a busy system beside jobs", .make = make_system_noise, .target = MIXED },
	{ .name = "steps of 100 ms, alone on a socket",
	  .make = make_short_steps_alone,
	  .target = { .mean_counters = 0.6, .worst_counters = 3.5 },
	  .is_of_short_steps = true },
	{ .name = "steps of 100 ms beside a job",
	  .make = make_short_steps_beside,
	  .target = { .mean_counters = 7, .worst_counters = 47 },
	  .is_of_short_steps = true },
};
const unsigned int scenario_nkinds = ARRAY_SIZE(scenario_kinds);

const struct scenario_kind scenario_short[] = {
	{ .name = "100 ms, alone on a socket", .make = make_more_alone, .is_of_short_steps = true },
	{ .name = "100 ms, beside a job", .make = make_more_beside, .is_of_short_steps = true },
	{ .name = "50 to 200 ms, beside a job", .make = make_lengths_beside, .is_of_short_steps = true },
	{ .name = "jobs of 50 ms, beside a job", .make = make_crowd, .is_of_short_steps = true },
	{ .name = "0.5 to 3 s, alone on a socket", .make = make_seconds, .ncpus = SECONDS_CPUS },
	{ .name = "mixed jobs, 2 minutes", .make = make_mixed },
};
const unsigned int scenario_nshort = ARRAY_SIZE(scenario_short);
