/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node.h - samplers at work on the simulated node. They are the ones in slurmd: the node shows them
 * its sensors and processors as files below SysRoot, and plays what does not come from there (the
 * clock, the cgroups of steps and their hardware counters) in their stead: see played.c.
 */
#ifndef CEEMS_NODE_H
#define CEEMS_NODE_H

#include "physics.h"
#include "scenario.h"
#include "src/libledger/ledger.h"

enum node_mode {
	MODE_COUNTERS,
	MODE_CPU_TIME, /* a machine whose counters may not be used */
	MODES
};

struct node;

/* Two samplers, one of each mode, on the machine that P tells of, with steps as S has them. */
struct node *node_create(const struct physics *p, const struct scenario *s);
void node_destroy(struct node *n);

/* What the plugin does in a step's slurmstepd: each of them asks for a tick. */
void node_claim(struct node *n, unsigned int step);
void node_attach(struct node *n, unsigned int step); /* it has a cgroup */
void node_finish(struct node *n, unsigned int step);

/* A tick of both samplers; steps that finished have their accounts after it. */
void node_tick(struct node *n);

const struct account *node_account(const struct node *n, enum node_mode mode, unsigned int step);

/* |measured - booked| in microjoules, of all ticks; and the whole that was measured. */
uint64_t node_unbalanced_uj(const struct node *n, enum node_mode mode);
uint64_t node_measured_uj(const struct node *n, enum node_mode mode);
/* By how much the sensors' files went on from the first tick to the last. */
uint64_t node_shown_uj(const struct node *n);

#endif
