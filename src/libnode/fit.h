/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fit.h - learns how much energy a cycle, an instruction and a cache miss cost on one socket, while
 * the node runs. The model is: dynamic power = theta * event rates, theta >= 0, fitted to the last
 * 15 minutes.
 *
 * Only the ratios within theta are used, as weights between steps. So a bad fit makes wrong shares,
 * but the shares still add up to the measured energy. The fit starts from values in the source
 * code, in which cycles have the largest weight, so at first it agrees with CPU time. It moves away
 * from them as far as the data allows.
 *
 * Method: non-negative least squares over windows that fade exponentially, regularised towards the
 * start values; online and non-negative as in SmartWatts (CCGrid 2020). A constant load does not
 * tell events apart, so after an hour of it the fit is back at the start values. The fit is not
 * saved: a restarted slurmd learns it again within 15 minutes.
 *
 * Floating point is used here, unlike in the rest of the accounting, because the result is a ratio.
 * It is turned into integers before any energy is split.
 */
#ifndef CEEMS_FIT_H
#define CEEMS_FIT_H

#include <stdint.h>

#include "src/libmeter/activity/cgcounters.h"

/* Plain data; set up by fit_init(), nothing to free. */
struct fit {
	double info[EVENT_N][EVENT_N]; /* sum of x x', faded */
	double target[EVENT_N];	       /* sum of x y, faded */
	double theta[EVENT_N];	       /* cost per event, relative to the start values */
	double noise;		       /* the mean error, as a cost in theta's unit */
	double seconds;		       /* how much data is in the sums, faded like them */
};

void fit_init(struct fit *f);

/*
 * Adds a window of DT_NS, one second or longer, in which the socket used DYNAMIC_UJ more than its
 * idle energy and all its CPUs together did EVENTS. -ERANGE: the window is ignored, because it is
 * empty, has hardly any events, or has more than a socket can do. Takes about a microsecond;
 * allocates nothing.
 */
int fit_add(struct fit *f, uint64_t dynamic_uj, uint64_t dt_ns, const uint64_t events[EVENT_N]);

/* The cost of EVENTS in picojoules by the present fit. Never 0 unless all EVENTS are 0. */
uint64_t fit_weight(const struct fit *f, const uint64_t events[EVENT_N]);

#endif
