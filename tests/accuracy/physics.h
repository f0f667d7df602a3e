/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * physics.h - a simulated node of two sockets with 8 cores of two threads each, and the truth of what
 * each task on it uses. Time passes in steps of 5 ms.
 *
 * A thread that runs uses, above the idle power of its socket,
 *
 * 	(cycles x a x share + instructions x b x kind) x (V / V0)^2 + misses x c	in the package
 * 	misses x d									in DRAM
 *
 * where the frequency, and with it V, falls with the number of cores that run on the socket and
 * under vector code, `share` is r / 2 for threads that run on one core at the same time (what the
 * two draw together, in equal parts: the Shapley value), and `kind` says that instructions differ. A
 * socket on which anything runs leaves its package sleep state for some watts, which its running
 * threads bear in equal parts. Neither V, nor kind, nor r, nor the sleep state can be seen by what
 * counts cycles, instructions and misses.
 *
 * The magnitudes are assumed, of server parts of 2019 to 2023: 2 to 8 W per core at 2.6 to 3.5 GHz; 25 to 40
 * W for an idle package, which differs by a tenth from that of the other socket; 10 to 20 nJ per cache line
 * of DRAM. r of 1.05 to 1.3 is near what HaPPy (USENIX ATC 2014) assumes. That equal CPU time may differ by 2
 * to 3 in power is Kepler's own warning (IEEE CLOUD 2023 has the errors that come of it): here vector
 * instructions cost about twice a scalar one, and a cycle that waits for memory about half of one that
 * computes.
 */
#ifndef CEEMS_PHYSICS_H
#define CEEMS_PHYSICS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libmeter/activity/cgcounters.h"

#define SOCKETS 2
#define CORES 8
#define SOCKET_CPUS (2 * CORES)
#define CPUS (SOCKETS * SOCKET_CPUS) /* the threads of a core are neighbours */
#define STEP_NS UINT64_C(5000000)
#define MAX_STEPS 192
#define MAX_TASKS 4096
#define SYSTEM MAX_STEPS /* as a task's step: processes outside of jobs */

enum kind {
	KIND_COMPUTE, /* dense, scalar */
	KIND_VECTOR,
	KIND_MEMORY, /* streams */
	KIND_CHASE,  /* waits for single cache lines */
	KIND_BRANCHY,
	KIND_SPIN, /* waits for others in a loop */
	KIND_N
};

/* Runs on one CPU from FROM to UNTIL, for DUTY_PPM of every PERIOD_NS. */
struct task {
	unsigned int step; /* index, or SYSTEM */
	unsigned int cpu;
	enum kind kind;
	uint64_t from_ns, until_ns;
	uint32_t duty_ppm;
	uint64_t period_ns;
};

/* What differs from node to node. */
struct physics_constants {
	double idle_w[SOCKETS], dram_idle_w[SOCKETS];
	double wake_w; /* a socket on which something runs */
	double cycle_nj, instruction_nj, miss_nj, dram_miss_nj;
	double smt_ratio;
	double kind_factor[KIND_N]; /* of instruction_nj */
};

struct physics {
	struct physics_constants k;
	uint64_t now_ns; /* since the simulation began */
	/* the tasks that have begun and not ended, in their order; so until change_ns */
	unsigned int present[MAX_TASKS], npresent;
	uint64_t change_ns;
	/* truth, in joules above idle, by step; [SYSTEM] is the system's */
	double cpu_j[MAX_STEPS + 1], dram_j[MAX_STEPS + 1];
	/* what sensors show */
	double socket_j[SOCKETS], dram_socket_j[SOCKETS]; /* with idle */
	uint64_t cpu_ns[CPUS];
	uint64_t step_ns[MAX_STEPS + 1];
	uint64_t count[MAX_STEPS + 1][CPUS][EVENT_N];
	uint64_t ran_ns[MAX_STEPS + 1][CPUS];
};

/* Constants drawn by SEED from the ranges above, which SPREAD widens (1.5: by half). */
void physics_init(struct physics *p, uint32_t seed, double spread);

/* Another STEP_NS of TASK[n]. */
void physics_advance(struct physics *p, const struct task *task, unsigned int n);

/* 0 to 1, the same for the same SEED. */
double physics_random(uint32_t *seed);

#endif
