/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idle_energy.h - how much of the energy of a step or job is idle power (the static metrics), and of how much
 * of the energy that is known. Until a node has learned the idle power of a part, the node reports no static
 * energy of its domain, and adds the energy of the domain to METRIC_IDLE_UNKNOWN. Slurm adds up the static
 * energy of the other nodes, which then looks like the whole. Only METRIC_IDLE_UNKNOWN tells that it is not.
 */
#ifndef CEEMS_IDLE_ENERGY_H
#define CEEMS_IDLE_ENERGY_H

#include "src/libcore/metric.h"
#include "src/libutil/must_check.h"

struct idle_energy {
	uint64_t idle_uj; /* idle energy of the domains and nodes that know it */
	uint64_t of_uj;	  /* energy of these domains and nodes */
	bool is_whole;	  /* they have all energy of F, so that idle_uj is no lower bound */
};
/* False: it is known of no energy that is not 0. */
bool idle_energy_of(const struct values *f, struct idle_energy *ret) _must_check_;

/*
 * Marks static energy of a domain as REASON_NO_IDLE if not all nodes or steps in F know theirs.
 * METRIC_IDLE_UNKNOWN does not tell the domains apart: if it is more than the energy of the domains of which
 * no node knows static energy, then none of the domains is trusted.
 */
void idle_energy_settle(struct values *f);

#endif
