/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/idle.h"

#include <string.h>

#include "src/libjob/split.h"

#define NS_PER_MW_UJ UINT64_C(1000000) /* 1 mW for 1 ms is 1 uJ */
#define FALL_SHIFT 2 /* a quarter of the way down per window */
#define RISE_SHIFT 6 /* a 64th up: idle power drifts with temperature, load does not count */

void idle_window_clear(struct idle_window *w)
{
	memset(w, 0, sizeof(*w));
}

void idle_window_power(const struct idle_window *w, uint64_t ret_mw[DOMAIN_N])
{
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++) {
		unsigned __int128 uj_ns = (unsigned __int128)w->energy_uj[d] * NS_PER_MW_UJ;

		ret_mw[d] = w->length_ns ?
				    (uint64_t)((uj_ns + w->length_ns / 2) / w->length_ns) :
				    0;
	}
}

static bool is_idle(const struct idle_window *w, uint32_t node_cpus)
{
	unsigned __int128 all = (unsigned __int128)w->length_ns * node_cpus;

	return (unsigned __int128)w->busy_ns * 1000000 < all * IDLE_MAX_BUSY_PPM;
}

bool idle_learn(const struct idle_window *w, uint32_t node_cpus, uint64_t idle_mw[DOMAIN_N])
{
	uint64_t mw[DOMAIN_N];
	bool learned = false;
	unsigned int d;

	if (!w->length_ns || w->is_tainted || !is_idle(w, node_cpus))
		return false;
	idle_window_power(w, mw);
	for (d = 0; d < DOMAIN_N; d++) {
		if (!mw[d])
			continue; /* no sensor, or one that stands still: no machine idles at 0 */
		if (!idle_mw[d])
			idle_mw[d] = mw[d];
		else if (mw[d] < idle_mw[d])
			idle_mw[d] -= (idle_mw[d] - mw[d] + (1 << FALL_SHIFT) - 1) >> FALL_SHIFT;
		else
			idle_mw[d] += (mw[d] - idle_mw[d]) >> RISE_SHIFT;
		learned = true;
	}
	return learned;
}

void idle_share_configured(uint64_t idle_mw, const uint64_t energy_uj[DOMAIN_N],
			   uint64_t ret_mw[DOMAIN_N])
{
	/* All weights 0 gives shares of 0. */
	(void)split_apportion(idle_mw, energy_uj, DOMAIN_N, ret_mw);
}
