/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * muldiv.h - a * b / c without overflow in the product.
 */
#ifndef CEEMS_MULDIV_H
#define CEEMS_MULDIV_H

#include <stdint.h>

#include "src/libutil/wide_math.h"

/* Returns A * B / C, rounded down; 0 if C is 0, UINT64_MAX if the result does not fit. */
static inline uint64_t muldiv(uint64_t a, uint64_t b, uint64_t c)
{
	u128 v = c ? (u128)a * b / c : 0;

	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

#endif
