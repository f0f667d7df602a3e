/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * idlefit.h - an estimate of what a part of the node draws when it does nothing, for as long as it
 * was never seen idle: power ~ idle + slope * activity over the last 15 minutes, slope > 0, idle at
 * most the lowest power seen. Least squares over fading windows, as in fit.h.
 *
 * Parts of one kind (sockets, or their memory) are nearly alike, so that the estimate of one whose load
 * changes serves those whose load does not. It is too high by what a part draws as soon as anything runs,
 * and by what the first busy cores draw above the last (voltage, turbo). Where no load changes there is
 * none: to know nothing is no number.
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
 * A window of DT_NS at POWER_MW, in which all processes did ACTIVITY. Counters tell more than CPU time
 * and are another unit: with their first window it begins anew, and those BY_TIME are left out from
 * then on.
 */
void idlefit_add(struct idlefit *f, uint64_t dt_ns, uint64_t power_mw, double activity, bool by_time);

/* What LIKE[OWN] draws idle, by itself and by the others of its kind. 0: no estimate. */
uint64_t idlefit_mw(const struct idlefit *const *like, size_t n, size_t own);

#endif
