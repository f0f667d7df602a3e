/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/idle.h"

#include "src/libutil/util.h"
#include "tap.h"

#define SEC UINT64_C(1000000000)

static const struct {
	const char *name;
	struct idle_window w;
	uint64_t idle_mw; /* of the CPU, before */
	uint64_t after_mw;
	bool learned;
} windows[] = {
	{ "an empty window teaches nothing", { .energy_uj = { 5 } }, 7, 7, false },
	{ "nor does a busy one, low as its power may be",
	  { .energy_uj = { 1000 }, .busy_ns = SEC / 10, .length_ns = SEC }, 90000, 90000, false },
	{ "nor does exactly the limit",
	  { .energy_uj = { 40000000 }, .busy_ns = SEC / 50 * 4, .length_ns = SEC }, 0, 0, false },
	{ "nor does one with a rejected reading",
	  { .energy_uj = { 40000000 }, .length_ns = SEC, .is_tainted = true }, 0, 0, false },
	{ "nor does a counter that stands still", { .length_ns = SEC }, 40000, 40000, false },
	{ "the first idle window counts as it is",
	  { .energy_uj = { 40000000 }, .length_ns = SEC }, 0, 40000, true },
	{ "just below the limit is idle",
	  { .energy_uj = { 40000000 }, .busy_ns = SEC / 50 * 4 - 1, .length_ns = SEC }, 0, 40000,
	  true },
	{ "a lower one pulls down by a quarter",
	  { .energy_uj = { 40000000 }, .length_ns = SEC }, 80000, 70000, true },
	{ "and by 1 mW at the very least",
	  { .energy_uj = { 40000000 }, .length_ns = SEC }, 40001, 40000, true },
	{ "a higher one lifts by a 64th",
	  { .energy_uj = { 104000000 }, .length_ns = SEC }, 40000, 41000, true },
	{ "power is per second, not per window",
	  { .energy_uj = { 80000000 }, .length_ns = 2 * SEC }, 0, 40000, true },
};

static void test_learn(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		uint64_t mw[DOMAIN_N] = { windows[i].idle_mw };

		ok(idle_learn(&windows[i].w, /* node_cpus= */ 4, mw) == windows[i].learned, "%s",
		   windows[i].name);
		is_u64(mw[DOMAIN_CPU], windows[i].after_mw, "  mW");
		is_u64(mw[DOMAIN_DRAM], 0, "  a domain without a sensor stays unknown");
	}
}

static void test_settles(void)
{
	uint64_t mw[DOMAIN_N] = { 0 };
	unsigned int i;

	/* Nine of ten idle windows see a daemon at work: the tenth decides. */
	for (i = 0; i < 5000; i++) {
		struct idle_window w = {
			.energy_uj = { i % 10 ? 44000000 : 40000000 },
			.length_ns = SEC,
		};

		idle_learn(&w, 4, mw);
	}
	ok(mw[DOMAIN_CPU] > 40000 && mw[DOMAIN_CPU] < 42500, "settles near the low values: %" PRIu64,
	   mw[DOMAIN_CPU]);
}

static void test_share(void)
{
	uint64_t none[DOMAIN_N] = { 0 };
	uint64_t some[DOMAIN_N] = { 300, 100 };
	uint64_t mw[DOMAIN_N];

	idle_share_configured(80000, none, mw);
	is_u64(mw[0] + mw[1] + mw[2] + mw[3], 0, "nothing used: no idle power");
	idle_share_configured(80001, some, mw);
	is_u64(mw[DOMAIN_CPU], 60001, "IdleWatts by what the domains used");
	is_u64(mw[DOMAIN_DRAM], 20000, "and nothing of it is lost");
}

static void test_power(void)
{
	struct idle_window w = { .energy_uj = { UINT64_MAX / 2 }, .length_ns = 3 * SEC };
	uint64_t mw[DOMAIN_N];

	idle_window_power(&w, mw);
	is_u64(mw[0], UINT64_C(3074457345618259), "no overflow");
	idle_window_clear(&w);
	idle_window_power(&w, mw);
	is_u64(mw[0], 0, "an empty window has no power");
}

int main(void)
{
	test_learn();
	test_settles();
	test_share();
	test_power();
	return done_testing();
}
