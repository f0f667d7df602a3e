/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * merge.h - what several providers say of one region and kind becomes one series: where the preferred
 * one said something, the others do not count, however late they come.
 */
#ifndef CEEMS_FACTORS_MERGE_H
#define CEEMS_FACTORS_MERGE_H

#include "src/factors/provider.h"

/*
 * Adds P to S, but where a provider that is before PROVIDER in the comma list PREFERENCE has said
 * something.
 */
int merge_points(struct factor_series *s, const char *preference,
		 const struct provider *provider, const struct points *p, struct errmsg *err);

/* Neighbours that differ in nothing but their time become one. */
void merge_neighbours(struct factor_series *s);

#endif
