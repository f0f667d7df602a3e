/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario.h - what runs on the simulated node: steps, what they are given, and their tasks.
 */
#ifndef CEEMS_SCENARIO_H
#define CEEMS_SCENARIO_H

#include <stdbool.h>

#include "physics.h"

#define NODE_MEM_MB (256 * 1024)
#define SYSTEM_MEM_MB 6000 /* held by processes outside of jobs */

struct step_plan {
	unsigned int job_id;	/* each step has a job of its own, but for series of short steps */
	unsigned int cpu[CPUS]; /* those it is given, and bound to */
	unsigned int ncpus;
	uint64_t mem_mb;  /* given */
	uint64_t used_mb; /* of that, held */
	uint64_t from_ns; /* its first task starts, ATTACH_NS after its slurmstepd */
	uint64_t until_ns;
};

struct scenario {
	struct step_plan step[MAX_STEPS];
	unsigned int nsteps;
	struct task task[MAX_TASKS];
	unsigned int ntasks;
	uint64_t end_ns;
	/* The sensors' counters move so often, each at times of its own; 0: all the time. */
	uint64_t counter_ns;
};

/* The most that errors may be, in percent of what a job used; 0: no target. */
struct scenario_targets {
	double mean_counters, mean_cpu_time;
	double worst_counters;
	double mean_above_idle; /* counters, of what it used above idle */
};

struct scenario_kind {
	const char *name;
	/* random choices come from SEED */
	void (*make)(struct scenario *s, uint32_t *seed);
	struct scenario_targets target;
	bool is_of_short_steps; /* errors are of the short steps only */
	unsigned int ncpus;	/* errors are of the steps with so many CPUs only; 0: of all */
};

extern const struct scenario_kind scenario_kinds[];
extern const unsigned int scenario_nkinds;

/* Short steps, for counters that move seldom. */
extern const struct scenario_kind scenario_short[];
extern const unsigned int scenario_nshort;

#endif
