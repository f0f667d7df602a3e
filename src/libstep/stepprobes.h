/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepprobes.h - all counters of one step besides energy. Each step has task and socket counters;
 * I/O by file system, packets and hardware counters are for steps that ask for them. A counter that
 * is not available is missing with a reason, and the step runs all the same.
 *
 * The caller must have the tasks before they run. That is acct_gather_energy (through stepside.h),
 * or spank if the energy plugin is not in use.
 */
#ifndef CEEMS_STEPPROBES_H
#define CEEMS_STEPPROBES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libcore/detail.h"
#include "src/libcore/metric.h"
#include "src/libcore/perf_request.h"
#include "src/libcore/settings.h"
#include "src/libmeter/activity/cgmount.h"
#include "src/libutil/errmsg.h"

struct stepprobes;

struct stepprobes_setup {
	const struct settings *settings;    /* borrowed until stepprobes_close() */
	const struct perf_request *request; /* copied */
	/* the step has the node alone, so all traffic of the RDMA ports is its own */
	bool has_ports;
	/* it has no task of its own, so it gets only the counters that every step has */
	bool is_extern;
};

/* Makes the object; opens nothing yet. -ENOMEM. */
int stepprobes_create(const struct stepprobes_setup *setup, struct stepprobes **ret) _must_check_;

/*
 * Starts all counters; call it once. PID[n] are all tasks of the step on this node, at least one, stopped
 * before their exec. PID[0] is in the step's cgroups. PATHS is from cputime_find_cgroups(); its v2 is
 * changed if the step gets a v2 cgroup of its own (stepgroup.h). *RET_SLOT is the step's slot in the BPF
 * maps; 0: none. LACKING gets a text if a part of the request cannot be counted.
 */
void stepprobes_start(struct stepprobes *sp, const pid_t *pid, size_t n, struct cgroup_paths *paths,
		      uint32_t *ret_slot, struct errmsg *lacking);

/*
 * To be called from time to time while the step runs: learns mount points, and gives hardware
 * counters to a user's profiler.
 */
void stepprobes_poll(struct stepprobes *sp);

/* Returns a descriptor of the v2 folder with the tasks, borrowed; negative: there is none. SP may be NULL. */
int stepprobes_cgroup(const struct stepprobes *sp);

/*
 * Sets the values of all counters up to now in VALUES; other values are kept. DETAIL may be NULL.
 * The values are exact if no task is left.
 */
void stepprobes_read(struct stepprobes *sp, struct values *values, struct step_detail *detail);

/*
 * Reads only the counters that slurmd cannot read: I/O by file system, RDMA ports, hardware
 * counters. If the step's CPU time is known, VALUES must have it.
 */
void stepprobes_read_own(struct stepprobes *sp, struct values *values);

/*
 * Closes and removes all counters. SLURMD_LIVES: the caller knows that slurmd runs, so this is not
 * checked. NULL: no-op.
 */
void stepprobes_close(struct stepprobes *sp, bool slurmd_lives);

#endif
