/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/validate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/libutil/rfc3339.h"

bool validate_has_provider(const struct factor_point *p, const struct provider *o)
{
	size_t len = strlen(o->cite);

	return !strncmp(p->factor.source, o->cite, len) &&
	       strchr(" :", p->factor.source[len]); /* a blank, a colon, or the end */
}

/* --- points that cannot be true ------------------------------------------------------------- */

static void skip_point(struct points *p, const struct factor_point *which, const char *what)
{
	char at[RFC3339_SIZE];

	rfc3339_utc(which->from_s, at);
	points_skip(p, "%s: %s", what, at);
}

/* Returns what is wrong with P by itself; NULL: nothing. */
static const char *find_flaw(const struct provider_ask *ask, const struct factor_point *p)
{
	if (p->until_s <= p->from_s)
		return "a value that ends before it begins";
	if (p->until_s - p->from_s > VALIDATE_LENGTH_MAX_S)
		return "a value for more than a day";
	if (p->from_s > ask->now_s + VALIDATE_CLOCK_SKEW_S + ask->provider->ahead_s)
		return "a time in the future";
	return NULL;
}

static void skip_flaws(const struct provider_ask *ask, struct points *p)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < p->n; i++) {
		const char *flaw = find_flaw(ask, &p->point[i]);
		uint64_t mg = p->point[i].factor.mg_per_kwh;
		char above[64];

		if (!flaw && mg > VALIDATE_MAX_MG_PER_KWH) {
			(void)snprintf(above, sizeof(above), "a value above any grid's: %" PRIu64 " g/kWh",
				       mg / 1000);
			flaw = above;
		}
		if (flaw)
			skip_point(p, &p->point[i], flaw);
		else
			p->point[n++] = p->point[i];
	}
	p->n = n;
}

/* Drops forecasts of times to come; the points are sorted. */
static void drop_forecasts(const struct provider_ask *ask, struct points *p)
{
	while (p->n && p->point[p->n - 1].from_s > ask->now_s + VALIDATE_CLOCK_SKEW_S)
		p->n--;
}

/* --- points of the same time ---------------------------------------------------------------- */

/* Whether P is neither a forecast nor an estimate: nothing follows the provider's name. */
static bool is_final(const struct provider_ask *ask, const struct factor_point *p)
{
	return !strcmp(p->factor.source, ask->provider->cite);
}

static bool says_same(const struct factor_point *a, const struct factor_point *b)
{
	return a->until_s == b->until_s && a->factor.mg_per_kwh == b->factor.mg_per_kwh &&
	       a->factor.scope == b->factor.scope;
}

/*
 * Returns the one of the points [I, END), which are of the same time, that counts. NULL: they contradict each
 * other.
 */
static const struct factor_point *settle(const struct provider_ask *ask, const struct points *p, size_t i,
					 size_t end)
{
	const struct factor_point *best = &p->point[i];
	size_t j;

	for (j = i + 1; j < end; j++)
		if (is_final(ask, &p->point[j]) && !is_final(ask, best))
			best = &p->point[j];
	for (j = i; j < end; j++)
		if (is_final(ask, &p->point[j]) == is_final(ask, best) && !says_same(&p->point[j], best))
			return NULL;
	return best;
}

static void settle_doubles(const struct provider_ask *ask, struct points *p)
{
	const struct factor_point *best;
	size_t n = 0;
	size_t i, end;

	for (i = 0; i < p->n; i = end) {
		for (end = i + 1; end < p->n && !factor_point_compare(&p->point[i], &p->point[end]); end++)
			;
		best = settle(ask, p, i, end);
		if (best)
			p->point[n++] = *best;
		else
			skip_point(p, &p->point[i], "different values for one time");
	}
	p->n = n;
}

/* --- points that overlap -------------------------------------------------------------------- */

static bool is_same_group(const struct factor_point *a, const struct factor_point *b)
{
	return a->factor.kind == b->factor.kind && !strcasecmp(a->factor.region, b->factor.region);
}

/* Marks in IS_BAD each point that overlaps another one. Returns how many do. */
static size_t mark_overlaps(const struct points *p, bool *is_bad)
{
	size_t last = 0; /* the point that ends last of those before */
	size_t n = 0;
	size_t i;

	for (i = 0; i < p->n; i++)
		is_bad[i] = false;
	for (i = 1; i < p->n; i++) {
		const struct factor_point *a = &p->point[last];
		const struct factor_point *b = &p->point[i];

		if (is_same_group(a, b) && a->until_s > b->from_s)
			is_bad[last] = is_bad[i] = true;
		if (!is_same_group(a, b) || b->until_s > a->until_s)
			last = i;
	}
	for (i = 0; i < p->n; i++)
		n += is_bad[i];
	return n;
}

/* Whether A and B are steps of one regular series, such as two half hours. */
static bool is_same_step(const struct factor_point *a, const struct factor_point *b)
{
	uint64_t length_s = a->until_s - a->from_s;

	return length_s == b->until_s - b->from_s && a->from_s % length_s == b->from_s % length_s;
}

