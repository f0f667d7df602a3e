/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rapl_note.h - reads RAPL's counters for slurmd while it is away. A counter of 65 kJ wraps in 218 s at
 * 300 W, so a slurmd that is upgraded in five minutes would not see how often. The slurmstepds of running
 * steps note the values meanwhile, and the next slurmd goes on from them (counter.h).
 */
#ifndef CEEMS_RAPL_NOTE_H
#define CEEMS_RAPL_NOTE_H

#include "src/libmeter/sensor/source.h"

/*
 * Adds the values of all zones of powercap below SYS_ROOT to NOTES. STATE is rapl's state of the last tick,
 * SINCE_NS ago; a counter that is not in it is left out. Takes as long as some file reads per zone.
 */
void rapl_note(const char *sys_root, const struct source_state *state, uint64_t since_ns,
	       struct source_notes *notes);

/* Returns the note of the counter NAME. after_ns is 0: there is none. NOTES may be NULL. */
struct counter_note rapl_note_of(const struct source_notes *notes, const char *name);

#endif
