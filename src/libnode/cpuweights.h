/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuweights.h - weights by CPU time: how much of each socket's CPU time a step used. Used on
 * machines without hardware counters.
 */
#ifndef CEEMS_CPUWEIGHTS_H
#define CEEMS_CPUWEIGHTS_H

#include "src/libnode/tick.h"

/* CPU time that lines have in advance of the node, by socket (cpuweights.c). Zeroed: none. */
struct cpuweights {
	uint64_t debt_ns[SOCKETS_MAX];
};

/*
 * Fills the weights of T and of its lines from their CPU time and from socket_ns.
 *
 * A step's CPU time is divided among the sockets in proportion to the step's cores there. If its
 * cores are not known, it is divided as the node's CPU time is. The memory weight of a step is its
 * CPU time, too, since a step that computes also moves data.
 */
void cpuweights_fill(struct cpuweights *w, struct tick *t);

#endif
