/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idlefit.h - an estimate of the idle power of a part that was never seen idle: power ~ idle +
 * slope * activity over the last 15 minutes, with slope > 0 and idle at most the lowest power seen.
 * Least squares over fading windows, as in fit.h.
 *
 * Parts of one kind (sockets, or their memory) are nearly alike. So the estimate of a part whose
 * load changes also serves parts whose load does not. The estimate is too high by the power that a
 * part draws as soon as anything runs, and since the first busy cores draw more than the last
 * (voltage, turbo). Where no load changes, there is no estimate.
 *
 * Floating point, as in fit.h: whole milliwatts are made of it before a joule is split.
 */
#ifndef CEEMS_IDLEFIT_H
#define CEEMS_IDLEFIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Plain data. Zeroed: nothing seen yet. */
struct idlefit {
	double seconds; /* of data, faded, as the sums are */
	double x, y, xx, xy, yy;
	double lowest_mw;
	bool by_counters; /* what activity is counted in */
};

/*
 * A window of DT_NS at POWER_MW, in which all processes did ACTIVITY. Counters tell more than CPU
 * time, in another unit. With the first window of counters the fit begins anew, and windows BY_TIME
 * are left out from then on.
 */
void idlefit_add(struct idlefit *f, uint64_t dt_ns, uint64_t power_mw, double activity, bool by_time);

/* What LIKE[OWN] draws idle, by itself and by the others of its kind. 0: no estimate. */
uint64_t idlefit_mw(const struct idlefit *const *like, size_t n, size_t own);

#endif
