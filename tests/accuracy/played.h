/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * played.h - what the samplers would ask the kernel of this machine is answered for the simulated one.
 *
 * The linker puts these in the place of the real functions (-Wl,--wrap): clock_gettime(), the CPU
 * time, memory and processors of a step's cgroup, which is "/step_N", and the counters that
 * weights_create() is given.
 */
#ifndef CEEMS_PLAYED_H
#define CEEMS_PLAYED_H

#include <stdbool.h>

#include "physics.h"
#include "scenario.h"

/* From now on; both stay the caller's. NULL: the real machine. */
void played_set(const struct physics *p, const struct scenario *s);

/* Whether weights_create() finds counters. */
void played_set_counters(bool has_counters);

#endif
