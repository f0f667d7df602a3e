/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * played.h - answers the samplers' calls to the kernel with values of the simulated machine.
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

/* Values come from P and S from now on; both stay the caller's. NULL: the real machine. */
void played_set(const struct physics *p, const struct scenario *s);

/* Whether weights_create() finds counters. */
void played_set_counters(bool has_counters);

#endif
