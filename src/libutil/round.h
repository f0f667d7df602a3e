/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * round.h - a double as an integer: a cast of what does not fit is undefined.
 */
#ifndef CEEMS_ROUND_H
#define CEEMS_ROUND_H

#include <stdint.h>

/* To nearest; 0 of NAN and of what is negative, UINT64_MAX of what does not fit. */
static inline uint64_t round_u64(double v)
{
	if (!(v >= 0.5))
		return 0;
	if (v >= 0x1p64)
		return UINT64_MAX;
	/* from 2^52 on a double is whole, and the sum would be rounded */
	return v < 0x1p52 ? (uint64_t)(v + 0.5) : (uint64_t)v;
}

#endif
