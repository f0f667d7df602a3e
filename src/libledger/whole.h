/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whole.h - whole joules of ended steps, for Slurm's TRES. If each step were rounded on its own, the sum
 * over many short steps would drift: 500 jobs of 0.9 J would be 500 J, and 500 of 0.4 J nothing. So what
 * rounding leaves over is carried to the next step that ends on the node.
 *
 * The sampler rounds when it books a step's end, in the page that it makes current, and the slurmstepd only
 * reads the result. So the carry outlives slurmd, needs no lock, and is not lost or taken twice if either
 * process is killed. If a slurmstepd is killed before it reports, sacct lacks its joules; the steps after
 * it are not affected.
 *
 * There are two carries. The extern step reports the whole job, and sacct takes the job's energy from it:
 * with the first carry, the sum over jobs is right. All other steps have the second carry: the sum over them
 * is right also on a cluster without extern steps.
 *
 * Of each row, at any time and for all steps that have ended with one carry:
 *
 *	|sum of whole joules - sum of energy| < 1 J
 *
 * and of each step |whole joules - energy| < 1 J, 0 J if the energy is 0, and no domain has less energy than
 * its static part. The domains, the sources and the kinds of factor each add up to the energy. Rarely
 * no whole numbers do all of this; then these sums differ from the energy by a joule, and the rest holds.
 */
#ifndef CEEMS_WHOLE_H
#define CEEMS_WHOLE_H

#include "src/libledger/account.h"

/* A row is one of the energies of an account. */
enum whole_row {
	WHOLE_ENERGY,
	WHOLE_DOMAIN,
	WHOLE_STATIC = WHOLE_DOMAIN + DOMAIN_N,
	WHOLE_SOURCE = WHOLE_STATIC + DOMAIN_N,
	WHOLE_FACTOR = WHOLE_SOURCE + SOURCE_N,
	WHOLE_BY_COUNTERS = WHOLE_FACTOR + FACTOR_STEP_N,
	WHOLE_ROWS
};

struct whole {
	uint64_t j[WHOLE_ROWS];
};

/* Energy of the steps that have ended, minus what was reported for them. Zeroed: no step has ended. */
struct whole_carry {
	int64_t uj[WHOLE_ROWS];
};

/* Rounds the energy of account A, with CARRY, which is updated. */
void whole_round(struct whole_carry *carry, const struct account *a, struct whole *ret);

/* Sets the energies that VALUES has to those of W. A value that is not known stays so. */
void whole_values(const struct whole *w, struct values *values);

#endif
