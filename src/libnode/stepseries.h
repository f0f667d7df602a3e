/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepseries.h - a step over time, as rows. A row has the increase of some metrics since the row before.
 * The sum of all rows of a column is the step's value at the last row.
 */
#ifndef CEEMS_STEPSERIES_H
#define CEEMS_STEPSERIES_H

#include <stddef.h>
#include <stdint.h>

#include "src/libcore/metric.h"

#define STEPSERIES_MAX 24 /* columns */
#define STEPSERIES_NAME_SIZE 40

struct stepseries {
	size_t n; /* columns */
	enum metric metric[STEPSERIES_MAX];
	uint64_t last[STEPSERIES_MAX];
	uint64_t last_ns; /* of the row before; 0: the step's begin */
};

/* Columns for those of METRICS[n] that F knows, in that order. Further ones than STEPSERIES_MAX are left out. */
void stepseries_init(struct stepseries *s, const enum metric *metrics, size_t n, const struct values *f);

/* "energy_uj": the metric's name and unit. */
void stepseries_name(enum metric m, char name[STEPSERIES_NAME_SIZE]);

/*
 * Writes to GAINED[s->n] what F, what the step has after ELAPSED_NS, has more than the row before. What is unknown or
 * less in F is 0, and counts with the next row. Returns the nanoseconds since the row before.
 */
uint64_t stepseries_next(struct stepseries *s, const struct values *f, uint64_t elapsed_ns, uint64_t *gained);

#endif
