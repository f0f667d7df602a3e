/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuweights.h - weights by CPU time: how much of each socket's CPU time a step used. Used on
 * machines without hardware counters.
 */
#ifndef CEEMS_CPUWEIGHTS_H
#define CEEMS_CPUWEIGHTS_H

#include "src/libledger/ledger_book.h"

/* CPU time that lines have in advance of the node, by socket (cpuweights.c). Zeroed: none. */
struct cpuweights {
	uint64_t debt_ns[SOCKETS_MAX];
};

/*
 * Fills the weights of LINE[n] and TICK. SOCKET_NS is the CPU time of all processes on each socket
 * since the last tick, SOCKET_CPUS the number of CPUs of each socket.
 *
 * A step's CPU time is divided among the sockets in proportion to the step's cores there. If its
 * cores are not known, it is divided as the node's CPU time is. The memory weight of a step is its
 * CPU time, too, since a step that computes also moves data.
 */
void cpuweights_fill(struct cpuweights *w, const uint32_t socket_cpus[SOCKETS_MAX],
		     const uint64_t socket_ns[SOCKETS_MAX], struct book_line *line, size_t n,
		     struct book_tick *tick);

#endif
