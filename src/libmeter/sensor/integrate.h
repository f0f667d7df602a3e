/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * integrate.h - computes energy from samples of power by the trapezoid rule, for sensors that show power. If
 * two samples are too far apart, the energy between them is unknown and is not guessed.
 */
#ifndef CEEMS_INTEGRATE_H
#define CEEMS_INTEGRATE_H

#include <stdint.h>

#include "src/libmeter/sensor/source.h"
#include "src/libutil/must_check.h"

/*
 * The longest gap for a sensor that is read at every tick: twice the longest SampleInterval. So
 * neither a restart of slurmd nor one failed reading loses energy. Slower sensors use three of
 * their own periods instead.
 */
#define INTEGRATE_GAP_NS UINT64_C(120000000000)

/* The last sample of one sensor. Set the two limits and zero the rest. */
struct integrate {
	uint64_t max_mw; /* larger samples are garbled; counter.h has the usual limits */
	uint64_t max_gap_ns;
	uint64_t last_mw;
	uint64_t last_ns; /* CLOCK_MONOTONIC, when the last sample was taken; 0: none yet */
	uint64_t rest;	  /* the remainder below a microjoule, carried to the next sample */
};

/*
 * Adds a sample of POWER_MW, taken at T_NS (CLOCK_MONOTONIC, not 0). Returns 0 with the energy
 * since the last sample in *ret_uj; it is 0 for the first sample and for a repeated one. On error
 * *ret_uj is not written. -ERANGE: POWER_MW is above the limit; the sample is ignored, and the next
 * good one covers its time. -ESTALE: the sample is older than the last one and is ignored. -ETIME:
 * the sample is more than max_gap_ns away from the last one, and becomes the new start.
 */
int integrate_add(struct integrate *i, uint64_t power_mw, uint64_t t_ns, uint64_t *ret_uj) _must_check_;

/*
 * Adds a power sample for a source's read(). The last sample is saved in STATE as "NAME ns" and
 * "NAME mW", so that a restarted slurmd goes on from it; of *I only the two limits are used. PART gets
 * the energy, and the time up to which it was measured: the earliest time if several sensors share PART.
 * Errors are counted in R. Returns as integrate_add(), or -ENOSPC or -ENAMETOOLONG from STATE; after an
 * error PART is not changed.
 */
int integrate_book(struct integrate *i, struct source_state *state, const char *name, uint64_t power_mw,
		   uint64_t t_ns, struct reading *r, struct part *part);

#endif
