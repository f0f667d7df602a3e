/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * weights.h - weights of the steps by measures that tell more than CPU time: hardware counters of
 * the steps' cgroups, with the energy cost of an event on the socket (fit.h); cores shared by two
 * threads (smt.h); and memory held. A measure that the machine lacks is replaced by CPU time.
 */
#ifndef CEEMS_WEIGHTS_H
#define CEEMS_WEIGHTS_H

#include <stdbool.h>

#include "src/libmeter/activity/cgcounters.h"
#include "src/libmeter/sensor/topology.h"
#include "src/libnode/tick.h"
#include "src/libutil/errmsg.h"

struct weights;
struct weights_step; /* what is open for one step */

struct weights_setup {
	const char *sys_root;
	const struct topology *topology; /* borrowed until weights_destroy() */
	const struct pmu *pmu;		 /* NULL: no counters */
};

/* Measures that the machine lacks are left out; weights_describe() names them. -ENOMEM. */
int weights_create(const struct weights_setup *setup, struct weights **ret) _must_check_;
/* Call it after weights_step_close() of all steps. NULL: no-op. */
void weights_destroy(struct weights *w);
/*
 * Writes "CPU energy by hardware counters (cycles, instructions)", or "... by CPU time: no counters: REASON".
 */
void weights_describe(const struct weights *w, char *buf, size_t size);

/*
 * Returns true if hardware events of steps are counted. They are from the moment the step is
 * opened.
 */
bool weights_has_counters(const struct weights *w);

/*
 * Opens the counters and files of a step. Events before this call are not counted, so this tick uses CPU
 * time for the step. NULL: no memory.
 */
struct weights_step *weights_step_open(struct weights *w, const struct cgroup_paths *paths);
void weights_step_close(struct weights_step *step);

/*
 * Improves the weights of T and of its lines, which must have CPU time (cpuweights.h). CPU_NS is the CPU
 * time of each CPU since boot. Allocates nothing and opens no file, except for a CPU that is online again,
 * and for a step's memory at its first reading.
 */
void weights_fill(struct weights *w, const uint64_t *cpu_ns, struct tick *t);

/* Sets the activity of T, which weights_fill() has filled. */
void weights_activity(const struct weights *w, struct tick *t);

/*
 * Learns the cost of events from the energy of the sockets, unless T is tainted. Call it when the parts of T
 * are set.
 */
void weights_learn(struct weights *w, const struct tick *t);

#endif
