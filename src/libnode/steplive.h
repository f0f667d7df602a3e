/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steplive.h - publishes the values of a running step that only its slurmstepd can read: hardware counters, I/O by file
 * system, RDMA ports, and the kernel's memory peaks. slurmstepd writes them into the step's slot of the ledger, and the
 * sampler takes them from there for ceems.prom (live.h). They are read when Slurm polls, every 30 s by default. For a
 * step with --ceems-perf=hw, a thread reads them more often.
 */
#ifndef CEEMS_STEPLIVE_H
#define CEEMS_STEPLIVE_H

#include "src/libledger/ledger.h"
#include "src/libnode/stepprobes.h"

/* How often the thread reads: more often than ceems.prom is written, so that each file has another value. */
#define STEPLIVE_EVERY_NS (4 * UINT64_C(1000000000))
/* sstat makes Slurm poll once for each task. A poll so soon after another one reads nothing again. */
#define STEPLIVE_AGAIN_NS (100 * UINT64_C(1000000))

struct steplive;

struct steplive_setup {
	struct ledger *ledger; /* borrowed until steplive_stop(), as is the next */
	unsigned int slot;
	struct stepprobes *probes; /* used by nobody else until then; NULL: there are none */
	uint64_t every_ns; /* a thread reads so often; 0: there is none */
};

/* If the thread cannot be started, it goes on without and returns 0. -ENOMEM. */
int steplive_start(const struct steplive_setup *setup, struct steplive **ret);

/* Polls the probes and publishes. If the thread is doing that just now, returns at once. */
void steplive_poll(struct steplive *sl);

/*
 * Reads the values of the step's probes into VALUES: all, or only those that cost microseconds.
 * VALUES must have the step's CPU time, if it is known.
 */
void steplive_read(struct steplive *sl, bool is_all, struct values *values);

/* The thread is gone when this returns. NULL: no-op. */
void steplive_stop(struct steplive *sl);

#endif
