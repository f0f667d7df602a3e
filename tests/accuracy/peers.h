/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peers.h - the energy that other programs would report for the steps of the simulated node: their formulas
 * on the same sensors, without faults of a sensor, a network or a database.
 */
#ifndef CEEMS_PEERS_H
#define CEEMS_PEERS_H

#include <stdbool.h>

#include "physics.h"
#include "scenario.h"

enum peer {
	/* All measured energy, divided by CPU time; read at every tick of our sampler. */
	PEER_CPU_SHARE,
	/*
	 * CEEMS 0.10, its rule for nodes with RAPL: P_package c_j / C + P_dram m_j / M from the rates
	 * between two scrapes, 15 s apart. M lacks the page cache, which is
	 * charged to no job.
	 */
	PEER_CEEMS,
	/*
	 * Kepler 0.10 and later: the node's energy in 5 s times the node's utilisation, by CPU time. It
	 * calls the rest idle and gives it to no container.
	 */
	PEER_KEPLER,
	/* Slurm's acct_gather_energy/rapl: what the node uses while the step runs is the step's. */
	PEER_SLURM,
	PEERS
};

/* What was read at one instant. */
struct peers_sample {
	uint64_t now_ns;
	double package_j, dram_j;
	uint64_t node_ns;
	uint64_t step_ns[MAX_STEPS];
};

/* Zeroed: nothing read yet. */
struct peers {
	struct peers_sample last[PEERS];
	double j[PEERS][MAX_STEPS];
};

/* Call this at every instant; each program reads when it is due. IS_TICK: our sampler reads now, too. */
void peers_look(struct peers *p, const struct physics *now, const struct scenario *s, bool is_tick);

#endif
