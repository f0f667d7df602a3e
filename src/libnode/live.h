/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h - what running steps did up to now, for ceems.prom. A step's slot gets its metric values from its
 * slurmstepd when it ends; a job that is one long step would stand still until then. So slurmd reads what
 * it can reach itself: CPU time of the cgroup and the maps of BPF programs. What only a slurmstepd can read
 * (hardware counters of --ceems-perf=hw) comes when the step ends. For the sampler's thread only.
 */
#ifndef CEEMS_LIVE_H
#define CEEMS_LIVE_H

#include "src/libledger/ledger.h"
#include "src/libnode/nodeprobes.h"
#include "src/libnode/readers.h"

/* The four files of a step's pressure cost some 40 us; they are opened for each reading. */
#define LIVE_PRESSURE_MAX 64

struct live;

/* Of one step. */
struct live_step {
	struct figures figures; /* they never go back */
};

/* -ENOMEM. */
int live_create(struct live **ret);
void live_destroy(struct live *live);

/* Reads the steps of the ledger's current page. NP may be NULL. */
void live_read(struct live *live, struct ledger *l, struct nodeprobes *np, struct readers *readers);

/* The step in SLOT with that claim. NULL: nothing is known of it. */
const struct live_step *live_find(const struct live *live, unsigned int slot, uint32_t claim);

#endif
