/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steplive.h - what only a step's slurmstepd can read while the step runs: hardware counters, whose descriptors
 * it holds, I/O by file system, RDMA ports, and the kernel's memory peaks. It publishes them in the step's slot of the
 * ledger, from which the sampler takes them for ceems.prom (live.h). It reads when Slurm polls; for a step with
 * --ceems-perf=hw a thread reads, too, since Slurm polls every 30 s by default.
 */
#ifndef CEEMS_STEPLIVE_H
#define CEEMS_STEPLIVE_H

#include "src/libledger/ledger.h"
#include "src/libnode/stepprobes.h"

/* How often the thread reads: more often than ceems.prom is written, so that each file has another value. */
#define STEPLIVE_EVERY_NS (4 * UINT64_C(1000000000))
/* sstat makes Slurm poll once for each task; one reading does for all of them. */
#define STEPLIVE_AGAIN_NS (100 * UINT64_C(1000000))

struct steplive;

struct steplive_setup {
	struct ledger *ledger; /* borrowed until steplive_stop(), as is the next */
	unsigned int slot;
	struct stepprobes *probes; /* used by nobody else until then; NULL: there are none */
	uint64_t every_ns; /* a thread reads so often; 0: there is none */
};

/* 0 also without a thread, if there cannot be one. -ENOMEM. */
int steplive_start(const struct steplive_setup *setup, struct steplive **ret);

/* Polls the probes and publishes. Never waits for the thread: what that does just now need not be done. */
void steplive_poll(struct steplive *sl);

/* The thread is gone when this returns. NULL: no-op. */
void steplive_stop(struct steplive *sl);

#endif
