/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h - the metric values of running steps, for sstat and ceems.prom. Without them, a job of one
 * long step would show no value until it ends. slurmd reads CPU time and pressure from the cgroup,
 * the memory, and the maps of the BPF programs. Values that only a slurmstepd can read (hardware
 * counters, I/O by file system) come from the step's slot. The result is put into the ledger, where
 * slurmstepd reads it with ledger_step_live(). For the sampler's thread only.
 */
#ifndef CEEMS_LIVE_H
#define CEEMS_LIVE_H

#include "src/libledger/ledger.h"
#include "src/libnode/nodeprobes.h"
#include "src/libnode/readers.h"

/*
 * At most this many steps have their pressure read in one call. The four files of a step are opened
 * for each reading, which costs some 40 us.
 */
#define LIVE_PRESSURE_MAX 64

struct live {
	unsigned int turn; /* the step whose pressure is read first in the next call */
};

/* Reads the steps of the ledger's current page. NP may be NULL. */
void live_read(struct live *live, struct ledger *l, struct nodeprobes *np, struct readers *readers);

#endif
