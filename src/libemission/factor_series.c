/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libemission/factor_series.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/libutil/rfc3339.h"

void factor_series_fini(struct factor_series *s)
{
	free(s->point);
	*s = (struct factor_series){ 0 };
}

static int compare_group(const struct factor_point *p, const char *region, enum emission_kind kind)
{
	int c = strcasecmp(p->factor.region, region);

	return c ? c : (int)p->factor.kind - (int)kind;
}

int factor_point_compare(const struct factor_point *a, const struct factor_point *b)
{
	int c = compare_group(a, b->factor.region, b->factor.kind);

	return c ? c : (a->from_s > b->from_s) - (a->from_s < b->from_s);
}

/* Returns the index of the first point that is not before (REGION, KIND, T_S). */
static size_t lower_bound(const struct factor_series *s, const char *region, enum emission_kind kind,
			  uint64_t t_s)
{
	size_t lo = 0;
	size_t hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct factor_point *p = &s->point[mid];
		int c = compare_group(p, region, kind);

		if (c < 0 || (c == 0 && p->from_s < t_s))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct factor_point *factor_series_at(const struct factor_series *s, const char *region,
					    enum emission_kind kind, uint64_t t_s)
{
	size_t i = t_s < UINT64_MAX ? lower_bound(s, region, kind, t_s + 1) : s->n;

	if (!i || compare_group(&s->point[i - 1], region, kind))
		return NULL;
	return &s->point[i - 1];
}

const struct factor_point *factor_series_after(const struct factor_series *s, const char *region,
					       enum emission_kind kind, uint64_t t_s)
{
	size_t i = t_s < UINT64_MAX ? lower_bound(s, region, kind, t_s + 1) : s->n;

	if (i == s->n || compare_group(&s->point[i], region, kind))
		return NULL;
	return &s->point[i];
}

/* --- points ------------------------------------------------------------------------------ */

static bool is_word(const char *s)
{
	for (; *s; s++)
		if (!isgraph((unsigned char)*s) || *s == ',')
			return false;
	return true;
}

static bool is_text(const char *s)
{
	if (isspace((unsigned char)*s))
		return false;
	for (; *s; s++)
		if (iscntrl((unsigned char)*s))
			return false;
	return true;
}

const char *factor_point_flaw(const struct factor_point *p)
{
	const struct emission_factor *f = &p->factor;

	if (p->until_s <= p->from_s)
		return "it ends before it begins";
	if (p->until_s > RFC3339_LAST_S || p->fetched_s > RFC3339_LAST_S)
		return "a time after the year 9999";
	if (f->kind != EMISSION_AVERAGE && f->kind != EMISSION_MARGINAL)
		return "not average or marginal";
	if (f->scope >= EMISSION_SCOPE_N)
		return "not life-cycle or direct";
	if (f->mg_per_kwh > EMISSION_MAX_MG_PER_KWH)
		return "above 5000 g/kWh";
	if (!f->region[0] || f->region[0] == '#' || !is_word(f->region))
		return "not a region";
	if (!f->source[0] || !is_text(f->source))
		return "not a source";
	return NULL;
}

/* Replaces the points [LO, HI) by NEW[N_NEW]. -ENOMEM. */
static int replace(struct factor_series *s, size_t lo, size_t hi, const struct factor_point *new,
		   size_t n_new)
{
	struct factor_point *p = s->point;

	if (lo + n_new > hi) {
		p = reallocarray(p, s->n + n_new, sizeof(*p));
		if (!p)
			return -ENOMEM;
		s->point = p;
	}
	memmove(&p[lo + n_new], &p[hi], (s->n - hi) * sizeof(*p));
	memcpy(&p[lo], new, n_new * sizeof(*p));
	s->n = s->n + n_new - (hi - lo);
	return 0;
}

int factor_series_add(struct factor_series *s, const struct factor_point *p, struct errmsg *err)
{
	const char *flaw = factor_point_flaw(p);
	struct factor_point new[2] = { *p };
	size_t n_new = 1;
	bool is_cut;
	size_t lo, hi;
	int rc;

	if (flaw)
		return errmsg_set(err, -EINVAL, "a factor of %s: %s", p->factor.source, flaw);
	lo = lower_bound(s, p->factor.region, p->factor.kind, p->from_s);
	hi = lo;
	while (hi < s->n && !compare_group(&s->point[hi], p->factor.region, p->factor.kind) &&
	       s->point[hi].from_s < p->until_s)
		hi++;
	is_cut = lo && !compare_group(&s->point[lo - 1], p->factor.region, p->factor.kind) &&
		 s->point[lo - 1].until_s > p->from_s;
	/*
	 * If the last covered point ends after P, its remainder stays. It may be the same point
	 * whose beginning stays.
	 */
	if ((hi > lo || is_cut) && s->point[hi - 1].until_s > p->until_s) {
		new[n_new] = s->point[hi - 1];
		new[n_new++].from_s = p->until_s;
	}
	rc = replace(s, lo, hi, new, n_new);
	if (rc < 0)
		return errmsg_errno(err, rc, "factors");
	if (is_cut)
		s->point[lo - 1].until_s = p->from_s;
	return 0;
}

void factor_series_expire(struct factor_series *s, uint64_t t_s)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->point[i].until_s >= t_s)
			s->point[n++] = s->point[i];
	s->n = n;
}
