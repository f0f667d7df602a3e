/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that is played here, so that its calls take as long as a test wants. */
#include "src/libmeter/sensor/gpu_poll.h"

#include <stdatomic.h>
#include <time.h>

#include "src/libutil/clock.h"
#include "tap.h"

static atomic_bool is_held; /* whoever asks how busy the GPU is */
static atomic_uint usages;

static void nap_ms(long ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000 };

	(void)nanosleep(&pause, NULL);
}

static int play_open(const char *path, void **ret_library, struct errmsg *err)
{
	(void)path, (void)err;
	*ret_library = &usages;
	return 0;
}

static int play_count(void *library, struct errmsg *err)
{
	(void)library, (void)err;
	return 1;
}

static int play_identify(void *library, unsigned int index, struct gpu_device *ret)
{
	(void)library;
	*ret = (struct gpu_device){ .handle = index + 1, .has_counter = true, .id = "GPU-1" };
	return 0;
}

static int play_energy(void *library, const struct gpu_device *d, struct gpu_sample *ret)
{
	(void)library, (void)d;
	ret->energy_uj = 1;
	return 0;
}

static void play_usage(void *library, const struct gpu_device *d, struct gpu_sample *ret)
{
	(void)library, (void)d;
	ret->busy_ppm = 1;
	while (atomic_load(&is_held))
		nap_ms(1);
	atomic_fetch_add(&usages, 1);
}

static void play_close(void *library)
{
	(void)library;
}

static const struct gpu_library_ops played = {
	.name = "played",
	.open = play_open,
	.count = play_count,
	.identify = play_identify,
	.read_energy = play_energy,
	.read_usage = play_usage,
	.close = play_close,
};

/* Energy is as old as it is, however late after it the GPU told how busy it is. */
static void test_slow_usage(void)
{
	struct gpu_view view = { 0 };
	struct gpu_poll *p = NULL;
	struct errmsg err = { 0 };
	uint64_t first_ns;
	uint64_t asked_ns;

	atomic_store(&is_held, true);
	is_int(gpu_poll_start(&played, "", &p, &err), 0, "a GPU");
	while (!view.sample[0].t_ns)
		gpu_poll_ask(p, &view);
	first_ns = view.sample[0].t_ns;
	is_u64(view.sample[0].energy_uj, 1, "its energy is there while it is asked how busy it is");
	nap_ms(60); /* the energy is not new any more */
	atomic_store(&is_held, false);
	while (!atomic_load(&usages))
		nap_ms(1);
	nap_ms(10);
	asked_ns = clock_mono_ns();
	gpu_poll_ask(p, &view);
	ok(view.sample[0].t_ns > first_ns || clock_mono_ns() - asked_ns >= 40 * NSEC_PER_MSEC,
	   "it told, late: the energy is asked for again all the same");
	gpu_poll_stop(p);
}

int main(void)
{
	test_slow_usage();
	return done_testing();
}
