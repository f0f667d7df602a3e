/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepprobes.h - all counters of one step besides energy. Task and socket counters are for every step; I/O
 * by file system, packets and hardware counters are for steps that ask for them. A counter that is not
 * available is missing with a reason, and the step runs.
 *
 * The caller must know the tasks before they run: acct_gather_energy (through stepside.h), or spank
 * where the energy plugin is not in use.
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
#include "src/libutil/errmsg.h"

struct stepprobes;

struct stepprobes_setup {
	const struct settings *settings; /* borrowed until stepprobes_close() */
	const struct perf_request *request;	 /* copied */
	bool has_ports;			 /* the traffic of RDMA ports is this step's; no other step counts it */
	bool is_extern;			 /* it has no task of its own, so it gets only the counters that every step has */
};

/* Nothing is opened yet. -ENOMEM. */
int stepprobes_create(const struct stepprobes_setup *setup, struct stepprobes **ret);

/*
 * PID[n] are all tasks of the step on this node, stopped before their exec, the first in its
 * cgroups. V2 and FREEZER are the step's paths (cputime_find_cgroups()); V2 is changed when the
 * step got a v2 cgroup of its own (stepgroup.h). From here on all is counted. *RET_SLOT: in the BPF
 * maps, 0: none. N is not 0. LACKING gets a text if part of the request cannot be counted. Once.
 */
void stepprobes_start(struct stepprobes *sp, const pid_t *pid, size_t n, char *v2,
		      const char *freezer, size_t size, uint32_t *ret_slot, struct errmsg *lacking);

/* Call it now and then while the step runs: learns mount points, gives counters back to a user's profiler. */
void stepprobes_poll(struct stepprobes *sp);

/*
 * Adds all metric values up to now to VALUES. Other values of VALUES stay; those of an earlier call are replaced.
 * DETAIL may be NULL. The values are exact when no task is left.
 */
void stepprobes_read(struct stepprobes *sp, struct values *values, struct step_detail *detail);

/*
 * Reads only what slurmd cannot read: I/O by file system, RDMA ports, hardware counters. VALUES must have the CPU time
 * of the step, if it is known.
 */
void stepprobes_read_own(struct stepprobes *sp, struct values *values);

/* Closes and removes all counters. SLURMD_LIVES: slurmd has just answered, so no check is needed. NULL: no-op. */
void stepprobes_close(struct stepprobes *sp, bool slurmd_lives);

#endif
