/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stepseries.h - the values of a step over time, as rows. A row has the increase of some metrics
 * since the row before. So the sum of a column is the step's value at the last row.
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
	uint64_t last_ns; /* elapsed time of the last row; 0: the step's begin */
};

/*
 * Makes a column for each of METRICS[n] that has a value in F, in that order, at most
 * STEPSERIES_MAX.
 */
void stepseries_init(struct stepseries *s, const enum metric *metrics, size_t n, const struct values *f);

/* Writes the column's name: the metric's name and unit, such as "energy_uj". */
void stepseries_name(enum metric m, char name[STEPSERIES_NAME_SIZE]);

/*
 * Makes a row. F has the step's values after ELAPSED_NS. GAINED[s->n] gets the increase since the
 * last row. A value that is unknown or decreased gives 0; a later row makes up for it. Returns the
 * nanoseconds since the last row.
 */
uint64_t stepseries_next(struct stepseries *s, const struct values *f, uint64_t elapsed_ns, uint64_t *gained);

#endif
