/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/idlefit.h"

#include "src/libutil/clock.h"
#include "tap.h"

#define S NSEC_PER_SEC

static struct idlefit fit;
static struct idlefit other;

static void add(struct idlefit *f, double watts, double activity)
{
	idlefit_add(f, S, (uint64_t)(watts * 1000), activity * 1e9, /* by_time= */ true);
}

static uint64_t estimate(void)
{
	const struct idlefit *const like[] = { &fit, &other };

	return idlefit_mw(like, 2, 0);
}

/* Phases of 4 seconds. */
static void run(unsigned int seconds, double idle_w, double slope, double from, double to)
{
	unsigned int i;

	for (i = 0; i < seconds; i++) {
		double x = i / 4 % 2 ? from : to;

		add(&fit, idle_w + slope * x, x);
	}
}

static void start(void)
{
	fit = other = (struct idlefit){ 0 };
}

static bool is_near(uint64_t mw, double watts)
{
	return (double)mw > watts * 980 && (double)mw < watts * 1020;
}

static void test_unknown(void)
{
	start();
	is_u64(estimate(), 0, "nothing seen: no estimate");
	idlefit_add(&fit, 0, 50000, 1e9, true);
	is_u64(estimate(), 0, "an empty window tells nothing");
	add(&fit, 50, 10);
	add(&fit, 60, 20);
	is_u64(estimate(), 0, "nor do two seconds");
	start();
	run(600, 40, 1, 20, 20);
	is_u64(estimate(), 0, "nor does a load that never changes");
	start();
	run(600, 40, 0, 5, 20);
	is_u64(estimate(), 0, "nor does power that never changes");
	start();
	run(600, 100, -1, 5, 20);
	is_u64(estimate(), 0, "nor does one that falls with activity");
	start();
	run(600, 0, 1, 20, 22);
	is_u64(estimate(), 0, "nor does a load that hardly changes: the estimate is too uncertain");
	start();
	run(600, -10, 2, 20, 50);
	is_u64(estimate(), 0, "no machine idles below 0");
}

static void test_estimate(void)
{
	unsigned int i;

	start();
	run(60, 40, 1.5, 10, 30);
	ok(is_near(estimate(), 40), "power without activity");
	run(3600, 30, 1.5, 10, 30);
	ok(is_near(estimate(), 30), "what is an hour old is forgotten");
	start();
	for (i = 0; i < 60; i++)
		add(&fit, i / 4 % 2 ? 43 : 46 + i % 2, 1 + i / 4 % 2);
	is_u64(estimate(), 0, "more activity at less power tells nothing");
	start();
	for (i = 0; i < 60; i++) /* the first cores draw the most */
		add(&fit, i < 8 ? 35 : i / 4 % 2 ? 60 : 70, i < 8 ? 0 : i / 4 % 2 ? 10 : 30);
	is_u64(estimate(), 35000, "at most the lowest power seen");
}

static void test_others(void)
{
	unsigned int i;

	start();
	for (i = 0; i < 60; i++) {
		add(&fit, 90, 20);
		add(&other, i / 4 % 2 ? 50 : 70, i / 4 % 2 ? 10 : 30);
	}
	ok(is_near(estimate(), 40), "a fit without an estimate takes that of another of its kind");
	fit = (struct idlefit){ 0 };
	run(600, 44, 1, 10, 30);
	ok(estimate() > 42000 && estimate() < 45000, "a fit with an estimate mostly keeps its own");
}

static void test_units(void)
{
	unsigned int i;

	start();
	run(60, 40, 1, 10, 30);
	for (i = 0; i < 60; i++) {
		double watts = i / 4 % 2 ? 50 : 70;

		idlefit_add(&fit, S, (uint64_t)(watts * 1000), (watts - 35) * 1e12, false);
		idlefit_add(&fit, S, 20000, 1e9, true);
	}
	ok(is_near(estimate(), 35), "counters take the place of CPU time");
}

int main(void)
{
	test_unknown();
	test_estimate();
	test_others();
	test_units();
	return done_testing();
}
