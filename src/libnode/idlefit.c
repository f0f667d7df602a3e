/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/idlefit.h"

#define MEMORY_S 900.0	 /* time in which the weight of a window fades to 1/e */
#define LONGEST_S 60.0	 /* a longer window counts only so much */
#define LEAST_S 4.0	 /* seconds of data that an estimate needs */
#define PHASE_S 4.0	 /* the length of a program's phase, which counts as one observation */
#define LEAST_NOISE 0.02 /* the least error that is assumed, relative to the power */
#define LEAST_T 2.0	 /* the least slope, in standard errors: below, power does not depend on activity */
#define UNLIKE 0.1	 /* relative standard deviation of the idle power among parts of a kind */
#define MAX_ERROR 0.5	 /* the largest standard error that is accepted, relative to the result */

struct estimate {
	double mw;
	double variance;
};

void idlefit_add(struct idlefit *f, uint64_t dt_ns, uint64_t power_mw, double activity, bool by_time)
{
	double seconds = (double)dt_ns / 1e9 < LONGEST_S ? (double)dt_ns / 1e9 : LONGEST_S;
	double keep = 1 - seconds / MEMORY_S;
	double y = (double)power_mw;
	double x;

	if (!dt_ns || (by_time && f->by_counters))
		return;
	if (!by_time && !f->by_counters)
		*f = (struct idlefit){ .by_counters = true };
	if (!f->seconds || y < f->lowest_mw)
		f->lowest_mw = y;
	x = activity / (double)dt_ns;
	f->seconds = f->seconds * keep + seconds;
	f->x = f->x * keep + x * seconds;
	f->y = f->y * keep + y * seconds;
	f->xx = f->xx * keep + x * x * seconds;
	f->xy = f->xy * keep + x * y * seconds;
	f->yy = f->yy * keep + y * y * seconds;
}

/* Computes the intercept and its variance. False: power does not follow activity. */
static bool find_intercept(const struct idlefit *f, struct estimate *ret)
{
	double n = f->seconds / PHASE_S;
	double x, y, var_x, cov, explained, rest;

	if (f->seconds < LEAST_S)
		return false;
	x = f->x / f->seconds;
	y = f->y / f->seconds;
	var_x = f->xx / f->seconds - x * x;
	cov = f->xy / f->seconds - x * y;
	if (!(var_x > 0) || !(cov > 0))
		return false;
	explained = cov / var_x * cov;
	rest = f->yy / f->seconds - y * y - explained;
	rest = (rest > 0 ? rest : 0) + LEAST_NOISE * y * LEAST_NOISE * y;
	if (explained * n < LEAST_T * LEAST_T * rest)
		return false;
	ret->mw = y - cov / var_x * x;
	ret->variance = rest / n * (1 + x / var_x * x);
	return true;
}

/* The result is a mean over the estimates of all parts, each weighted by the inverse of its variance. */
uint64_t idlefit_mw(const struct idlefit *const *like, size_t n, size_t own)
{
	double weights = 0;
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		struct estimate e;

		if (!find_intercept(like[i], &e))
			continue;
		if (i != own)
			e.variance += UNLIKE * e.mw * UNLIKE * e.mw;
		sum += e.mw / e.variance;
		weights += 1 / e.variance;
	}
	if (!(sum > 0) || weights > MAX_ERROR * sum * MAX_ERROR * sum)
		return 0;
	return (uint64_t)(sum / weights < like[own]->lowest_mw ? sum / weights : like[own]->lowest_mw);
}
