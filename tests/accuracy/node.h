/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node.h - slurmd's samplers on the simulated node. They read its sensors and processors from files below
 * SysRoot. played.c replaces what they do not read there: the clock, the cgroups of steps and their hardware
 * counters.
 */
#ifndef CEEMS_NODE_H
#define CEEMS_NODE_H

#include "physics.h"
#include "scenario.h"
#include "src/libledger/ledger.h"

enum node_mode {
	MODE_COUNTERS,
	MODE_CPU_TIME, /* a machine without usable hardware counters */
	MODES
};

struct node;

/* Two samplers, one of each mode, on the machine P with the steps of S. */
struct node *node_create(const struct physics *p, const struct scenario *s);
void node_destroy(struct node *n);

/* What the plugin does in a step's slurmstepd: each call requests a tick. */
void node_claim(struct node *n, unsigned int step);
void node_attach(struct node *n, unsigned int step); /* its cgroup is known */
void node_finish(struct node *n, unsigned int step);

/* The sensors' counters move, if it is time. Call it at every instant, before a tick. */
void node_move_counters(struct node *n);

/* A tick of both samplers; steps that finished have their accounts after it. */
void node_tick(struct node *n);

const struct account *node_account(const struct node *n, enum node_mode mode, unsigned int step);

/* Sums over all ticks, in microjoules: |measured - booked|, and measured. */
uint64_t node_unbalanced_uj(const struct node *n, enum node_mode mode);
uint64_t node_measured_uj(const struct node *n, enum node_mode mode);
/* What is measured, but not booked yet. */
uint64_t node_held_uj(const struct node *n, enum node_mode mode);
/* By how much the sensors' counters grew from the first tick to the last. */
uint64_t node_shown_uj(const struct node *n);

#endif
