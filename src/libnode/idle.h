/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idle.h - what the node draws when it does nothing: the part of a tick that is split by
 * allocation rather than by activity. Learned from idle windows only: the lowest power of a
 * loaded node says nothing about an idle one. No clock and no file in here.
 */
#ifndef CEEMS_IDLE_H
#define CEEMS_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libmeter/domain.h"

/* CPU use above which a window says nothing about idle power (reference: field notes, 4.4). */
#define IDLE_MAX_BUSY_PPM 20000

/* Adds ticks up to windows of at least one SampleInterval. Zeroed: nothing seen yet. */
struct idle_window {
	uint64_t energy_uj[DOMAIN_N];
	uint64_t busy_ns;
	uint64_t length_ns;
	bool is_tainted; /* a counter was rejected or a gap lies in it */
};

/* Forgets the window's content; what follows is a new one. */
void idle_window_clear(struct idle_window *w);

/* Mean power per domain over the window, rounded to nearest; 0 for an empty one. */
void idle_window_power(const struct idle_window *w, uint64_t ret_mw[DOMAIN_N]);

/*
 * Lets a finished window teach IDLE_MW. It follows low values fast and high ones slowly, which
 * settles near a low quantile of the idle windows' power. False: the window taught nothing (the
 * node was busy, the window is tainted or empty, or the counters stood still).
 */
bool idle_learn(const struct idle_window *w, uint32_t node_cpus, uint64_t idle_mw[DOMAIN_N]);

/*
 * IdleWatts is one number for all measured domains: shares it by what each of them used in this
 * tick. All 0 when nothing was used.
 */
void idle_share_configured(uint64_t idle_mw, const uint64_t energy_uj[DOMAIN_N],
			   uint64_t ret_mw[DOMAIN_N]);

#endif
