/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idle.h - the idle power of a part of the node (a socket, a GPU). In each tick, idle energy is
 * split by allocation, and the rest by activity. Idle power is learned only while the part is idle,
 * because the lowest power of a loaded part says nothing about an idle one. This module reads no
 * clock and no file.
 */
#ifndef CEEMS_IDLE_H
#define CEEMS_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/sensor/source.h"

/*
 * The use of the CPUs or of a GPU above which a window is not idle (reference: field notes, 4.4).
 */
#define IDLE_MAX_BUSY_PPM 20000
/*
 * The CPU time that all jobs together may use in an idle window, as a part of one CPU. The limit
 * above is not enough: 2 % of 192 CPUs are four busy CPUs. Their power would be learned as idle
 * power within minutes and charged to other jobs.
 */
#define IDLE_MAX_JOBS_PPM 50000
/* If a sensor has no new value for this number of SampleIntervals, its power is shown as 0. */
#define IDLE_SILENT_INTERVALS 10

/*
 * Sums ticks of one part into a window. A window is at least one SampleInterval long, and lasts
 * until the part's sensor has a new reading. Zeroed: empty.
 */
struct idle_window {
	uint64_t energy_uj;
	uint64_t busy_ns; /* CPU time of all processes */
	uint64_t jobs_ns; /* CPU time of jobs */
	uint64_t length_ns;
	double activity; /* of all processes, for idlefit.h */
	bool by_time;	 /* the unit of ACTIVITY, see struct activity */
	/* do not learn from it: a counter was rejected, there was a gap, or a job's GPU was at work */
	bool is_tainted;
};

/* Returns true if the window is complete and thus has a power. */
bool idle_window_is_over(const struct idle_window *w, uint64_t interval_ns);

/* The mean power of the window in mW, rounded; 0 if it is empty. */
uint64_t idle_window_power(const struct idle_window *w);

/*
 * Updates *IDLE_MW (0: unknown) from a complete window. Lower power is followed fast and higher
 * power slowly, so *IDLE_MW settles near a low quantile of the power in idle windows. Returns false
 * if nothing was learned, because the node was busy, the window is tainted or empty, or the counter
 * did not move.
 */
bool idle_learn(const struct idle_window *w, uint32_t node_cpus, uint64_t *idle_mw);

/*
 * Returns true if a GPU that jobs hold is at work, which CPU use does not show. HELD_PPM is by
 * unit. A held GPU that is not in GPU[n] is taken to be at work.
 */
bool idle_gpus_work(const uint32_t held_ppm[GPUS_MAX], const struct gpu_reading *gpu, size_t n);

#endif
