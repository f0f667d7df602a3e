/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idlefit.h - estimates the idle power of a part that was never seen idle. The model is: power =
 * idle + slope * activity, fitted to the last 15 minutes, with slope > 0 and idle at most the
 * lowest power seen. Least squares over fading windows, as in fit.h.
 *
 * Parts of one kind (sockets, or their memory) are nearly alike, so a part with constant load uses
 * the estimate of one whose load changes. The estimate is too high, for two reasons: a part draws
 * some power as soon as anything runs, and the first busy cores draw more than the last (voltage,
 * turbo). If no part's load changes, there is no estimate.
 *
 * Floating point, as in fit.h; the result is rounded to milliwatts before any energy is split.
 */
#ifndef CEEMS_IDLEFIT_H
#define CEEMS_IDLEFIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Plain data. Zeroed: nothing seen yet. */
struct idlefit {
	double seconds; /* how much data is in the sums, faded like them */
	double x, y, xx, xy, yy;
	double lowest_mw;
	bool by_counters; /* activity is in hardware events, not CPU time */
};

/*
 * Adds a window of DT_NS with mean power POWER_MW and ACTIVITY of all processes. BY_TIME: ACTIVITY
 * is CPU time, otherwise hardware events, which tell more. The first window with events resets the
 * fit, and windows BY_TIME are ignored from then on.
 */
void idlefit_add(struct idlefit *f, uint64_t dt_ns, uint64_t power_mw, double activity, bool by_time);

/*
 * Returns the idle power of part LIKE[OWN] in mW. LIKE[n] are all parts of its kind. 0: there is no estimate.
 */
uint64_t idlefit_mw(const struct idlefit *const *like, size_t n, size_t own);

#endif
