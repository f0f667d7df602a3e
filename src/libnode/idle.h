/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idle.h - the idle power of a part of the node. It decides how much of a tick is split by
 * allocation, and how much by activity. It is learned from idle windows only, because the lowest power
 * of a loaded node says nothing about an idle one. This module reads no clock and no file.
 */
#ifndef CEEMS_IDLE_H
#define CEEMS_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/sensor/source.h"

/*
 * Use, of processors or of a GPU, above which a window says nothing about idle power (reference: field
 * notes, 4.4).
 */
#define IDLE_MAX_BUSY_PPM 20000
/*
 * What all jobs together may use, of a single CPU. 2 % of 192 CPUs are four busy CPUs. Without a
 * second limit their power would be learned as idle power within minutes, and others would be
 * charged with it.
 */
#define IDLE_MAX_JOBS_PPM 50000
/* A sensor that is silent for so many SampleIntervals draws nothing, as far as we know. */
#define IDLE_SILENT_INTERVALS 10

/*
 * Adds ticks up to windows of at least one SampleInterval, per part. For a slower sensor, a window
 * reaches to its next reading. Zeroed: nothing seen yet.
 */
struct idle_window {
	uint64_t energy_uj;
	uint64_t busy_ns; /* of all processors */
	uint64_t jobs_ns; /* jobs' part of it */
	uint64_t length_ns;
	double activity;  /* of all processes, for idlefit.h */
	bool by_time;	  /* what it is counted in, see struct activity */
	bool is_tainted; /* a counter was rejected, a gap lies in it, a job's GPU worked */
};

/* Whether the window is whole, and so has a power. */
bool idle_window_is_over(const struct idle_window *w, uint64_t interval_ns);

/* Mean power over the window, rounded to nearest; 0 for an empty one. */
uint64_t idle_window_power(const struct idle_window *w);

/*
 * Lets a finished window teach *IDLE_MW (0: nothing known yet). It follows low values fast and
 * high ones slowly, which settles near a low quantile of the idle windows' power. False: the
 * window taught nothing (the node was busy, the window is tainted or empty, or the counter stood
 * still).
 */
bool idle_learn(const struct idle_window *w, uint32_t node_cpus, uint64_t *idle_mw);

/*
 * Whether a GPU that a job holds (HELD_PPM by unit) is at work, which processors do not show. One
 * of which GPU[n] says nothing may be.
 */
bool idle_gpus_work(const uint32_t held_ppm[GPUS_MAX], const struct gpu_reading *gpu, size_t n);

#endif
