/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/counter.h"

#include <errno.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define RANGE UINT64_C(262143328850) /* a real Xeon's package */

static void test_delta(void)
{
	static const struct {
		const char *name;
		uint64_t prev, cur, range, bound;
		int rc;
		uint64_t delta;
		bool wrapped;
	} t[] = {
		{ "above the range", 95, 105, 100, 1000, -ERANGE, 0, false },
		{ "one above the range", 95, 101, 100, 1000, -ERANGE, 0, false },
		{ "base above the range", 101, 5, 100, 1000, -ERANGE, 0, false },
		{ "both above", 101, 102, 100, 1000, -ERANGE, 0, false },
		{ "jump, one above the bound", 10, 61, 100, 50, -EOVERFLOW, 0, false },
		{ "reset, one above the bound", 95, 45, 100, 50, -ESTALE, 0, false },
		{ "reset to 0 from the middle", 50, 0, 100, 50, -ESTALE, 0, false },
		{ "back by one", 50, 49, 100, 99, -ESTALE, 0, false },
		{ "back, range unknown", 50, 49, UINT64_MAX, UINT64_MAX, -ESTALE, 0, false },
		{ "any step, range 0", 0, 1, 0, 10, -ERANGE, 0, false },
		{ "still", 7, 7, 100, 0, 0, 0, false },
		{ "one step", 7, 8, 100, 50, 0, 1, false },
		{ "jump, at the bound", 10, 60, 100, 50, 0, 50, false },
		{ "to the end of the range", 95, 100, 100, 50, 0, 5, false },
		{ "wrap from the end to 0", 100, 0, 100, 50, 0, 1, true },
		{ "one wrap", 95, 5, 100, 50, 0, 11, true },
		{ "wrap, at the bound", 95, 44, 100, 50, 0, 50, true },
		{ "nearly all of the range", 50, 49, 100, 100, 0, 100, true },
		{ "a real range", RANGE - 10, 9, RANGE, 5000, 0, 20, true },
		{ "64 bits, range unknown", 1, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		uint64_t delta = 4711;
		bool wrapped = false;
		int rc = counter_delta(t[i].prev, t[i].cur, t[i].range, t[i].bound, &delta, &wrapped);

		ok(rc == t[i].rc && delta == (rc ? 4711 : t[i].delta) && wrapped == t[i].wrapped, "delta: %s",
		   t[i].name);
	}
}

static void test_bound(void)
{
	is_u64(counter_bound_uj(2500, 0), UINT64_C(2500000000), "bound: no time is the slack");
	is_u64(counter_bound_uj(2500, NSEC_PER_SEC), UINT64_C(5000000000), "bound: a second");
	is_u64(counter_bound_uj(2500, UINT64_MAX), UINT64_MAX, "bound: longest time");
	is_u64(counter_bound_uj(UINT64_MAX, NSEC_PER_SEC), UINT64_MAX, "bound: saturates");
}

/* One row per tick of a second; sum is what may be booked in all. */
struct tick {
	uint64_t cur;
	int rc;
	uint64_t delta;
	bool miss;
};

static void run(const char *name, uint64_t base, const struct tick *t, size_t n, uint64_t end)
{
	struct counter c = { .range_uj = RANGE, .max_w = COUNTER_PACKAGE_MAX_W };
	bool pass = true;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t delta = 0;
		bool wrapped;
		int rc;

		if (t[i].miss) {
			counter_miss(&c, NSEC_PER_SEC);
			continue;
		}
		rc = counter_advance(&c, &base, t[i].cur, NSEC_PER_SEC, &delta, &wrapped);
		if (rc != t[i].rc || delta != t[i].delta) {
			diag("tick %zu: rc %d delta %" PRIu64, i, rc, delta);
			pass = false;
		}
	}
	ok(pass && base == end, "advance: %s", name);
}

static void test_advance(void)
{
	static const struct tick reset[] = {
		{ .cur = UINT64_C(100000000000), .rc = 0, .delta = 0 },
		{ .cur = 50000000, .rc = -ESTALE },
		{ .cur = 150000000, .rc = 0, .delta = 100000000 },
		{ .cur = 250000000, .rc = 0, .delta = 100000000 },
	};
	static const struct tick reset_doubted_twice[] = {
		{ .cur = 50000000, .rc = -ESTALE },
		{ .cur = 1000, .rc = -ESTALE }, /* reset again */
		{ .cur = 1500, .rc = 0, .delta = 500 },
	};
	static const struct tick glitch[] = {
		{ .cur = UINT64_C(200000000000), .rc = -EOVERFLOW },
		{ .cur = UINT64_C(100000000200), .rc = 0, .delta = 200 },
		{ .cur = UINT64_C(100000000300), .rc = 0, .delta = 100 },
	};
	static const struct tick garbage[] = {
		{ .cur = UINT64_MAX, .rc = -ERANGE },
		{ .cur = UINT64_MAX, .rc = -ERANGE }, /* twice the same does not make it true */
		{ .cur = UINT64_C(100000000200), .rc = 0, .delta = 200 },
	};
	/* 6 kJ in 4 s is 1.5 kW: plausible only because the missed ticks count */
	static const struct tick missed[] = {
		{ .miss = true },
		{ .miss = true },
		{ .miss = true },
		{ .cur = UINT64_C(106000000000), .rc = 0, .delta = UINT64_C(6000000000) },
	};
	/* a reset during a long silence: a wrap would be as plausible as it gets with
	 * time */
	static const struct tick reset_missed[] = {
		{ .miss = true },
		{ .cur = 500, .rc = -ESTALE },
		{ .miss = true },
		{ .cur = 700, .rc = 0, .delta = 200 },
	};

	run("a reset costs one interval", UINT64_C(100000000000), reset, ARRAY_SIZE(reset), 250000000);
	run("two resets", UINT64_C(100000000000), reset_doubted_twice, ARRAY_SIZE(reset_doubted_twice), 1500);
	run("a glitch costs nothing", UINT64_C(100000000000), glitch, ARRAY_SIZE(glitch),
	    UINT64_C(100000000300));
	run("what is above the range costs nothing", UINT64_C(100000000000), garbage, ARRAY_SIZE(garbage),
	    UINT64_C(100000000200));
	run("missed readings are caught up", UINT64_C(100000000000), missed, ARRAY_SIZE(missed),
	    UINT64_C(106000000000));
	run("reset between missed readings", UINT64_C(100000000000), reset_missed, ARRAY_SIZE(reset_missed),
	    700);
}

int main(void)
{
	test_delta();
	test_bound();
	test_advance();
	return done_testing();
}
