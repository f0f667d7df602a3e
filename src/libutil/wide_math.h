/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wide_math.h - sums, products and fractions of 64-bit numbers without overflow.
 */
#ifndef CEEMS_WIDE_MATH_H
#define CEEMS_WIDE_MATH_H

#include <stdint.h>

__extension__ typedef unsigned __int128 u128;

/* By how many bits V must be shifted right to fit into BITS bits. */
static inline unsigned int wide_bits_above(u128 v, unsigned int bits)
{
	unsigned int shift = 0;

	while (v >> bits) {
		v >>= 1;
		shift++;
	}
	return shift;
}

/* Returns A + B; UINT64_MAX if the sum does not fit. */
static inline uint64_t wide_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t wide_mul_div(uint64_t a, uint64_t b, uint64_t divisor)
{
	return (uint64_t)((u128)a * b / divisor);
}

/* Returns TOTAL * PART / WHOLE, where PART is at most WHOLE; 0 if WHOLE is 0. */
static inline uint64_t wide_fraction(uint64_t total, uint64_t part, u128 whole)
{
	unsigned int shift = wide_bits_above(whole, 64);

	return whole ? wide_mul_div(total, part >> shift, (uint64_t)(whole >> shift)) : 0;
}

#endif
