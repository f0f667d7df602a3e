/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run.h"

#define TICK_NS UINT64_C(1000000000)

/* --- truth ------------------------------------------------------------------------------ */

/*
 * Idle power of a socket by the step's CPUs there, of its memory by the step's
 * allocation, where its CPUs are.
 */
static double static_j(const struct physics *p, const struct step_plan *s, uint64_t from_ns,
		       uint64_t until_ns)
{
	double mem = (double)s->mem_mb / s->ncpus / NODE_MEM_MB * SOCKETS;
	double w = 0;
	unsigned int i;

	for (i = 0; i < s->ncpus; i++) {
		unsigned int socket = s->cpu[i] / SOCKET_CPUS;

		w += p->k.idle_w[socket] / SOCKET_CPUS + p->k.dram_idle_w[socket] * mem;
	}
	return w * (double)(until_ns - from_ns) / 1e9;
}

struct share run_truth(const struct run *r, unsigned int step)
{
	const struct physics *p = &r->physics;
	const struct step_plan *plan = &r->scenario.step[step];
	double dynamic_j = p->cpu_j[step] + p->dram_j[step];

	return (struct share){
		.dynamic_j = dynamic_j,
		.total_j = dynamic_j + static_j(p, plan, plan->from_ns - STEP_NS, plan->until_ns),
	};
}

struct share run_ours(const struct run *r, enum node_mode mode, unsigned int step)
{
	const struct account *a = node_account(r->node, mode, step);
	double total_j = (double)account_total_uj(a) / 1e6;

	return (struct share){
		.total_j = total_j,
		.dynamic_j = total_j - (double)account_static_uj(a) / 1e6,
	};
}

/* --- a run ------------------------------------------------------------------------------ */

/* What steps begin or end now; true: somebody asks for a tick. */
static bool move_steps(struct run *r)
{
	uint64_t now = r->physics.now_ns;
	bool asks = false;
	unsigned int i;

	for (i = 0; i < r->scenario.nsteps; i++) {
		const struct step_plan *s = &r->scenario.step[i];

		if (now + STEP_NS == s->from_ns)
			node_claim(r->node, i);
		else if (now == s->from_ns)
			node_attach(r->node, i);
		else if (now == s->until_ns)
			node_finish(r->node, i);
		else
			continue;
		asks = true;
	}
	return asks;
}

void run_live(struct run *r)
{
	uint64_t next_ns = 0;

	while (r->physics.now_ns <= r->scenario.end_ns) {
		bool is_tick;

		node_move_counters(r->node);
		is_tick = move_steps(r) || r->physics.now_ns >= next_ns;

		if (is_tick) {
			node_tick(r->node);
			next_ns = r->physics.now_ns + TICK_NS;
		}
		peers_look(&r->peers, &r->physics, &r->scenario, is_tick);
		physics_advance(&r->physics, r->scenario.task, r->scenario.ntasks);
	}
}
