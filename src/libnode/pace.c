/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/pace.h"

/* A counter's interval is trusted after so many times without a move. */
#define TRUST_SPANS 4
#define SPAN_NS 4e6	  /* shorter ones do not count: any counter may stand so long */
#define RATIO 1.26	  /* of two neighbours in the list of intervals */
#define LEAST_LIKELY 0.02 /* counters are irregular, too */
#define FORGET 1e-5	  /* added to each probability, so that none is excluded for ever */
#define STILL_INTERVALS 3 /* after so many intervals, the counter stands still */
/* Windows to learn from: the energy at their ends is uncertain by that of an interval. */
#define WINDOW_NS 5e8
#define WINDOW_INTERVALS 5
#define WINDOW_ERROR 0.3
#define MEMORY_NS 6e10 /* time in which the weight of a window fades to 1/e */
#define MEMORY_INTERVALS 60
#define PEAK_MEMORY_NS 3.6e12
#define NS_PER_MW_UJ 1e6 /* 1 mW for 1 ms is 1 uJ */
#define AWAKE 1.15	 /* a socket with so many times its idle power still counts as idle */
#define RESERVE 2	 /* intervals at the highest power seen */
/*
 * Errors of the estimate are of the past. They are booked slowly, so that no short step gets them all, but
 * before a job of seconds has ended.
 */
#define SPREAD_INTERVALS 3
#define RESERVE_PACE 0.02 /* the part of the energy of steps by which the reserve may change */
#define PRIOR_ERROR 0.5	  /* relative error of the first estimates below */
#define MODEL_ERROR 0.1	  /* of the energy that is expected in a tick, relative to it */
#define UNIFORM 3.46	  /* the width of a uniform distribution by its standard deviation */
#define POWER_ERROR 0.03  /* of a window's power, beside that of its ends: programs differ */

/*
 * What a unit of activity costs, in microjoules, before it is learned: a picojoule by the values of fit.c;
 * 4 W of a busy thread; 15 nJ of a cache line; 0.5 W of memory for a busy thread. Orders of magnitude.
 */
static const double first_cost[PACE_UNITS] = {
	[PACE_CPU_EVENTS] = 1e-6,
	[PACE_CPU_TIME] = 4e-3,
	[PACE_MISSES] = 15e-3,
	[PACE_MEM_TIME] = 0.5e-3,
};

static double min_of(double a, double b)
{
	return a < b ? a : b;
}

static double max_of(double a, double b)
{
	return a > b ? a : b;
}

/* --- the interval ----------------------------------------------------------------------- */

/* The intervals that a counter may have. The first is of all that are too short. */
static double interval_of(unsigned int i)
{
	double ns = SPAN_NS / 2;

	while (i--)
		ns *= RATIO;
	return ns;
}

/* The part of the possible moments of the next move that lies within X_NS of the tick that saw the last. */
static double moved_by(double x_ns, double interval_ns, double width_ns)
{
	return max_of(min_of((x_ns - interval_ns + width_ns) / width_ns, 1), 0);
}

/*
 * Returns how likely what the tick saw is, if the counter moves every INTERVAL_NS: the last move was at some
 * moment of the tick that saw it.
 */
static double likelihood(const struct pace *p, double interval_ns, double dt_ns, bool has_moved)
{
	double width_ns = min_of(p->before_ns - p->since_ns, interval_ns);
	double before = moved_by(p->since_ns, interval_ns, width_ns);
	double now = moved_by(p->since_ns + dt_ns, interval_ns, width_ns);
	double moves = before < 1 ? (now - before) / (1 - before) : 1;

	return max_of(has_moved ? moves : 1 - moves, LEAST_LIKELY);
}

static void learn_interval(struct pace *p, double dt_ns, bool has_moved)
{
	double sum = 0;
	double mean = 0;
	unsigned int i;

	if (!p->has_moved || p->since_ns > PACE_LONGEST_NS)
		return;
	p->nspans += has_moved && p->since_ns > SPAN_NS && p->nspans < TRUST_SPANS;
	for (i = 0; i < PACE_INTERVALS; i++) {
		p->likely[i] = (p->likely[i] + FORGET) * likelihood(p, interval_of(i), dt_ns, has_moved);
		sum += p->likely[i];
	}
	for (i = 0; i < PACE_INTERVALS; i++) {
		p->likely[i] /= sum;
		mean += p->likely[i] * interval_of(i);
	}
	p->interval_ns = mean;
}

