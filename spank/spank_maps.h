/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_maps.h - --ceems-profile=maps: variables of the step's environment by which Python, Java and Node.js
 * write /tmp/perf-PID.map, the names of the code that they compile at run time.
 */
#ifndef CEEMS_SPANK_MAPS_H
#define CEEMS_SPANK_MAPS_H

#include <slurm/spank.h>

/* Call it in slurmstepd before the tasks are forked. What the user has set is kept. */
void spank_maps_set(spank_t sp);

#endif
