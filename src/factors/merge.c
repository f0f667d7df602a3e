/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/merge.h"

#include <string.h>
#include <strings.h>

#include "src/factors/validate.h"
#include "src/libcore/settings.h"
#include "src/libutil/items.h"

/* Whether point P comes from a provider that precedes PROVIDER in PREFERENCE. */
static bool is_preferred(const struct factor_point *p, const char *preference,
			 const struct provider *provider)
{
	const struct provider *o;
	char name[64];

	while (items_next(&preference, name, sizeof(name))) {
		o = provider_find(name);
		if (o == provider)
			return false;
		if (o && validate_has_provider(p, o))
			return true;
	}
	return false;
}

static bool is_same_group(const struct emission_factor *a, const struct emission_factor *b)
{
	return a->kind == b->kind && !strcasecmp(a->region, b->region);
}

/*
 * Finds the first point in [FROM_S, UNTIL_S) that has P's region and kind and comes from a
 * preferred provider. NULL: none.
 */
static const struct factor_point *find_preferred(const struct factor_series *s, const char *preference,
						 const struct provider *provider,
						 const struct factor_point *p, uint64_t from_s,
						 uint64_t until_s)
{
	const struct emission_factor *f = &p->factor;
	const struct factor_point *q = factor_series_at(s, f->region, f->kind, from_s);

	if (!q)
		q = factor_series_after(s, f->region, f->kind, from_s);
	/* points are sorted by region, kind and time */
	for (; q && q < s->point + s->n && is_same_group(&q->factor, f) && q->from_s < until_s; q++)
		if (q->until_s > from_s && is_preferred(q, preference, provider))
			return q;
	return NULL;
}

static int merge_one(struct factor_series *s, const char *preference, const struct provider *provider,
		     const struct factor_point *p, struct errmsg *err)
{
	struct factor_point piece = *p;
	const struct factor_point *q;
	uint64_t next_s;
	int rc = 0;

	while (rc == 0 && piece.from_s < p->until_s) {
		q = find_preferred(s, preference, provider, p, piece.from_s, p->until_s);
		piece.until_s = q ? q->from_s : p->until_s;
		next_s = q ? q->until_s : p->until_s; /* read it now: adding a point moves Q */
		if (piece.until_s > piece.from_s)
			rc = factor_series_add(s, &piece, err);
		piece.from_s = next_s;
	}
	return rc;
}

int merge_points(struct factor_series *s, const char *preference, const struct provider *provider,
		 const struct points *p, struct errmsg *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; rc == 0 && i < p->n; i++)
		rc = merge_one(s, preference, provider, &p->point[i], err);
	return rc;
}

void merge_neighbours(struct factor_series *s)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct factor_point *p = &s->point[i];
		struct factor_point *to = n ? &s->point[n - 1] : NULL;

		if (!to || to->until_s != p->from_s || !is_same_group(&to->factor, &p->factor) ||
		    to->factor.mg_per_kwh != p->factor.mg_per_kwh || to->factor.scope != p->factor.scope ||
		    strcmp(to->factor.source, p->factor.source)) {
			s->point[n++] = *p;
			continue;
		}
		to->until_s = p->until_s;
		if (p->fetched_s > to->fetched_s)
			to->fetched_s = p->fetched_s;
	}
	s->n = n;
}
