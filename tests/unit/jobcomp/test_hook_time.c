/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/hook_time.h"

#include "tap.h"

int main(void)
{
	struct hook_time t = { 0 };
	struct hook_cost cost;
	bool good = true;
	uint64_t ns;

	is_u64(hook_time_quantile_ns(&t, 990), 0, "no calls, no time");
	/* alone, every time is its own quantile: the bin's end is cut at the maximum */
	for (ns = 0; ns < 100000 && good; ns += ns / 50 + 1) {
		struct hook_time one = { 0 };

		hook_time_add(&one, ns);
		good = hook_time_quantile_ns(&one, 500) == ns;
	}
	ok(good, "one call is its own median");
	for (ns = 0, good = true; ns < 100000 && good; ns += ns / 50 + 1) {
		struct hook_time two = { 0 };
		uint64_t q;

		hook_time_add(&two, ns);
		hook_time_add(&two, UINT64_MAX);
		q = hook_time_quantile_ns(&two, 500);
		good = q >= ns && q <= ns + ns / 4 + 1;
	}
	ok(good, "a quantile is at most a quarter too high, never too low");
	for (ns = 1; ns <= 1000; ns++)
		hook_time_add(&t, ns);
	ok(hook_time_quantile_ns(&t, 500) >= 500 && hook_time_quantile_ns(&t, 500) < 640,
	   "the median of a thousand");
	ok(hook_time_quantile_ns(&t, 990) >= 990 && hook_time_quantile_ns(&t, 990) <= 1000,
	   "the 99 %% quantile of a thousand");
	is_u64(t.max_ns, 1000, "the maximum is exact");
	hook_time_add(&t, 4095);
	hook_time_add(&t, 4096);
	hook_time_add(&t, UINT64_C(1) << 40);
	hook_time_cost(&t, &cost);
	ok(cost.n == 1003 && cost.max_ns == UINT64_C(1) << 40,
	   "hook_time_cost(): the number of calls and the longest");
	is_u64(cost.sum_ns, 500500 + 4095 + 4096 + (UINT64_C(1) << 40), "the sum is exact");
	is_u64(cost.upto[0], 1001, "the first bucket ends below 4,096 ns");
	is_u64(cost.upto[1], 1002, "the second has the call of 4,096 ns");
	is_u64(cost.upto[HOOK_COST_BUCKETS - 1], 1002, "the last leaves out a call above its end");
	hook_time_add(&t, UINT64_MAX);
	is_u64(hook_time_quantile_ns(&t, 1000), UINT64_MAX, "the longest time that fits is the maximum");
	return done_testing();
}
