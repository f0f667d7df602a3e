/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run.h - one run of a scenario on the simulated node, in virtual time: both samplers, the other programs,
 * and what each step really used.
 *
 * The truth of a step is its static share by the documented rule (its part of the node's idle power, which is
 * policy and not physics), and what its tasks drew above idle.
 */
#ifndef CEEMS_RUN_H
#define CEEMS_RUN_H

#include "node.h"
#include "peers.h"

struct run {
	struct physics physics;
	struct scenario scenario;
	struct peers peers;
	struct node *node;
};

/* Runs the scenario to its end. Physics, scenario and node were set; the rest is zeroed. */
void run_live(struct run *r);

struct share {
	double total_j, dynamic_j;
};

struct share run_truth(const struct run *r, unsigned int step);
struct share run_ours(const struct run *r, enum node_mode mode, unsigned int step);

#endif
