/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.h - our only thread in slurmd. At each tick it reads the sources and the CPU time of each step,
 * splits the energy (split.h) and makes the new page of the ledger current. Ticks come at multiples of
 * SampleInterval by the wall clock, on all nodes at once, and whenever a step begins or ends. The
 * thread and its helpers run on the CPUs that slurmd runs on.
 */
#ifndef CEEMS_SAMPLER_H
#define CEEMS_SAMPLER_H

#include "src/libcore/settings.h"
#include "src/libledger/ledger.h"
#include "src/libutil/errmsg.h"

struct sampler;

/*
 * Requests for a tick that come closer together than SAMPLER_SPACING_NS are answered by one tick. No process
 * waits for the tick of a step's start, so this tick may come up to SAMPLER_HINTS_NS later and serve several
 * requests. It then covers more time than the step was there; the energy is split by the time and the
 * activity of each step.
 */
#define SAMPLER_SPACING_NS (2 * UINT64_C(1000000))
#define SAMPLER_HINTS_NS (20 * UINT64_C(1000000))
/* Running steps are read and ceems.prom is written every so many SampleIntervals, every 5 s at the latest, and at the end. */
#define SAMPLER_SHOW_EVERY 5
#define SAMPLER_SHOW_NS (5 * UINT64_C(1000000000))
/* A tick longer than this number of SampleIntervals counts as a gap. */
#define SAMPLER_GAP_INTERVALS 10

/*
 * Opens sources and ledger; starts no thread; waits a second at most for a series of emission
 * factors. NODE is the node's Slurm name. Returns 0, or -errno with the reason; the caller logs the
 * reason once and goes on without the sampler. No sensor at all is not a failure (the ledger then
 * carries metric values without energy).
 */
int sampler_create(const struct settings *s, const char *node, struct sampler **ret,
		   struct errmsg *err);

/*
 * Sets the CPUs and the memory that Slurm allocates on this node; static shares refer to them. Call it before
 * sampler_start(). With 0, or without the call, they are the processors and the memory that the kernel shows.
 */
void sampler_set_capacity(struct sampler *s, uint32_t cpus, uint64_t mem_mb);

/* One line for the log: sources, idle power, emission factor, ledger. */
void sampler_describe(const struct sampler *s, char *buf, size_t size);

/* Does one tick now, in the calling thread, as the sampler's thread would. For tests and benchmarks. */
int sampler_tick(struct sampler *s);

/*
 * The time from a tick at WALL_NS (since 1970) to the next one without a request. Ticks are at
 * multiples of EVERY_NS, so that all nodes of a parallel job are disturbed at the same instant. A
 * multiple that is closer than SAMPLER_HINTS_NS is skipped. At most EVERY_NS and SAMPLER_HINTS_NS,
 * whatever the wall clock was set to.
 */
uint64_t sampler_due_in_ns(uint64_t wall_ns, uint64_t every_ns);

/* Starts the thread: all signals blocked, name "ceems-sampler". */
int sampler_start(struct sampler *s, struct errmsg *err);

/* Ends the thread after a last tick (joined; a tick is milliseconds) and frees all. NULL: no-op. */
void sampler_destroy(struct sampler *s);

/* Node energy since the ledger began and power now, for Slurm's node record. -ENODATA: none. */
int sampler_node_energy(struct sampler *s, uint64_t *ret_energy_uj, uint64_t *ret_power_mw);

#endif
