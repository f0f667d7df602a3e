/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter_state.h - a counter whose base and age are kept in the state of its source, so that the next
 * slurmd goes on from there.
 */
#ifndef CEEMS_COUNTER_STATE_H
#define CEEMS_COUNTER_STATE_H

#include "src/libmeter/sensor/counter.h"
#include "src/libmeter/sensor/source.h"

/*
 * One reading of the counter that STATE keeps as NAME (and "NAME age"), DT_NS after the one before;
 * READ_RC is 0, or why there is no CUR_UJ. Returns 0: *ret_uj is the advance; 1: this is the first
 * base, and there is no advance yet. Else READ_RC, an error of counter_advance(), or -ENOSPC or
 * -ENAMETOOLONG from the state. After an error the energy comes with the next good reading.
 */
int counter_state_advance(struct counter *c, struct source_state *state, const char *name,
			  int read_rc, uint64_t cur_uj, uint64_t dt_ns, uint64_t *ret_uj,
			  bool *ret_wrapped);

/* The counter starts anew: its next reading is its first. */
void counter_state_forget(struct counter *c, struct source_state *state, const char *name);

#endif
