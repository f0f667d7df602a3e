/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/idle.h"

#include "src/libutil/util.h"
#include "tap.h"

#define SEC UINT64_C(1000000000)

/* clang-format off */
static const struct {
	const char *name;
	struct idle_window w;
	uint64_t idle_mw; /* of the CPU, before */
	uint64_t after_mw;
	bool learned;
} windows[] = {
	{ "an empty window teaches nothing", { .energy_uj = 5 }, 7, 7, false },
	{ "nor does a busy one, low as its power may be",
	  { .energy_uj = 1000, .busy_ns = SEC / 10, .length_ns = SEC }, 90000, 90000, false },
	{ "nor does exactly the limit",
	  { .energy_uj = 40000000, .busy_ns = SEC / 50 * 4, .length_ns = SEC }, 0, 0, false },
	{ "nor does one with a rejected reading",
	  { .energy_uj = 40000000, .length_ns = SEC, .is_tainted = true }, 0, 0, false },
	{ "nor does a counter that stands still", { .length_ns = SEC }, 40000, 40000, false },
	{ "nor does one in which a job computes, few as its CPUs may be among the node's",
	  { .energy_uj = 40000000, .busy_ns = SEC / 20, .jobs_ns = SEC / 20, .length_ns = SEC },
	  38000, 38000, false },
	{ "just less than that is a job that waits",
	  { .energy_uj = 40000000, .busy_ns = SEC / 20, .jobs_ns = SEC / 20 - 1, .length_ns = SEC },
	  0, 40000, true },
	{ "the first idle window counts as it is",
	  { .energy_uj = 40000000, .length_ns = SEC }, 0, 40000, true },
	{ "just below the limit is idle",
	  { .energy_uj = 40000000, .busy_ns = SEC / 50 * 4 - 1, .length_ns = SEC }, 0, 40000,
	  true },
	{ "a lower one pulls down by a quarter",
	  { .energy_uj = 40000000, .length_ns = SEC }, 80000, 70000, true },
	{ "and by 1 mW at the very least",
	  { .energy_uj = 40000000, .length_ns = SEC }, 40001, 40000, true },
	{ "a higher one lifts by a 64th",
	  { .energy_uj = 104000000, .length_ns = SEC }, 40000, 41000, true },
	{ "power is per second, not per window",
	  { .energy_uj = 80000000, .length_ns = 2 * SEC }, 0, 40000, true },
};
/* clang-format on */

static void test_learn(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		uint64_t mw = windows[i].idle_mw;

		ok(idle_learn(&windows[i].w, /* node_cpus= */ 4, &mw) == windows[i].learned, "%s",
		   windows[i].name);
		is_u64(mw, windows[i].after_mw, "  mW");
	}
}

static void test_settles(void)
{
	uint64_t mw = 0;
	unsigned int i;

	/* Nine of ten idle windows see a daemon at work: the tenth decides. */
	for (i = 0; i < 5000; i++) {
		struct idle_window w = {
			.energy_uj = i % 10 ? 44000000 : 40000000,
			.length_ns = SEC,
		};

		idle_learn(&w, 4, &mw);
	}
	ok(mw > 40000 && mw < 42500, "settles near the low values: %" PRIu64, mw);
}

/* A sensor that shows 40 J every four seconds draws 10 W. */
static void test_slow(void)
{
	struct idle_window w = { .length_ns = 3 * SEC };

	ok(!idle_window_is_over(&w, SEC), "no energy yet: the window goes on");
	w.length_ns = 4 * SEC;
	w.energy_uj = 40000000;
	ok(idle_window_is_over(&w, SEC), "until there is some");
	is_u64(idle_window_power(&w), 10000, "power is of all that time");
	w = (struct idle_window){ .length_ns = IDLE_SILENT_INTERVALS * SEC };
	ok(idle_window_is_over(&w, SEC), "a sensor that is silent for long");
	is_u64(idle_window_power(&w), 0, "has no power");
	w = (struct idle_window){ .energy_uj = 1, .length_ns = SEC - 1 };
	ok(!idle_window_is_over(&w, SEC), "a short window goes on");
}

static void test_power(void)
{
	struct idle_window w = { .energy_uj = UINT64_MAX / 2, .length_ns = 3 * SEC };

	is_u64(idle_window_power(&w), UINT64_C(3074457345618259), "no overflow");
	w = (struct idle_window){ 0 };
	is_u64(idle_window_power(&w), 0, "an empty window has no power");
}

static void test_gpus(void)
{
	const struct gpu_reading gpu[] = {
		{ .unit = 0, .value[GPU_VALUE_BUSY_PPM] = 900000 },
		{ .unit = 1, .value[GPU_VALUE_BUSY_PPM] = IDLE_MAX_BUSY_PPM - 1 },
		{ .unit = 2, .value[GPU_VALUE_BUSY_PPM] = GPU_VALUE_UNKNOWN },
	};
	uint32_t held_ppm[GPUS_MAX] = { 0 };

	ok(!idle_gpus_work(held_ppm, gpu, 3), "a GPU that no job holds is the node's idle power");
	held_ppm[1] = 250000;
	ok(!idle_gpus_work(held_ppm, gpu, 3), "and so is one that is held and does nothing");
	held_ppm[2] = 1000000;
	ok(idle_gpus_work(held_ppm, gpu, 3), "one whose use is not known may work");
	held_ppm[2] = 0;
	held_ppm[7] = 1;
	ok(idle_gpus_work(held_ppm, gpu, 3), "and so may one that is not listed");
	held_ppm[7] = 0;
	held_ppm[0] = 1;
	ok(idle_gpus_work(held_ppm, gpu, 3), "one that is busy does");
}

int main(void)
{
	test_learn();
	test_settles();
	test_slow();
	test_power();
	test_gpus();
	return done_testing();
}
