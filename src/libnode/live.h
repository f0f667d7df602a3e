/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h - the metric values of running steps, for sstat and ceems.prom. Without them, a job of one
 * long step would show no value until it ends. slurmd itself reads CPU time and pressure of the cgroup,
 * memory, and the maps of BPF programs. The values that only a slurmstepd can read (hardware counters,
 * I/O by file system) come from the step's slot. The result is in the ledger, where slurmstepd finds
 * it (ledger_step_live()). For the sampler's thread only.
 */
#ifndef CEEMS_LIVE_H
#define CEEMS_LIVE_H

#include "src/libledger/ledger.h"
#include "src/libnode/nodeprobes.h"
#include "src/libnode/readers.h"

/* The four files of a step's pressure cost some 40 us; they are opened for each reading. */
#define LIVE_PRESSURE_MAX 64

struct live {
	unsigned int turn; /* of running steps, the one whose pressure is read first */
};

/* Reads the steps of the ledger's current page. NP may be NULL. */
void live_read(struct live *live, struct ledger *l, struct nodeprobes *np, struct readers *readers);

#endif
