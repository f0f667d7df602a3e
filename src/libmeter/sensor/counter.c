/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/counter.h"
#include "src/libutil/wide_math.h"

#include <errno.h>

uint64_t counter_bound_uj(uint64_t max_w, uint64_t dt_ns)
{
	uint64_t dt_us = wide_add(dt_ns, COUNTER_SLACK_NS) / 1000;
	uint64_t bound;

	/* 1 W for 1 us is 1 uJ */
	return __builtin_mul_overflow(max_w, dt_us, &bound) ? UINT64_MAX : bound;
}

int counter_delta(uint64_t prev_uj, uint64_t cur_uj, uint64_t range_uj, uint64_t bound_uj,
		  uint64_t *ret_delta_uj, bool *ret_wrapped)
{
	bool wrapped = cur_uj < prev_uj;
	uint64_t delta;

	if (prev_uj > range_uj || cur_uj > range_uj)
		return -ERANGE;
	if (wrapped && range_uj == UINT64_MAX)
		return -ESTALE;
	delta = wrapped ? range_uj - prev_uj + 1 + cur_uj : cur_uj - prev_uj;
	if (delta > bound_uj)
		return wrapped ? -ESTALE : -EOVERFLOW;
	*ret_delta_uj = delta;
	*ret_wrapped = wrapped;
	return 0;
}

int counter_advance(struct counter *c, uint64_t *base_uj, uint64_t cur_uj, uint64_t dt_ns,
		    uint64_t *ret_delta_uj, bool *ret_wrapped)
{
	int rc;

	counter_miss(c, dt_ns);
	rc = counter_delta(*base_uj, cur_uj, c->range_uj, counter_bound_uj(c->max_w, c->age_ns), ret_delta_uj,
			   ret_wrapped);
	if (rc < 0 && c->doubted &&
	    counter_delta(c->doubted_uj, cur_uj, c->range_uj, counter_bound_uj(c->max_w, c->doubted_age_ns),
			  ret_delta_uj, ret_wrapped) == 0)
		rc = 0;
	if (rc < 0) {
		/* a value above the range cannot be a new base, either */
		c->doubted = cur_uj <= c->range_uj;
		c->doubted_uj = cur_uj;
		c->doubted_age_ns = 0;
		return rc;
	}
	*base_uj = cur_uj;
	c->age_ns = 0;
	c->doubted = false;
	return 0;
}

void counter_miss(struct counter *c, uint64_t dt_ns)
{
	c->age_ns = wide_add(c->age_ns, dt_ns);
	c->doubted_age_ns = wide_add(c->doubted_age_ns, dt_ns);
}
