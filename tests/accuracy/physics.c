/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "physics.h"

#include <string.h>

#define STEP_S ((double)STEP_NS / 1e9)

static const struct {
	double ipc;    /* alone on its core */
	double factor; /* of the energy of an instruction */
	double misses; /* last-level cache, per 1,000 instructions */
} kinds[KIND_N] = {
	[KIND_COMPUTE] = { 2.2, 1.0, 0.1 }, [KIND_VECTOR] = { 1.8, 2.0, 0.8 },
	[KIND_MEMORY] = { 0.6, 1.1, 22 },   [KIND_CHASE] = { 0.25, 0.9, 14 },
	[KIND_BRANCHY] = { 1.1, 1.15, 1 },  [KIND_SPIN] = { 2.8, 0.75, 0 },
};

/* Two threads of a core get so much of its instructions per cycle each. */
#define SMT_IPC 0.62

double physics_random(uint32_t *seed)
{
	/* xorshift32, Marsaglia 2003 */
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return (double)*seed / 4294967296.0;
}

/* A number of a range SPREAD times as wide as from FROM to TO. */
struct draw {
	uint32_t seed;
	double spread;
};

static double between(struct draw *d, double from, double to)
{
	double half = (to - from) / 2 * d->spread;

	return (from + to) / 2 - half + 2 * half * physics_random(&d->seed);
}

void physics_init(struct physics *p, uint32_t seed, double spread)
{
	struct draw d = { .seed = seed * 2654435761u + 1, .spread = spread };
	double dram_idle_w;
	double idle_w;
	unsigned int i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < 8; i++)
		(void)physics_random(&d.seed);
	idle_w = between(&d, 25, 40);
	dram_idle_w = between(&d, 5, 9);
	p->k = (struct physics_constants){
		.wake_w = between(&d, 3, 8),
		.cycle_nj = between(&d, 0.5, 1.1),
		.instruction_nj = between(&d, 0.2, 0.5),
		.miss_nj = between(&d, 4, 14),
		.dram_miss_nj = between(&d, 10, 20),
		.smt_ratio = between(&d, 1.05, 1.3),
	};
	for (i = 0; i < KIND_N; i++)
		p->k.kind_factor[i] = 1 + (kinds[i].factor - 1) * between(&d, 0.7, 1.3);
	for (i = 0; i < SOCKETS; i++) {
		p->k.idle_w[i] = idle_w * between(&d, 0.9, 1.1);
		p->k.dram_idle_w[i] = dram_idle_w * between(&d, 0.9, 1.1);
	}
}

/* Finds the tasks that have begun and not ended: few of the thousands of a scenario. */
static void find_present(struct physics *p, const struct task *task, unsigned int n)
{
	unsigned int i;

	p->npresent = 0;
	p->change_ns = UINT64_MAX;
	for (i = 0; i < n; i++) {
		const struct task *t = &task[i];
		bool has_begun = p->now_ns >= t->from_ns;
		uint64_t change_ns = has_begun ? t->until_ns : t->from_ns;

		if (p->now_ns >= t->until_ns)
			continue;
		if (has_begun)
			p->present[p->npresent++] = i;
		if (change_ns < p->change_ns)
			p->change_ns = change_ns;
	}
}

/* Whether a task that is present uses its CPU now. */
static bool runs(const struct task *t, uint64_t now_ns)
{
	return !t->period_ns || (now_ns - t->from_ns) % t->period_ns < t->period_ns / 1000000 * t->duty_ppm;
}

/* Which task runs on which CPU in this time step; two tasks on one CPU alternate. */
static void schedule(struct physics *p, const struct task *task, unsigned int n, const struct task *on[CPUS])
{
	bool is_odd = p->now_ns / STEP_NS % 2;
	unsigned int i;

	if (p->now_ns >= p->change_ns)
		find_present(p, task, n);
	memset(on, 0, CPUS * sizeof(*on));
	for (i = 0; i < p->npresent; i++) {
		const struct task *t = &task[p->present[i]];

		if (runs(t, p->now_ns) && (!on[t->cpu] || is_odd))
			on[t->cpu] = t;
	}
}

static unsigned int socket_of(unsigned int cpu)
{
	return cpu / SOCKET_CPUS;
}

/* GHz of a core, with so many running on its socket. */
static double frequency(unsigned int running, bool has_vector)
{
	double ghz = 3.5 - 0.1 * (running - 1);

	return has_vector ? ghz * 0.93 : ghz;
}

/* Energy goes with the square of the voltage, which rises by 0.1 V per GHz from 0.76 V at 2.6. */
static double voltage_factor(double ghz)
{
	double v = (0.76 + 0.1 * (ghz - 2.6)) / 0.76;

	return v * v;
}

static void charge(struct physics *p, unsigned int step, unsigned int socket, double cpu_j, double dram_j)
{
	p->cpu_j[step] += cpu_j;
	p->dram_j[step] += dram_j;
	p->socket_j[socket] += cpu_j;
	p->dram_socket_j[socket] += dram_j;
}

static void run_thread(struct physics *p, const struct task *t, const struct task *sibling,
		       unsigned int running)
{
	bool has_vector = t->kind == KIND_VECTOR || (sibling && sibling->kind == KIND_VECTOR);
	double ghz = frequency(running, has_vector);
	double cycles = ghz * 1e9 * STEP_S;
	double instructions = cycles * kinds[t->kind].ipc * (sibling ? SMT_IPC : 1);
	double misses = instructions * kinds[t->kind].misses / 1000;
	double share = sibling ? p->k.smt_ratio / 2 : 1;
	double j = (cycles * p->k.cycle_nj * share +
		    instructions * p->k.instruction_nj * p->k.kind_factor[t->kind]) *
		   voltage_factor(ghz);
	const double events[EVENT_N] = { cycles, instructions, misses };
	unsigned int e;

	charge(p, t->step, socket_of(t->cpu), (j + misses * p->k.miss_nj) / 1e9,
	       misses * p->k.dram_miss_nj / 1e9);
	for (e = 0; e < EVENT_N; e++)
		p->count[t->step][t->cpu][e] += (uint64_t)events[e];
	p->ran_ns[t->step][t->cpu] += STEP_NS;
	p->cpu_ns[t->cpu] += STEP_NS;
	p->step_ns[t->step] += STEP_NS;
}

static void advance_socket(struct physics *p, unsigned int socket, const struct task *const on[CPUS])
{
	const unsigned int first = socket * SOCKET_CPUS;
	unsigned int threads = 0;
	unsigned int cores = 0;
	unsigned int i;

	for (i = first; i < first + SOCKET_CPUS; i++) {
		threads += on[i] != NULL;
		cores += i % 2 == 0 && (on[i] || on[i + 1]);
	}
	for (i = first; i < first + SOCKET_CPUS; i++) {
		if (!on[i])
			continue;
		run_thread(p, on[i], on[i ^ 1], cores);
		charge(p, on[i]->step, socket, p->k.wake_w * STEP_S / threads, 0);
	}
	p->socket_j[socket] += p->k.idle_w[socket] * STEP_S;
	p->dram_socket_j[socket] += p->k.dram_idle_w[socket] * STEP_S;
}

void physics_advance(struct physics *p, const struct task *task, unsigned int n)
{
	const struct task *on[CPUS];
	unsigned int s;

	schedule(p, task, n, on);
	for (s = 0; s < SOCKETS; s++)
		advance_socket(p, s, on);
	p->now_ns += STEP_NS;
}
