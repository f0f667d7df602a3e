/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libnode/fit.h"

#include <errno.h>
#include <math.h> /* only for macros; libm is not linked */
#include <stdbool.h>
#include <string.h>

/*
 * The start values, nanojoules per event: orders of magnitude of today's servers, of which only the
 * ratios count. Event rates are multiplied by them, so that all features are in watts of like size
 * and theta begins at 1.
 */
static const double shipped_nj[EVENT_N] = {
	[EVENT_CYCLES] = 1.0,
	[EVENT_INSTRUCTIONS] = 0.25,
	[EVENT_LLC_MISSES] = 8.0,
};

#define MEMORY_S 900.0 /* time in which the weight of a window fades to 1/e */
#define LONGEST_S 60.0 /* a longer window counts only so much */
/*
 * How strongly the fit keeps the cost of each event near its start value: the length of a program's
 * phase in seconds, divided by the variance of theta (the cost relative to the start value). Without
 * it, power that no event explains (vector units, voltage, a socket that wakes up) would be charged to
 * a rare event.
 */
#define STIFF 5.0
#define LEAST_NOISE 0.02   /* the least error that is assumed */
#define TRUST_AFTER_S 10.0 /* seconds of data before outliers are detected */
/* an error is an outlier above so many mean errors, which are 4 standard deviations */
#define OUTLIER 5.0
#define SMALL_W 5.0 /* windows with a smaller dynamic power count less */
/* with less dynamic power the socket was idle, and this is the error of its idle power */
#define LEAST_W 0.5
#define MAX_W 1e4	  /* a reading above is wrong */
#define MAX_RATIO 50.0	  /* measured to predicted power; a larger ratio is a wrong reading */
#define MAX_WEIGHT 0x1p60 /* leaves room for sums */

void fit_init(struct fit *f)
{
	int i;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < EVENT_N; i++)
		f->theta[i] = 1;
}

static double dot(const double *a, const double *b)
{
	double sum = 0;
	int i;

	for (i = 0; i < EVENT_N; i++)
		sum += a[i] * b[i];
	return sum;
}

/* --- data ------------------------------------------------------------------------------- */

/* Adds a window to the sums. A longer window counts more. */
static void learn(struct fit *f, const double *x, double y, double seconds)
{
	double keep = 1 - seconds / MEMORY_S;
	int i, k;

	f->seconds = f->seconds * keep + seconds;
	for (i = 0; i < EVENT_N; i++) {
		f->target[i] = f->target[i] * keep + x[i] * y * seconds;
		for (k = 0; k < EVENT_N; k++)
			f->info[i][k] = f->info[i][k] * keep + x[i] * x[k] * seconds;
	}
}

/* Returns the factor by which the start values, multiplied, fit the data best. */
static double shipped_scale(const struct fit *f)
{
	double predicted = 0;
	double squares = 0;
	int i, k;

	for (i = 0; i < EVENT_N; i++) {
		predicted += f->target[i];
		for (k = 0; k < EVENT_N; k++)
			squares += f->info[i][k];
	}
	return predicted > 0 && squares > 0 ? predicted / squares : 1;
}

/*
 * Returns Y; if it is far from the expected value, moved towards it (Huber). So one wrong reading
 * changes little, while a lasting change is followed.
 */
static double without_outliers(struct fit *f, const double *x, double y, double seconds)
{
	double expected = dot(f->theta, x);
	double error = y - expected;
	double limit = OUTLIER * (f->noise + LEAST_NOISE * shipped_scale(f));

	if (f->seconds >= TRUST_AFTER_S && fabs(error) > limit)
		error = copysign(limit, error);
	f->noise += (fabs(error) - f->noise) * seconds / (f->seconds + seconds);
	return expected + error;
}

/* --- solving ---------------------------------------------------------------------------- */

/*
 * Solves M t = V for the rows and columns in SET (bits); t = 0 elsewhere. M is positive definite.
 */
