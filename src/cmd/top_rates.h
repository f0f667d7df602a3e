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

/* The sampler reads CPU time, memory and I/O of running steps at least this often (doc/metrics.md). */
#define TOP_RATES_LIVE_NS UINT64_C(5000000000)

/* NULL: out of memory. */
struct top_rates *top_rates_create(uint64_t window_ns);
void top_rates_destroy(struct top_rates *r);

/*
 * Sets the values of ROW from the counters F of KEY, which were read at T_NS. A rate begins at an earlier reading that is
 * about TOP_RATES_LIVE_NS old, or older. Until KEY has such a reading, its rates begin at SINCE_NS, when all counters were
 * 0. If SINCE_NS is UINT64_MAX, that time is unknown, and rates begin at the first reading. Returns 0 or -ENOMEM.
 */
int top_rates_set(struct top_rates *r, uint64_t key, uint64_t t_ns, uint64_t since_ns, const struct values *f,
		  struct top_row *row);

/* Sets the values of ROW as top_rates_set() did last for KEY, which was not read now. If it never was, ROW stays. */
void top_rates_keep(struct top_rates *r, uint64_t key, struct top_row *row);

/* Forgets the jobs (keys) for which neither was called since the last sweep. */
void top_rates_sweep(struct top_rates *r);

#endif
