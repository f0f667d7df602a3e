/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fit.h - the energy cost of a cycle, an instruction and a cache miss on this socket, learned while
 * the node runs: dynamic power ~ theta . (event rates), theta >= 0, over the last 15 minutes.
 *
 * Only the ratios of theta are used, as weights between steps. A bad fit skews shares, but cannot
 * break conservation. The fit starts from shipped values, in which cycles have the largest weight, so
 * that it agrees with CPU time at first. It moves away from them as far as the data tells the events
 * apart.
 *
 * Method: non-negative least squares over exponentially fading windows, regularised towards the
 * shipped ratios; online and non-negative as in SmartWatts (CCGrid 2020). A constant load tells no
 * events apart, so after an hour of it the fit is back at the shipped ratios. Nothing is kept
 * over a restart. The fit is then learned again within 15 minutes.
 *
 * Floating point, unlike the rest of the accounting: the result is a ratio, which becomes integers
 * before a joule is split.
 */
#ifndef CEEMS_FIT_H
#define CEEMS_FIT_H

#include <stdint.h>

#include "src/libmeter/activity/cgcounters.h"

/* Plain data; fit_init() is all that it takes. */
struct fit {
	double info[EVENT_N][EVENT_N]; /* sum of x x', faded */
	double target[EVENT_N];	       /* sum of x y, faded */
	double theta[EVENT_N];	       /* relative to the shipped values */
	double noise;		       /* mean error, in the scale of theta */
	double seconds;		       /* of data, faded */
};

void fit_init(struct fit *f);

/*
 * One window: the socket used DYNAMIC_UJ above its idle power while all its CPUs did EVENTS. A
 * window should be a second or longer. -ERANGE: no window, hardly any events, or more events than a
 * socket can do; the window is left out. No allocation, about a microsecond.
 */
int fit_add(struct fit *f, uint64_t dynamic_uj, uint64_t dt_ns, const uint64_t events[EVENT_N]);

/* What EVENTS are worth, in picojoules by theta. Never 0 for events that are not all 0. */
uint64_t fit_weight(const struct fit *f, const uint64_t events[EVENT_N]);

#endif
