/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peers.h"

#include <string.h>

#define S UINT64_C(1000000000)

/* 0: at our sampler's ticks. */
static const uint64_t every_ns[PEERS] = {
	[PEER_CEEMS] = 15 * S,
	[PEER_KEPLER] = 5 * S,
};

static void take_sample(const struct physics *p, struct peers_sample *ret)
{
	unsigned int i;

	*ret = (struct peers_sample){ .now_ns = p->now_ns };
	for (i = 0; i < SOCKETS; i++) {
		ret->package_j += p->socket_j[i];
		ret->dram_j += p->dram_socket_j[i];
	}
	for (i = 0; i < CPUS; i++)
		ret->node_ns += p->cpu_ns[i];
	memcpy(ret->step_ns, p->step_ns, sizeof(ret->step_ns));
}

/* Present at both ends of the window: a program that polls sees no other step. */
static bool is_seen(const struct step_plan *s, uint64_t from_ns, uint64_t until_ns)
{
	return s->from_ns <= from_ns && until_ns <= s->until_ns;
}

static bool is_there(const struct step_plan *s, uint64_t from_ns, uint64_t until_ns)
{
	return s->from_ns < until_ns && from_ns < s->until_ns;
}

static double held_mb(const struct scenario *s, uint64_t now_ns)
{
	double mb = SYSTEM_MEM_MB;
	unsigned int i;

	for (i = 0; i < s->nsteps; i++)
		if (is_there(&s->step[i], now_ns - 1, now_ns))
			mb += (double)s->step[i].used_mb;
	return mb;
}

static void charge(struct peers *p, enum peer who, const struct peers_sample *now, const struct scenario *s)
{
	const struct peers_sample *was = &p->last[who];
	double package_j = now->package_j - was->package_j;
	double dram_j = now->dram_j - was->dram_j;
	double node_ns = (double)(now->node_ns - was->node_ns);
	double used = node_ns / ((double)(now->now_ns - was->now_ns) * CPUS);
	unsigned int i;

	for (i = 0; i < s->nsteps; i++) {
		double ns = (double)(now->step_ns[i] - was->step_ns[i]);
		double share = node_ns > 0 ? ns / node_ns : 0;

		if (who == PEER_CPU_SHARE)
			p->j[who][i] += (package_j + dram_j) * share;
		else if (who == PEER_SLURM && is_there(&s->step[i], was->now_ns, now->now_ns))
			p->j[who][i] += package_j + dram_j;
		else if (who == PEER_KEPLER && is_seen(&s->step[i], was->now_ns, now->now_ns))
			p->j[who][i] += (package_j + dram_j) * used * share;
		else if (who == PEER_CEEMS && is_seen(&s->step[i], was->now_ns, now->now_ns))
			p->j[who][i] += package_j * share +
					dram_j * (double)s->step[i].used_mb / held_mb(s, now->now_ns);
	}
}

void peers_look(struct peers *p, const struct physics *physics, const struct scenario *s, bool is_tick)
{
	struct peers_sample now;
	unsigned int who;

	for (who = 0; who < PEERS; who++) {
		if (physics->now_ns == p->last[who].now_ns ||
		    (every_ns[who] ? physics->now_ns % every_ns[who] != 0 : !is_tick))
			continue;
		take_sample(physics, &now);
		charge(p, who, &now, s);
		p->last[who] = now;
	}
}
