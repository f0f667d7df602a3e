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

/*
 * Returns the longest time between two readings in which a counter of at most SURE_W cannot wrap unseen;
 * UINT64_MAX: the range is not known. COUNTER_PACKAGE_SURE_W is three and a half times the rating of the
 * largest sockets, which no package uses for seconds. COUNTER_PLATFORM_SURE_W is for a platform of a short
 * range, 262 kJ: only client processors have one. Servers count psys in joules, 4.3 GJ before a wrap.
 */
#define COUNTER_PACKAGE_SURE_W UINT64_C(1800)
#define COUNTER_PLATFORM_SURE_W UINT64_C(5000)
uint64_t counter_sure_ns(uint64_t range_uj, uint64_t sure_w);

/*
 * A reset is believed after COUNTER_RESET_MOVES growing readings in a row, or after the first in
 * COUNTER_RESET_NS, so that glitches of some readings are not taken for a reset. A counter that stands still
 * is never believed.
 */
#define COUNTER_RESET_MOVES 6
#define COUNTER_RESET_NS UINT64_C(60000000000)

/*
 * What a counter was seen to count since its base while its owner was away. Other processes read it
 * with counter_note_add(), so that it does not wrap unseen.
 */
struct counter_note {
	uint64_t base_uj;  /* the base from which on used_uj counts */
	uint64_t raw_uj;   /* the last value */
	uint64_t used_uj;  /* from the base to that value, over any number of wraps */
	uint64_t after_ns; /* when it was read, since the base was read; 0: there is no note */
	uint64_t gap_ns;   /* the longest time between two readings */
};

/* Adds the reading RAW_UJ, AFTER_NS after the base, to N. An implausible value is left out. */
void counter_note_add(struct counter_note *n, uint64_t range_uj, uint64_t max_w, uint64_t raw_uj,
		      uint64_t after_ns);

/* What counter_advance() remembers besides the base. Set the first two, perhaps sure_ns; zero the rest. */
struct counter {
	uint64_t range_uj; /* UINT64_MAX: unknown, so any step back is a reset */
	uint64_t max_w;
	uint64_t sure_ns;	  /* of counter_sure_ns(); 0: the counter does not wrap */
	uint64_t age_ns;	  /* since the base was read; saved together with the base */
	struct counter_note note; /* set by the caller, for the base of an earlier process */
	/*
	 * Set by the last successful counter_advance(): energy may be missing in its result, because the
	 * counter may have wrapped unseen, or was reset.
	 */
	bool is_unsure;
	bool has_moved;
	uint64_t before_uj; /* the base before it last moved */
	struct counter_doubt {
		bool is_set; /* the last readings were implausible: perhaps a reset counter */
		uint64_t first_uj, last_uj;
		uint64_t gained_uj; /* from the first to the last of them */
		uint64_t age_ns;    /* since the last of them */
		uint64_t since_ns;  /* since the first of them */
		unsigned int moves; /* how often the value grew */
	} doubt;
};

/*
 * Takes a new reading, DT_NS after the previous call of this or of counter_miss(). On success
 * *base_uj becomes CUR_UJ. After an implausible reading the base stays, so glitches cost nothing: the next
 * good reading yields all energy since the base. If readings keep fitting the first implausible one, and
 * not the base, the counter was reset, and the result is the energy since that one. The energy between the
 * last good reading and the first one after the reset is unknown, and is_unsure is set. Errors are those of
 * counter_delta().
 */
int counter_advance(struct counter *c, uint64_t *base_uj, uint64_t cur_uj, uint64_t dt_ns,
		    uint64_t *ret_delta_uj, bool *ret_wrapped) _must_check_;

/* Says that a reading failed, DT_NS after the previous one. */
void counter_miss(struct counter *c, uint64_t dt_ns);

#endif