static bool is_paced(const struct pace *p)
{
	return p->nspans >= TRUST_SPANS && p->interval_ns > PACE_SHORTEST_NS &&
	       p->interval_ns <= PACE_LONGEST_NS;
}

double pace_interval_ns(const struct pace *p)
{
	return is_paced(p) ? p->interval_ns : 0;
}

/* --- the estimate ----------------------------------------------------------------------- */

/* The cost of activity: least squares over the windows, drawn to the first estimate if they say little. */
static double cost_of(const struct pace *p)
{
	const double first = first_cost[p->unit];
	double window_ns, end, noise, prior, mean_x, mean_y;

	if (!(first > 0) || !(p->ns > 0))
		return first;
	mean_x = p->x / p->ns;
	mean_y = p->y / p->ns;
	window_ns = max_of(WINDOW_NS, WINDOW_INTERVALS * p->interval_ns);
	end = p->interval_ns / window_ns / 2;
	noise = mean_y * mean_y * (end * end + POWER_ERROR * POWER_ERROR);
	prior = noise * window_ns / (first * PRIOR_ERROR * first * PRIOR_ERROR);
	return max_of((p->xy - p->x * mean_y + prior * first) / (p->xx - p->x * mean_x + prior), 0);
}

/*
 * What more activity costs. On a busy socket it is less than the mean, since all cores get slower and the
 * socket is awake already: as much less as its power is above idle.
 */
static double marginal_cost(const struct pace *p, uint64_t idle_mw)
{
	double idle_uj_by_ns = (double)idle_mw / NS_PER_MW_UJ;

	if ((p->unit == PACE_CPU_EVENTS || p->unit == PACE_CPU_TIME) && p->uj_by_ns > idle_uj_by_ns)
		return cost_of(p) * min_of(AWAKE * idle_uj_by_ns / p->uj_by_ns, 1);
	return cost_of(p);
}

/* What the part uses in the tick, if its power goes on as it was, but for what its activity changes. */
static double expected_uj(const struct pace *p, const struct pace_tick *t)
{
	double dt_ns = (double)t->dt_ns;
	double uj = p->uj_by_ns * dt_ns;

	if (p->unit == t->unit)
		uj += marginal_cost(p, t->idle_mw) * (t->activity - p->activity_by_ns * dt_ns);
	return max_of(uj, 0);
}

/* How long a window must be. Without a measure of activity, only new windows tell of another load. */
static double window_length_ns(const struct pace *p)
{
	return p->unit == PACE_NONE ? 2 * p->interval_ns :
				      max_of(WINDOW_NS, WINDOW_INTERVALS * p->interval_ns);
}

static void forget_activity(struct pace *p, enum pace_unit unit)
{
	p->ns = p->x = p->y = p->xx = p->xy = 0;
	p->window_ns = p->window_uj = p->window_shown_uj = p->window_activity = 0;
	p->activity_by_ns = 0;
	p->unit = unit;
}

static void end_window(struct pace *p)
{
	double memory_ns = max_of(MEMORY_NS, MEMORY_INTERVALS * p->interval_ns);
	double keep = max_of(1 - p->window_ns / memory_ns, 0);
	double follow = p->ns > 0 && p->unit != PACE_NONE ? 0.5 : 1;
	double x = p->window_activity / p->window_ns;
	double y = min_of(max_of(p->window_uj, p->window_shown_uj * (1 - WINDOW_ERROR)),
			  p->window_shown_uj * (1 + WINDOW_ERROR)) /
		   p->window_ns;

	p->uj_by_ns += (y - p->uj_by_ns) * follow;
	p->activity_by_ns += (x - p->activity_by_ns) * follow;
	p->peak_uj_by_ns *= max_of(1 - p->window_ns / PEAK_MEMORY_NS, 0);
	if (is_paced(p))
		p->peak_uj_by_ns = max_of(p->peak_uj_by_ns, p->uj_by_ns);
	p->ns = p->ns * keep + p->window_ns;
	p->x = p->x * keep + x * p->window_ns;
	p->y = p->y * keep + y * p->window_ns;
	p->xx = p->xx * keep + x * x * p->window_ns;
	p->xy = p->xy * keep + x * y * p->window_ns;
	p->window_ns = p->window_uj = p->window_shown_uj = p->window_activity = 0;
}

