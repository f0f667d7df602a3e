/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter.h - energy counters that wrap, are reset, or read garbage. All code that needs the energy
 * between two raw values of a counter uses this module.
 *
 * A counter goes from 0 to range_uj and then to 0 again. The module takes range_uj + 1 as the
 * modulus; range_uj is what the hardware states (powercap's max_energy_range_uj). intel_rapl scales
 * a 32-bit register to microjoules, so the true modulus is one register unit (15 to 61 uJ) larger.
 * A wrap, every 65 or 262 kJ, loses less than the sensor resolves.
 */
#ifndef CEEMS_COUNTER_H
#define CEEMS_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libutil/must_check.h"

/*
 * Returns the most energy that one counter of at most MAX_W can count in DT_NS. A larger jump is a
 * reset or a garbled reading, never energy. Without this bound, a counter that is reset to 0 looks
 * like a wrap, and a whole range (262 kJ) of false energy appears.
 *
 * COUNTER_PACKAGE_MAX_W is five times the rating of the largest sockets (500 W: Xeon 6980P, EPYC
 * 9965), which leaves room for turbo peaks and for an APU (MI300A: 760 W). COUNTER_PLATFORM_MAX_W
 * is above any single node: eight accelerators of 1 kW and two sockets make 10 to 14 kW.
 * COUNTER_SLACK_NS allows for the delay between the clock and the reading, and for registers that
 * are updated late.
 */
#define COUNTER_PACKAGE_MAX_W UINT64_C(2500)
#define COUNTER_PLATFORM_MAX_W UINT64_C(25000)
#define COUNTER_SLACK_NS UINT64_C(1000000000)
uint64_t counter_bound_uj(uint64_t max_w, uint64_t dt_ns); /* saturates at UINT64_MAX */

/*
 * Computes the energy from PREV to CUR, with at most one wrap. Returns 0; -ERANGE: a value is above
 * RANGE_UJ; -EOVERFLOW: the result is above BOUND_UJ; -ESTALE: the counter went back without a
 * wrap, so it was reset.
 */
int counter_delta(uint64_t prev_uj, uint64_t cur_uj, uint64_t range_uj, uint64_t bound_uj,
		  uint64_t *ret_delta_uj, bool *ret_wrapped) _must_check_;

/* What counter_advance() remembers besides the base. Set the two limits, and zero the rest. */
struct counter {
	uint64_t range_uj; /* UINT64_MAX: unknown, so any step back is a reset */
	uint64_t max_w;
	uint64_t age_ns; /* since the base was read; saved together with the base */
	bool doubted;	 /* the last reading was implausible: perhaps a new base */
	uint64_t doubted_uj;
	uint64_t doubted_age_ns;
};

/*
 * Takes a new reading, DT_NS after the previous call of this or of counter_miss(). On success
 * *base_uj becomes CUR_UJ. After an implausible reading the base stays, so a single glitch costs
 * nothing: the next good reading yields all energy since the base. If the next reading fits the
 * implausible one, and not the base, the counter was reset, and the base moves on. The energy
 * between the last good reading and the first one after the reset is unknown and lost. Errors are
 * those of counter_delta().
 */
int counter_advance(struct counter *c, uint64_t *base_uj, uint64_t cur_uj, uint64_t dt_ns,
		    uint64_t *ret_delta_uj, bool *ret_wrapped) _must_check_;

/* Says that a reading failed, DT_NS after the previous one. */
void counter_miss(struct counter *c, uint64_t dt_ns);

#endif
