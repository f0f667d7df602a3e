/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * integrate.h - for sensors that show power, not energy. Only this module turns samples of power
 * into joules; it uses the trapezoid rule. If two samples are too far apart, the energy between them is
 * unknown and is not guessed.
 */
#ifndef CEEMS_INTEGRATE_H
#define CEEMS_INTEGRATE_H

#include <stdint.h>

#include "src/libmeter/sensor/source.h"

/*
 * The longest gap between two samples of a sensor that is read at every tick: twice the longest
 * SampleInterval. So a restart of slurmd and one failed reading cost nothing. Sensors that are
 * slower than the tick state three of their own periods instead.
 */
#define INTEGRATE_GAP_NS UINT64_C(120000000000)

/* Plain data: set the two limits, leave the rest 0; there is then no sample yet. */
struct integrate {
	uint64_t max_mw;     /* above it a sample is garbled; counter.h has the usual limits */
	uint64_t max_gap_ns;
	uint64_t last_mw;
	uint64_t last_ns;    /* CLOCK_MONOTONIC, when the last sample was taken; 0: none yet */
	uint64_t rest;	     /* energy below a microjoule, for the next sample; own unit */
};

/*
 * Adds a sample of POWER_MW, taken at T_NS (CLOCK_MONOTONIC, not 0). Returns 0: *ret_uj is the
 * energy since the sample before; 0 uJ for the first sample, and for the same sample seen again.
 * Else *ret_uj is not written, and -ERANGE: POWER_MW is above the limit; the sample is ignored, and
 * the next good one covers its time. -ESTALE: the sample is older than the last one and is ignored.
 * -ETIME: the sample is more than max_gap_ns from the last one, either way, and is the new start.
 */
int integrate_add(struct integrate *i, uint64_t power_mw, uint64_t t_ns, uint64_t *ret_uj);

/*
 * The same for a source's read(). The last sample is in STATE, as two counters "NAME ns" and "NAME
 * mW", so that a restart goes on. The energy, and the time up to which it reaches, go to PART; the
 * slowest of several sensors decides that time. Errors are counted in R. I has the two limits; what
 * is in the rest of it before does not matter. Returns as integrate_add(), or -ENOSPC,
 * -ENAMETOOLONG from the state: nothing was booked then.
 */
int integrate_book(struct integrate *i, struct source_state *state, const char *name,
		   uint64_t power_mw, uint64_t t_ns, struct reading *r,
		   struct reading_part *part);

#endif
