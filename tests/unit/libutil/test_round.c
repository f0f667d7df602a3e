/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libutil/round.h"

#include <math.h>

#include "tap.h"

static const struct {
	const char *what;
	double v;
	uint64_t rounded;
} cases[] = {
	{ "no number", NAN, 0 },
	{ "negative", -1, 0 },
	{ "below a half", 0.49999999999999994, 0 },
	{ "a half", 0.5, 1 },
	{ "2.4", 2.4, 2 },
	{ "2^52 + 1", 0x1p52 + 1, (UINT64_C(1) << 52) + 1 },
	{ "the largest below 2^64", 0x1p64 - 2048, UINT64_MAX - 2047 },
	{ "2^64", 0x1p64, UINT64_MAX },
	{ "infinite", INFINITY, UINT64_MAX },
};

int main(void)
{
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_u64(round_u64(cases[i].v), cases[i].rounded, cases[i].what);
	return done_testing();
}
