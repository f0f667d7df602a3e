/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter_state.h - a counter whose base and age are saved in its source's state, so that the next
 * slurmd goes on from there.
 */
#ifndef CEEMS_COUNTER_STATE_H
#define CEEMS_COUNTER_STATE_H

#include "src/libmeter/sensor/counter.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/must_check.h"

/*
 * Takes a reading of the counter that STATE saves as NAME and "NAME age", DT_NS after the previous
 * one. READ_RC is 0, or why there is no CUR_UJ. Returns 0 with the energy in *ret_uj, or 1 if this
 * reading is the first and only sets the base. Otherwise READ_RC, an error of counter_advance(), or
 * -ENOSPC or -ENAMETOOLONG from STATE. After an error, the next good reading yields the energy.
 */
int counter_state_advance(struct counter *c, struct source_state *state, const char *name, int read_rc,
			  uint64_t cur_uj, uint64_t dt_ns, uint64_t *ret_uj, bool *ret_wrapped) _must_check_;

/*
 * Notes the value RAW_UJ of a counter, SINCE_NS after the tick that made STATE. N is zeroed at first.
 * Does nothing if STATE has no base of the counter.
 */
void counter_state_note(const struct counter *c, struct source_state *state, const char *name,
			uint64_t raw_uj, uint64_t since_ns, struct counter_note *n);

/* Forgets the base, so that the next reading is the first. */
void counter_state_forget(struct counter *c, struct source_state *state, const char *name);

#endif
