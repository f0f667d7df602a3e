/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lower_bound.h - whether nodes are missing in the energy of a step or job, and why. The energy is then a
 * lower bound.
 */
#ifndef CEEMS_LOWER_BOUND_H
#define CEEMS_LOWER_BOUND_H

#include "src/librecord/record.h"

enum lower_bound {
	LOWER_BOUND_UNTOLD, /* no step says how many nodes know their energy */
	LOWER_BOUND_NONE,   /* all nodes do */
	LOWER_BOUND_LATE,   /* the last tick came too late on the nodes that do not */
	LOWER_BOUND_NODE,   /* a node did not report, or not all of its energy */
};

enum lower_bound lower_bound_of_step(const struct record_step *s);
/*
 * As its extern step, which reports the energy of the whole job, whatever its other steps missed. If it has
 * none, the worst of all steps.
 */
enum lower_bound lower_bound_of(const struct record *r);

/* "a node did not report"; "": it is none. */
const char *lower_bound_text(enum lower_bound bound);

#endif
