/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steplive.h - publishes the values of a running step that only its slurmstepd can read: hardware counters,
 * I/O by file system, RDMA ports, and the kernel's memory peaks. slurmstepd writes them into the step's slot
 * of the ledger, and the sampler takes them from there for ceems.prom (live.h). They are read when Slurm
 * polls, every 30 s by default. For a step with --ceems-perf=hw, a thread reads them more often.
 */
#ifndef CEEMS_STEPLIVE_H
#define CEEMS_STEPLIVE_H

#include "src/libledger/ledger.h"
#include "src/libstep/stepprobes.h"
#include "src/libutil/must_check.h"

/*
 * How often the thread reads. It is more often than ceems.prom is written, so that each file has a
 * new value.
 */
#define STEPLIVE_EVERY_NS (4 * UINT64_C(1000000000))
/*
 * A poll sooner than this after the last one does nothing, because sstat makes Slurm poll once per
 * task.
 */
#define STEPLIVE_AGAIN_NS (100 * UINT64_C(1000000))

struct steplive;

struct steplive_setup {
	struct ledger *ledger; /* borrowed until steplive_stop() */
	unsigned int slot;
	/* borrowed, and used by no other code, until steplive_stop(); NULL: none */
	struct stepprobes *probes;
	uint64_t every_ns; /* interval of the reading thread; 0: no thread */
};

/* Returns 0 also if the thread cannot be started; then only polls read. -ENOMEM. */
int steplive_start(const struct steplive_setup *setup, struct steplive **ret) _must_check_;

/* Reads the probes and publishes their values. Returns at once if the thread is doing so. */
void steplive_poll(struct steplive *sl);

/*
 * Reads the step's probes into VALUES: all of them, or only those that cost microseconds. If the
 * step's CPU time is known, VALUES must have it.
 */
void steplive_read(struct steplive *sl, bool is_all, struct values *values);

/* Ends the thread, waits for it, and frees all. NULL: no-op. */
void steplive_stop(struct steplive *sl);

#endif
