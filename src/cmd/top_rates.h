/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_rates.h - computes rates from counters that are read again and again. The values of sensors and sstat change only
 * every few seconds, so a rate is the mean over several readings, not over the last two.
 */
#ifndef CEEMS_CMD_TOP_RATES_H
#define CEEMS_CMD_TOP_RATES_H

#include "src/cmd/top.h"
#include "src/libcore/metric.h"

struct top_rates;

/* How often the sampler brings CPU time, memory and I/O of running steps up to date, at least (doc/metrics.md). */
#define TOP_RATES_LIVE_NS UINT64_C(5000000000)

/* NULL: out of memory. */
struct top_rates *top_rates_create(uint64_t window_ns);
void top_rates_destroy(struct top_rates *r);

/*
 * Sets the values of ROW from the counters F of KEY, read at T_NS: rates since an earlier reading of the
 * window, or since its start SINCE_NS (the counters were 0 then) while there is none that is TOP_RATES_LIVE_NS old;
 * UINT64_MAX: that is not known. -ENOMEM.
 */
int top_rates_set(struct top_rates *r, uint64_t key, uint64_t t_ns, uint64_t since_ns, const struct figures *f,
		  struct top_row *row);

/* Forgets what had no reading since the last call. */
void top_rates_sweep(struct top_rates *r);

#endif
