/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter.h - energy counters that wrap, are reset, or read garbage. Only this module computes the
 * energy between two raw values.
 *
 * A counter counts 0 .. range_uj and then 0 again. Its modulus is range_uj + 1, with the range that
 * the hardware states (powercap's max_energy_range_uj). intel_rapl scales a 32-bit register to
 * microjoules. So the true modulus is one register unit (15 to 61 uJ) above the stated range. A
 * wrap, every 65 or 262 kJ, loses less than the sensor resolves.
 */
#ifndef CEEMS_COUNTER_H
#define CEEMS_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The most that one counter can have counted in DT_NS. A larger jump is a reset or a garbled
 * reading, never energy. Without this bound, a counter that starts again from 0 looks like a wrap,
 * and a whole range of energy (262 kJ) appears from nowhere.
 *
 * COUNTER_PACKAGE_MAX_W is five times what the largest sockets are rated (500 W: Xeon 6980P, EPYC
 * 9965), so that turbo peaks and an APU (MI300A: 760 W) fit as well; COUNTER_PLATFORM_MAX_W is
 * above any single node (eight accelerators of 1 kW and two sockets make 10 to 14 kW).
 * COUNTER_SLACK_NS covers the time between DT_NS and the reading, and registers that are updated
 * late.
 */
#define COUNTER_PACKAGE_MAX_W UINT64_C(2500)
#define COUNTER_PLATFORM_MAX_W UINT64_C(25000)
#define COUNTER_SLACK_NS UINT64_C(1000000000)
uint64_t counter_bound_uj(uint64_t max_w, uint64_t dt_ns); /* saturates at UINT64_MAX */

/*
 * The energy from PREV to CUR: at most one wrap, at most BOUND_UJ. Returns 0; -ERANGE: a value
 * above RANGE_UJ, which the counter cannot show; -EOVERFLOW: more than BOUND_UJ forward; -ESTALE:
 * the counter went back without a wrap, so it was reset.
 */
int counter_delta(uint64_t prev_uj, uint64_t cur_uj, uint64_t range_uj, uint64_t bound_uj,
		  uint64_t *ret_delta_uj, bool *ret_wrapped);

/* What counter_advance() remembers beside the base. Starts as zeros and two limits. */
struct counter {
	uint64_t range_uj; /* UINT64_MAX: not stated, then going back is always a reset */
	uint64_t max_w;
	uint64_t age_ns; /* since the base was read; to be saved with it */
	bool doubted;	 /* the last reading was implausible: perhaps a new base */
	uint64_t doubted_uj;
	uint64_t doubted_age_ns;
};

/*
 * A reading DT_NS after the one before, successful or not. On success *base_uj moves to CUR_UJ. An
 * implausible reading leaves the base unchanged. So a glitch costs nothing: the next good reading
 * yields all energy since the base. If the next reading is plausible from the implausible one, and
 * not from the base, the counter was reset. The base then moves on. The energy between the last
 * good and the first doubted reading is lost, since it is unknown. Errors as counter_delta().
 */
int counter_advance(struct counter *c, uint64_t *base_uj, uint64_t cur_uj, uint64_t dt_ns,
		    uint64_t *ret_delta_uj, bool *ret_wrapped);

/* The reading DT_NS after the one before failed. */
void counter_miss(struct counter *c, uint64_t dt_ns);

#endif
