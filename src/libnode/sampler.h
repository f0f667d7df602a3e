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
 * Requests for a tick within SAMPLER_SPACING_NS share one tick. A step's start asks for a tick and
 * does not wait for it. So that tick may come up to SAMPLER_HINTS_NS later and serve several starts.
 * Such a tick also covers time before a step began; its energy is split by each step's time and
 * activity.
 */
#define SAMPLER_SPACING_NS (2 * UINT64_C(1000000))
#define SAMPLER_HINTS_NS (20 * UINT64_C(1000000))
/*
 * Running steps are read, and ceems.prom is written, after this many SampleIntervals, at the latest
 * after 5 s, and at the end.
 */
#define SAMPLER_SHOW_EVERY 5
#define SAMPLER_SHOW_NS (5 * UINT64_C(1000000000))
/* A tick longer than this number of SampleIntervals counts as a gap. */
#define SAMPLER_GAP_INTERVALS 10

/*
 * Opens the sources and the ledger, but starts no thread. Waits at most a second for a series of
 * emission factors. NODE is the node's Slurm name. On error the caller logs the reason and goes on
 * without a sampler. A node without any sensor is no error; its ledger has metric values, but no
 * energy.
 */
int sampler_create(const struct settings *s, const char *node, struct sampler **ret,
		   struct errmsg *err) _must_check_;

/*
 * Sets the CPUs and the memory that Slurm can allocate on this node; idle energy is split by a
 * step's share of them. Call it before sampler_start(). 0, or no call: what the kernel shows.
 */
void sampler_set_capacity(struct sampler *s, uint32_t cpus, uint64_t mem_mb);

/* One line for the log: sources, idle power, emission factor, ledger. */
void sampler_describe(const struct sampler *s, char *buf, size_t size);

/* Does one tick in the calling thread. For tests and benchmarks. */
int sampler_tick(struct sampler *s);

/*
 * The time from a tick at WALL_NS (since 1970) to the next regular tick. Those are at multiples of
 * EVERY_NS of the wall clock, so that all nodes of a parallel job are disturbed at the same
 * instant. A multiple closer than SAMPLER_HINTS_NS is skipped. The result is at most EVERY_NS +
 * SAMPLER_HINTS_NS, whatever the clock shows.
 */
uint64_t sampler_due_in_ns(uint64_t wall_ns, uint64_t every_ns);

/* Starts the thread: all signals blocked, name "ceems-sampler". */
int sampler_start(struct sampler *s, struct errmsg *err);

/* Does a last tick, joins the thread (milliseconds), and frees all. NULL: no-op. */
void sampler_destroy(struct sampler *s);

/*
 * Returns the node's energy since the ledger was made, and its present power, for Slurm's node
 * record. -ENODATA: neither is known.
 */
int sampler_node_energy(struct sampler *s, uint64_t *ret_energy_uj, uint64_t *ret_power_mw) _must_check_;

#endif
