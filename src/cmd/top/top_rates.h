/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_rates.h - computes rates from repeated readings of counters. The values of sensors and sstat change
 * only every few seconds, so a rate is a mean over several readings, not over the last two.
 */
#ifndef CEEMS_CMD_TOP_RATES_H
#define CEEMS_CMD_TOP_RATES_H

#include "src/cmd/top/top.h"
#include "src/libcore/metric.h"

struct top_rates;

/* The sampler reads CPU time, memory and I/O of running steps at least this often (doc/metrics.md). */
#define TOP_RATES_LIVE_NS UINT64_C(5000000000)

/* Returns an empty set of readings. Rates are means over about WINDOW_NS. NULL: out of memory. */
struct top_rates *top_rates_create(uint64_t window_ns);
void top_rates_destroy(struct top_rates *r);

/*
 * Sets the values of ROW from F, the counters of job or step KEY at T_NS. A rate is computed from an earlier
 * reading that is about TOP_RATES_LIVE_NS old, or older. Without such a reading, it is computed from
 * SINCE_NS, when all counters were 0. If SINCE_NS is unknown (UINT64_MAX), it is computed from the oldest
 * reading. Returns 0 or -ENOMEM.
 */
int top_rates_set(struct top_rates *r, uint64_t key, uint64_t t_ns, uint64_t since_ns, const struct values *f,
		  struct top_row *row);

/*
 * Sets the values of ROW as top_rates_set() did last for KEY, which was not read now. If
 * it never was, ROW stays.
 */
void top_rates_keep(struct top_rates *r, uint64_t key, struct top_row *row);

/* Forgets the jobs (keys) for which neither was called since the last sweep. */
void top_rates_sweep(struct top_rates *r);

#endif