/* Adds the tick to the window, and learns from a window that is long enough. */
static void learn_power(struct pace *p, const struct pace_tick *t, double used_uj)
{
	if (p->unit != t->unit)
		forget_activity(p, t->unit);
	p->window_ns += (double)t->dt_ns;
	p->window_uj += used_uj;
	p->window_shown_uj += (double)t->shown_uj;
	p->window_activity += t->activity;
	if (t->shown_uj && p->window_ns >= window_length_ns(p))
		end_window(p);
}

/*
 * Keeps the energy that was used and not shown within what is possible. If the counter moved in this tick, it
 * showed all energy up to some moment of the tick; if it did not, none since the tick that saw it move.
 */
static void bound_lead(struct pace *p, double expected_uj, double dt_ns, bool has_moved)
{
	double most_uj;

	if (has_moved) {
		p->since_ns = p->since_uj = 0;
		p->before_ns = dt_ns;
		p->before_uj = expected_uj;
		p->has_moved = true;
	} else {
		p->since_ns += dt_ns;
		p->before_ns += dt_ns;
		p->since_uj += expected_uj;
		p->before_uj += expected_uj;
	}
	most_uj = p->before_uj;
	if (p->before_ns > p->interval_ns)
		most_uj *= p->interval_ns / p->before_ns;
	p->error_uj += expected_uj * MODEL_ERROR;
	if (has_moved && most_uj > 0) {
		double likely_uj = most_uj / UNIFORM;
		double trust = p->error_uj * p->error_uj /
			       (p->error_uj * p->error_uj + likely_uj * likely_uj);

		p->lead_uj += (most_uj / 2 - p->lead_uj) * trust;
		p->error_uj *= likely_uj / (likely_uj + p->error_uj);
	}
	p->lead_uj = min_of(p->lead_uj, most_uj);
	p->lead_uj = max_of(p->lead_uj, p->since_uj);
}

/* --- the reserve ------------------------------------------------------------------------ */

static void adjust_reserve(struct pace *p, const struct pace_tick *t, double expected_uj)
{
	double change = RESERVE * p->peak_uj_by_ns * p->interval_ns - p->reserve_uj;
	double most = expected_uj * RESERVE_PACE;

	if (t->has_steps)
		change = max_of(min_of(change, most), -most);
	p->reserve_uj += change;
}

/* Returns how much to book now of AVAILABLE_UJ: what is expected, and some of what was wrong before. */
static uint64_t share_now(struct pace *p, const struct pace_tick *t, double expected_uj,
			  uint64_t available_uj)
{
	double rest = (double)available_uj - expected_uj - max_of(p->reserve_uj - p->lead_uj, 0);
	double spread_ns = p->interval_ns * (p->unit == PACE_NONE ? 1 : SPREAD_INTERVALS);
	double part = min_of((double)t->dt_ns / spread_ns, 1);
	double uj = expected_uj + rest * part;

	if (!(uj > 0))
		return 0;
	if (uj < (double)available_uj)
		return (uint64_t)uj;
	p->reserve_uj = min_of(p->reserve_uj, p->lead_uj);
	return available_uj;
}

uint64_t pace_tick(struct pace *p, const struct pace_tick *t, uint64_t *held_uj)
{
	uint64_t available_uj = *held_uj + t->shown_uj;
	double dt_ns = (double)t->dt_ns;
	bool has_moved = t->shown_uj != 0;
	double expected = expected_uj(p, t);
	double before_uj = p->lead_uj;
	bool is_still;
	uint64_t uj;

	if (!t->dt_ns)
		return t->shown_uj;
	is_still = p->since_ns + (has_moved ? 0 : dt_ns) > STILL_INTERVALS * p->interval_ns;
	learn_interval(p, dt_ns, has_moved);
	p->lead_uj += expected - (double)t->shown_uj;
	bound_lead(p, expected, dt_ns, has_moved);
	learn_power(p, t, (double)t->shown_uj + p->lead_uj - before_uj);
	if (!is_paced(p) || is_still || t->ends) {
		p->reserve_uj = p->lead_uj = 0;
		*held_uj = 0;
		return available_uj;
	}
	adjust_reserve(p, t, expected);
	uj = share_now(p, t, expected, available_uj);
	*held_uj = available_uj - uj;
	return uj;
}
