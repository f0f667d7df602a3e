/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split_math.h - products of two 64-bit numbers, for split*.c only.
 */
#ifndef CEEMS_SPLIT_MATH_H
#define CEEMS_SPLIT_MATH_H

#include <stdint.h>

__extension__ typedef unsigned __int128 split_u128;

/* How far V has to be shifted to fit into so many BITS. */
static inline unsigned int split_bits_above(split_u128 v, unsigned int bits)
{
	unsigned int shift = 0;

	while (v >> bits) {
		v >>= 1;
		shift++;
	}
	return shift;
}

static inline uint64_t split_mul_div(uint64_t a, uint64_t b, uint64_t divisor)
{
	return (uint64_t)((split_u128)a * b / divisor);
}

/* TOTAL x PART / WHOLE, PART being one of those that add up to WHOLE; 0 of nothing. */
static inline uint64_t split_fraction(uint64_t total, uint64_t part, split_u128 whole)
{
	unsigned int shift = split_bits_above(whole, 64);

	return whole ? split_mul_div(total, part >> shift, (uint64_t)(whole >> shift)) : 0;
}

#endif
