/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/idle.h"

#define NS_PER_MW_UJ UINT64_C(1000000) /* 1 mW for 1 ms is 1 uJ */
#define FALL_SHIFT 2 /* a lower power is followed by a quarter of the difference per window */
#define RISE_SHIFT 6 /* a higher one by a 64th: idle power follows temperature, but must not follow load */

bool idle_window_is_over(const struct idle_window *w, uint64_t interval_ns)
{
	return w->length_ns >= (w->energy_uj ? interval_ns : IDLE_SILENT_INTERVALS * interval_ns);
}

uint64_t idle_window_power(const struct idle_window *w)
{
	unsigned __int128 uj_ns = (unsigned __int128)w->energy_uj * NS_PER_MW_UJ;

	return w->length_ns ? (uint64_t)((uj_ns + w->length_ns / 2) / w->length_ns) : 0;
}

static bool is_idle(const struct idle_window *w, uint32_t node_cpus)
{
	unsigned __int128 all = (unsigned __int128)w->length_ns * node_cpus;

	return (unsigned __int128)w->busy_ns * 1000000 < all * IDLE_MAX_BUSY_PPM &&
	       (unsigned __int128)w->jobs_ns * 1000000 < (unsigned __int128)w->length_ns * IDLE_MAX_JOBS_PPM;
}

bool idle_learn(const struct idle_window *w, uint32_t node_cpus, uint64_t *idle_mw)
{
	uint64_t mw = idle_window_power(w);

	/* 0 W means that the sensor had no new value, since no idle machine uses 0 W */
	if (!mw || w->is_tainted || !is_idle(w, node_cpus))
		return false;
	if (!*idle_mw)
		*idle_mw = mw;
	else if (mw < *idle_mw)
		*idle_mw -= (*idle_mw - mw + (1 << FALL_SHIFT) - 1) >> FALL_SHIFT;
	else
		*idle_mw += (mw - *idle_mw) >> RISE_SHIFT;
	return true;
}

static bool is_known_idle(unsigned int unit, const struct gpu_reading *gpu, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (gpu[i].unit == unit)
			return gpu[i].value[GPU_VALUE_BUSY_PPM] < IDLE_MAX_BUSY_PPM;
	return false;
}

bool idle_gpus_work(const uint32_t held_ppm[GPUS_MAX], const struct gpu_reading *gpu, size_t n)
{
	unsigned int unit;

	for (unit = 0; unit < GPUS_MAX; unit++)
		if (held_ppm[unit] && !is_known_idle(unit, gpu, n))
			return true;
	return false;
}
