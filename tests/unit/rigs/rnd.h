/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rnd.h - random numbers that a seed repeats.
 */
#ifndef CEEMS_TEST_RND_H
#define CEEMS_TEST_RND_H

#include <stdint.h>

static uint64_t rng; /* the state; the seed must not be 0 */

/* Returns a number below BELOW. */
static inline uint64_t rnd(uint64_t below)
{
	rng ^= rng >> 12; /* xorshift64*, Vigna 2016 */
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return below ? rng * UINT64_C(0x2545F4914F6CDD1D) % below : 0;
}

#endif
