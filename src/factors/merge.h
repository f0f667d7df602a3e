/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * merge.h - merges the points of several providers into one series. Where a preferred provider has
 * a point, points of other providers are ignored, even if they come later.
 */
#ifndef CEEMS_FACTORS_MERGE_H
#define CEEMS_FACTORS_MERGE_H

#include "src/factors/provider.h"

/*
 * Adds the points P of PROVIDER to S. PREFERENCE lists providers, separated by commas. Where a
 * provider that precedes PROVIDER in PREFERENCE has points, P is left out. Returns 0 or -errno of
 * factor_series_add().
 */
int merge_points(struct factor_series *s, const char *preference, const struct provider *provider,
		 const struct points *p, struct errmsg *err);

/* Joins neighbours that differ only in their times (from, until, fetched). */
void merge_neighbours(struct factor_series *s);

#endif
