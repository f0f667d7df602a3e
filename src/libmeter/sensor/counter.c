/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/counter.h"
#include "src/libutil/wide_math.h"

#include <errno.h>

/* A counter that goes on below its base is waited for this often, until it is taken for a reset one. */
#define COUNTER_HELD_MOVES 64

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

uint64_t counter_sure_ns(uint64_t range_uj, uint64_t sure_w)
{
	uint64_t ns;

	if (range_uj == UINT64_MAX || __builtin_mul_overflow(range_uj / sure_w, UINT64_C(1000), &ns))
		return UINT64_MAX;
	return ns;
}

/* Moves the base to a reading that is believed. */
static void counter_settle(struct counter *c, uint64_t *base_uj, uint64_t cur_uj)
{
	if (cur_uj != *base_uj) {
		c->has_moved = true;
		c->before_uj = *base_uj;
	}
	*base_uj = cur_uj;
	c->age_ns = 0;
	c->doubt.is_set = false;
	c->note.after_ns = 0;
}

/*
 * Returns true if the implausible readings show that the counter was reset. If they are between the last two
 * bases, they do not at first: more likely the last base was a glitch, and its energy was too much.
 */
static bool is_reset(const struct counter *c, uint64_t base_uj)
{
	const struct counter_doubt *d = &c->doubt;
	bool was_base_false = c->has_moved && c->before_uj <= d->first_uj && d->first_uj < base_uj;

	if (base_uj > c->range_uj) /* nothing can fit such a base */
		return true;
	if (was_base_false && d->moves < COUNTER_HELD_MOVES)
		return false;
	return d->moves >= COUNTER_RESET_MOVES || (d->moves && d->since_ns >= COUNTER_RESET_NS);
}

static void counter_doubt_value(struct counter *c, uint64_t cur_uj)
{
	/* a value above the range cannot be a new base, either */
	if (cur_uj <= c->range_uj)
		c->doubt = (struct counter_doubt){ .is_set = true, .first_uj = cur_uj, .last_uj = cur_uj };
}

void counter_note_add(struct counter_note *n, uint64_t range_uj, uint64_t max_w, uint64_t raw_uj,
		      uint64_t after_ns)
{
	uint64_t dt_ns = after_ns - n->after_ns;
	uint64_t uj;
	bool wrapped;

	if (after_ns <= n->after_ns ||
	    counter_delta(n->raw_uj, raw_uj, range_uj, counter_bound_uj(max_w, dt_ns), &uj, &wrapped) < 0)
		return;
	n->raw_uj = raw_uj;
	n->used_uj = wide_add(n->used_uj, uj);
	n->after_ns = after_ns;
	n->gap_ns = dt_ns > n->gap_ns ? dt_ns : n->gap_ns;
}

/* Continues the counter's note with a reading of our own. False: there is no note for this base. */
static bool follow_note(struct counter *c, uint64_t base_uj, uint64_t cur_uj, uint64_t *ret_delta_uj,
			bool *ret_wrapped)
{
	struct counter_note n = c->note;
	uint64_t before_ns = n.after_ns;

	if (!n.after_ns || n.base_uj != base_uj)
		return false;
	counter_note_add(&n, c->range_uj, c->max_w, cur_uj, c->age_ns);
	if (n.after_ns == before_ns)
		return false;
	c->is_unsure = c->sure_ns && n.gap_ns > c->sure_ns;
	*ret_delta_uj = n.used_uj;
	*ret_wrapped = n.used_uj != cur_uj - base_uj;
	return true;
}

int counter_advance(struct counter *c, uint64_t *base_uj, uint64_t cur_uj, uint64_t dt_ns,
		    uint64_t *ret_delta_uj, bool *ret_wrapped)
{
	struct counter_doubt *d = &c->doubt;
	bool wrapped = false, gained_wrapped = false;
	uint64_t delta = 0, gained = 0;
	bool fits_doubt;
	int rc;

	counter_miss(c, dt_ns);
	if (follow_note(c, *base_uj, cur_uj, ret_delta_uj, ret_wrapped)) {
		counter_settle(c, base_uj, cur_uj);
		return 0;
	}
	rc = counter_delta(*base_uj, cur_uj, c->range_uj, counter_bound_uj(c->max_w, c->age_ns), &delta,
			   &wrapped);
	fits_doubt = d->is_set &&
		     counter_delta(d->last_uj, cur_uj, c->range_uj, counter_bound_uj(c->max_w, d->age_ns),
				   &gained, &gained_wrapped) == 0;
	/*
	 * The bound grows with the age of the base, so a value that did not fit fits later. It is doubted
	 * again, unless it has passed the base: then the counter is back.
	 */
	if (rc == 0 && fits_doubt && !gained_wrapped && !(d->last_uj < *base_uj && *base_uj <= cur_uj))
		rc = cur_uj < *base_uj ? -ESTALE : -EOVERFLOW;
	if (rc == 0) {
		c->is_unsure = fits_doubt || (c->sure_ns && c->age_ns > c->sure_ns);
		*ret_delta_uj = delta;
		*ret_wrapped = wrapped;
		counter_settle(c, base_uj, cur_uj);
		return 0;
	}
	if (!fits_doubt) {
		counter_doubt_value(c, cur_uj);
		return rc;
	}
	d->last_uj = cur_uj;
	d->gained_uj = wide_add(d->gained_uj, gained);
	d->age_ns = 0;
	d->moves += gained > 0;
	if (!is_reset(c, *base_uj))
		return rc;
	c->is_unsure = true;
	*ret_delta_uj = d->gained_uj;
	*ret_wrapped = gained_wrapped;
	counter_settle(c, base_uj, cur_uj);
	return 0;
}

void counter_miss(struct counter *c, uint64_t dt_ns)
{
	c->age_ns = wide_add(c->age_ns, dt_ns);
	c->doubt.age_ns = wide_add(c->doubt.age_ns, dt_ns);
	c->doubt.since_ns = wide_add(c->doubt.since_ns, dt_ns);
}
