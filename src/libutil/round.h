/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * round.h - rounds a double to an integer; a plain cast is undefined if the value does not fit.
 */
#ifndef CEEMS_ROUND_H
#define CEEMS_ROUND_H

#include <stdint.h>

/*
 * Rounds to the nearest integer: 0 for NAN and negative values, UINT64_MAX for values that do not
 * fit.
 */
static inline uint64_t round_u64(double v)
{
	if (!(v >= 0.5))
		return 0;
	if (v >= 0x1p64)
		return UINT64_MAX;
	/* doubles from 2^52 on are whole numbers, and adding 0.5 would round them again */
	return v < 0x1p52 ? (uint64_t)(v + 0.5) : (uint64_t)v;
}

#endif
