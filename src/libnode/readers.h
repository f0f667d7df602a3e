/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * readers.h - the open files and counters of the steps on the node: CPU time and the other measures
 * of activity (weights.h). They are opened when the step's cgroup is known, and closed when the
 * step has ended.
 */
#ifndef CEEMS_READERS_H
#define CEEMS_READERS_H

#include "src/libnode/weights.h"
#include "src/libutil/must_check.h"

struct readers;

/*
 * The CPU time of a step younger than READERS_YOUNG_NS is not read. Most steps that end so soon
 * report their CPU time themselves, and cpuweights.c makes up for the rest. Hardware counters do
 * not count the time before they are opened, so the tick that opens them comes within
 * READERS_COUNTED_NS after the step's cgroup is known.
 */
#define READERS_YOUNG_NS (50 * UINT64_C(1000000))
#define READERS_COUNTED_NS (20 * UINT64_C(1000000))

/* Borrows W until readers_destroy(). -ENOMEM. */
int readers_create(struct weights *w, struct readers **ret) _must_check_;
void readers_destroy(struct readers *r);

/*
 * Reads the CPU time of the lines of T, except of steps that ended and reported it themselves. Sets T's
 * step[], which is valid until readers_close_gone().
 */
void readers_read(struct readers *r, struct tick *t);

/*
 * Reads the user and system time of the step in SLOT with number CLAIM (cputime.h). -ENOENT: the
 * step's CPU time is not read here.
 */
int readers_modes(struct readers *r, unsigned int slot, uint32_t claim, uint64_t *ret_user_ns,
		  uint64_t *ret_system_ns) _must_check_;

/*
 * The longest time until the next tick, so that the counters of new steps are opened in time.
 * UINT64_MAX: no step waits for its counters.
 */
uint64_t readers_patience_ns(const struct readers *r);

/* Closes the files of steps that have ended. Call it when the tick's weights are filled. */
void readers_close_gone(struct readers *r);

#endif
