/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter.h - energy counters that wrap, are reset, or read garbage: the one place that
 * turns two raw values into the energy between them.
 *
 * A counter counts 0 .. range_uj and then 0 again, so its modulus is range_uj + 1, with
 * the range the hardware states (powercap's max_energy_range_uj). intel_rapl scales a
 * 32-bit register to microjoules, so the true modulus of a real one is a register unit
 * (15 to 61 uJ) above the stated range: what one wrap in 65 or 262 kJ loses is below what
 * the sensor resolves.
 */
#ifndef CEEMS_COUNTER_H
#define CEEMS_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The most that one counter can have counted in DT_NS. A jump above it is a reset or a
 * garbled reading, never energy: without such a bound a counter that starts again from 0
 * looks like one that wrapped, and a range of energy (262 kJ) appears from nowhere.
 *
 * COUNTER_PACKAGE_MAX_W is five times what the largest sockets are rated (500 W: Xeon
 * 6980P, EPYC 9965), so that turbo peaks and an APU (MI300A: 760 W) fit as well;
 * COUNTER_PLATFORM_MAX_W is above any single node (eight accelerators of 1 kW and two
 * sockets make 10 to 14 kW). COUNTER_SLACK_NS covers that a counter is not read at the
 * instant that DT_NS was taken, and registers that are updated late.
 */
#define COUNTER_PACKAGE_MAX_W UINT64_C(2500)
#define COUNTER_PLATFORM_MAX_W UINT64_C(25000)
#define COUNTER_SLACK_NS UINT64_C(1000000000)
uint64_t counter_bound_uj(uint64_t max_w, uint64_t dt_ns); /* saturates at UINT64_MAX */

/*
 * From PREV to CUR, at most one wrap, at most BOUND_UJ. 0;
 * -ERANGE: a value above RANGE_UJ, which no such counter can show;
 * -EOVERFLOW: more than BOUND_UJ forward;
 * -ESTALE: it went back, and not by a wrap: it was reset.
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
 * A reading DT_NS after the one before, successful or not. On success *base_uj moves to
 * CUR_UJ. An implausible reading leaves it, so that a glitch costs nothing: the next good
 * reading yields all energy since the base. Only when the next reading confirms the
 * implausible one (plausible seen from there, not from the base) was it a reset: the base
 * moves on, and what was used between the last good and the first doubted reading is
 * lost, as nothing tells how much it was. Errors as counter_delta().
 */
int counter_advance(struct counter *c, uint64_t *base_uj, uint64_t cur_uj, uint64_t dt_ns,
		    uint64_t *ret_delta_uj, bool *ret_wrapped);

/* The reading DT_NS after the one before failed. */
void counter_miss(struct counter *c, uint64_t dt_ns);

#endif
