/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reading_sums.h - what a reading has of a domain.
 */
#ifndef CEEMS_READING_SUMS_H
#define CEEMS_READING_SUMS_H

#include "src/libmeter/sensor/source.h"

/* Of all units of a domain. */
static inline uint64_t reading_energy_uj(const struct reading *r, enum domain d)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < r->nparts; i++)
		if (r->part[i].domain == d)
			sum += r->part[i].energy_uj;
	return sum;
}

static inline bool reading_has(const struct reading *r, enum domain d)
{
	uint32_t i;

	for (i = 0; i < r->nparts; i++)
		if (r->part[i].domain == d)
			return true;
	return false;
}

#endif