static void solve_subset(double m[EVENT_N][EVENT_N], double v[EVENT_N], unsigned int set, double ret[EVENT_N])
{
	int i, k, j;

	for (i = 0; i < EVENT_N; i++) {
		for (k = i + 1; k < EVENT_N && set & 1u << i; k++) {
			double factor = m[k][i] / m[i][i];

			for (j = i; j < EVENT_N; j++)
				m[k][j] -= factor * m[i][j];
			v[k] -= factor * v[i];
		}
	}
	for (i = EVENT_N - 1; i >= 0; i--) {
		ret[i] = 0;
		if (!(set & 1u << i))
			continue;
		for (k = i + 1; k < EVENT_N; k++)
			v[i] -= m[i][k] * ret[k];
		ret[i] = v[i] / m[i][i];
	}
}

static bool is_valid(const double *theta)
{
	double sum = 0;
	int i;

	for (i = 0; i < EVENT_N; i++) {
		if (!(theta[i] >= 0)) /* true also for NaN */
			return false;
		sum += theta[i];
	}
	return sum > 0 && isfinite(sum);
}

/*
 * Fits theta >= 0. The minimum is the unconstrained one of some subset of the events. With three
 * events, trying all seven subsets is exact and faster than iterating.
 */
static void solve(struct fit *f)
{
	const double scale = shipped_scale(f);
	const double noise = f->noise / scale + LEAST_NOISE;
	const double prior = STIFF * noise * noise;
	double best = INFINITY;
	unsigned int set;
	double m[EVENT_N][EVENT_N];
	double v[EVENT_N];
	int i;

	memcpy(m, f->info, sizeof(m));
	for (i = 0; i < EVENT_N; i++) {
		m[i][i] += prior;
		v[i] = f->target[i] + prior * scale;
	}
	for (set = 1; set < 1u << EVENT_N; set++) {
		double work_m[EVENT_N][EVENT_N];
		double work_v[EVENT_N];
		double theta[EVENT_N];
		double cost;

		memcpy(work_m, m, sizeof(m));
		memcpy(work_v, v, sizeof(v));
		solve_subset(work_m, work_v, set, theta);
		if (!is_valid(theta))
			continue;
		cost = -dot(v, theta); /* twice the objective at such a minimum */
		if (cost < best) {
			best = cost;
			memcpy(f->theta, theta, sizeof(theta));
		}
	}
}

/* ---------------------------------------------------------------------------------------- */

/*
 * Divides both sides by the size of the load, since errors of sensors are relative, and no window
 * may outweigh the others. Loads below SMALL_W count less, as idle power is not known so well.
 * Windows of an idle socket are left out: any theta fits them, and loads would look like outliers.
 */
static int scale_window(double *x, double *y)
{
	double size = SMALL_W;
	int i;

	for (i = 0; i < EVENT_N; i++)
		size += x[i];
	if (!(size >= SMALL_W + LEAST_W) || !(size < MAX_W) || !(*y < MAX_RATIO * size))
		return -ERANGE;
	for (i = 0; i < EVENT_N; i++)
		x[i] /= size;
	*y /= size;
	return 0;
}

int fit_add(struct fit *f, uint64_t dynamic_uj, uint64_t dt_ns, const uint64_t events[EVENT_N])
{
	double seconds = (double)dt_ns / 1e9;
	double x[EVENT_N];
	double y;
	int i, rc;

	if (!dt_ns)
		return -ERANGE;
	for (i = 0; i < EVENT_N; i++)
		x[i] = (double)events[i] / (double)dt_ns * shipped_nj[i];
	y = (double)dynamic_uj * 1e3 / (double)dt_ns;
	rc = scale_window(x, &y);
	if (rc < 0)
		return rc;
	if (seconds > LONGEST_S)
		seconds = LONGEST_S;
	learn(f, x, without_outliers(f, x, y, seconds), seconds);
	solve(f);
	return 0;
}

uint64_t fit_weight(const struct fit *f, const uint64_t events[EVENT_N])
{
	double pj = 0;
	uint64_t any = 0;
	int i;

	for (i = 0; i < EVENT_N; i++) {
		pj += (double)events[i] * shipped_nj[i] * f->theta[i] * 1e3;
		any |= events[i];
	}
	if (pj >= MAX_WEIGHT)
		return (uint64_t)MAX_WEIGHT;
	return pj >= 1 ? (uint64_t)pj : any != 0;
}
