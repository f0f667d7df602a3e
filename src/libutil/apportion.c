/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/apportion.h"

#include <stdbool.h>
#include <string.h>

#include "src/libutil/wide_math.h"

/* Returns the largest T for which at least K of the N remainders are T or more. */
static uint64_t kth_largest(const uint64_t *rest, size_t n, uint64_t k)
{
	uint64_t threshold = 0;
	uint64_t bit;
	size_t i;

	for (bit = UINT64_C(1) << 63; bit; bit >>= 1) {
		uint64_t count = 0;

		for (i = 0; i < n; i++)
			count += rest[i] >= (threshold | bit);
		if (count >= k)
			threshold |= bit;
	}
	return threshold;
}

/*
 * First pass: SHARE[i] holds the remainder of weight i, so no scratch array is needed. Second pass:
 * SHARE[i] becomes the share. Dividing twice is cheaper than sorting the remainders.
 */
uint64_t apportion(uint64_t total, const uint64_t *weight, size_t n, uint64_t *share)
{
	unsigned int shift;
	uint64_t threshold;
	uint64_t ties; /* how many of the remainders that equal the threshold still get one unit */
	uint64_t left = total;
	uint64_t sum;
	u128 wide = 0;
	size_t i;

	for (i = 0; i < n; i++)
		wide += weight[i];
	shift = wide_bits_above(wide, 64);
	for (i = 0, sum = 0; i < n; i++)
		sum += weight[i] >> shift;
	if (!sum || !total) {
		if (n)
			memset(share, 0, n * sizeof(*share));
		return total;
	}
	for (i = 0; i < n; i++) {
		u128 part = (u128)total * (weight[i] >> shift);

		left -= (uint64_t)(part / sum);
		share[i] = (uint64_t)(part % sum);
	}
	threshold = kth_largest(share, n, left);
	ties = left;
	for (i = 0; i < n && left; i++)
		ties -= share[i] > threshold;
	for (i = 0; i < n; i++) {
		bool extra = left && share[i] > threshold;

		if (left && share[i] == threshold && ties) {
			extra = true;
			ties--;
		}
		share[i] = wide_mul_div(total, weight[i] >> shift, sum) + extra;
	}
	return 0;
}