/* Returns a point whose length and phase more than half of the points have; NULL: there is none. */
static const struct factor_point *usual_step(const struct points *p)
{
	const struct factor_point *usual = NULL;
	size_t votes = 0, same = 0;
	size_t i;

	/* Boyer and Moore: the only one that can have the majority is left at the end */
	for (i = 0; i < p->n; i++) {
		if (!votes)
			usual = &p->point[i];
		votes = is_same_step(usual, &p->point[i]) ? votes + 1 : votes - 1;
	}
	for (i = 0; i < p->n; i++)
		same += is_same_step(usual, &p->point[i]);
	return 2 * same > p->n ? usual : NULL;
}

/* Skips the points that IS_BAD marks; with USUAL, only those that are not such a step. */
static void skip_overlaps(struct points *p, const bool *is_bad, const struct factor_point *usual)
{
	const struct factor_point step = usual ? *usual : (struct factor_point){ 0 };
	size_t n = 0;
	size_t i;

	for (i = 0; i < p->n; i++)
		if (is_bad[i] && (!usual || !is_same_step(&step, &p->point[i])))
			skip_point(p, &p->point[i], "a time that overlaps another value's");
		else
			p->point[n++] = p->point[i];
	p->n = n;
}

/* Skips points that overlap others: first those of another length than is usual, then all that still do. */
static int settle_overlaps(struct points *p, struct errmsg *err)
{
	_cleanup_free_ bool *is_bad = calloc(p->n + 1, sizeof(*is_bad));
	const struct factor_point *usual;

	if (!is_bad)
		return errmsg_set(err, -ENOMEM, "out of memory");
	if (!mark_overlaps(p, is_bad))
		return 0;
	usual = usual_step(p);
	if (usual)
		skip_overlaps(p, is_bad, usual);
	if (mark_overlaps(p, is_bad))
		skip_overlaps(p, is_bad, NULL);
	return 0;
}

/* --- doubtful points ----------------------------------------------------------------------- */

static uint64_t floored(uint64_t mg)
{
	return mg > VALIDATE_FLOOR_MG_PER_KWH ? mg : VALIDATE_FLOOR_MG_PER_KWH;
}

_Static_assert(VALIDATE_TIMES == 10, "the message of leave_out_doubts() says 10");

static bool is_doubtful(uint64_t mg, uint64_t last_mg)
{
	return floored(mg) > VALIDATE_TIMES * floored(last_mg) ||
	       floored(last_mg) > VALIDATE_TIMES * floored(mg);
}

/*
 * Finds the stored point of ASK's provider at P's time, or else the newest one before it. NULL:
 * none.
 */
static const struct factor_point *find_known(const struct provider_ask *ask,
					     const struct factor_series *known, const struct factor_point *p)
{
	const struct factor_point *k = factor_series_at(known, p->factor.region, p->factor.kind, p->from_s);

	/* points are sorted by region, kind and time */
	for (; k && !validate_has_provider(k, ask->provider); k--)
		if (k == known->point || k[-1].factor.kind != k->factor.kind ||
		    strcasecmp(k[-1].factor.region, k->factor.region))
			return NULL;
	return k;
}

static size_t leave_out_doubts(const struct provider_ask *ask, const struct factor_series *known,
			       struct points *p, struct errmsg *err)
{
	const struct factor_point *last = NULL;
	size_t n = 0;
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct factor_point *k = find_known(ask, known, &p->point[i]);
		uint64_t mg = p->point[i].factor.mg_per_kwh;

		if (!last || (k && k->from_s > last->from_s))
			last = k;
		/* a value that was accepted once is accepted again */
		if (last && is_doubtful(mg, last->factor.mg_per_kwh) &&
		    !(k && k->until_s > p->point[i].from_s && k->factor.mg_per_kwh == mg)) {
			char at[RFC3339_SIZE], before[RFC3339_SIZE];

			rfc3339_utc(p->point[i].from_s, at);
			rfc3339_utc(last->from_s, before);
			if (n == i)
				(void)errmsg_set(err, 0,
						 "%" PRIu64 ".%03" PRIu64
						 " g/kWh at %s is %s the last value, "
						 "%" PRIu64 ".%03" PRIu64 " at %s",
						 mg / 1000, mg % 1000, at,
						 mg > last->factor.mg_per_kwh ? "more than 10 times" :
										"less than a tenth of",
						 last->factor.mg_per_kwh / 1000,
						 last->factor.mg_per_kwh % 1000, before);
			continue;
		}
		p->point[n] = p->point[i];
		last = &p->point[n++];
	}
	i = p->n - n;
	p->n = n;
	return i;
}

int validate_points(const struct provider_ask *ask, const struct factor_series *known, bool accept,
		    struct points *p, size_t *ret_doubts, struct errmsg *err)
{
	bool is_ours = ask->provider->is_ours;
	int rc;

	*ret_doubts = 0;
	if (!p->n)
		return p->nskipped ? points_check(p, err) :
				     errmsg_set(err, -EINVAL, "the answer has no value");
	if (!is_ours)
		skip_flaws(ask, p);
	points_sort(p);
	if (p->n && !is_ours) {
		drop_forecasts(ask, p);
		if (!p->n)
			return errmsg_set(err, -EINVAL, "the answer has no value of the past");
	}
	settle_doubles(ask, p);
	rc = settle_overlaps(p, err);
	if (rc == 0)
		rc = points_check(p, err);
	if (rc == 0 && ask->provider->is_steady && !accept)
		*ret_doubts = leave_out_doubts(ask, known, p, err);
	return rc;
}
