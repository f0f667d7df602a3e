/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/factors/validate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "src/libutil/rfc3339.h"

bool validate_has_provider(const struct factor_point *p, const struct provider *o)
{
	size_t len = strlen(o->cite);

	return !strncmp(p->factor.source, o->cite, len) &&
	       strchr(" :", p->factor.source[len]); /* a blank, a colon, or the end */
}

static int validate_refuse(const char *what, uint64_t t_s, struct errmsg *err)
{
	char at[RFC3339_SIZE];

	rfc3339_utc(t_s, at);
	return errmsg_set(err, -EINVAL, "%s: %s", what, at);
}

static int validate_one(const struct factor_point *p, const struct factor_point *before, struct errmsg *err)
{
	if (p->until_s <= p->from_s)
		return validate_refuse("a value that ends before it begins", p->from_s, err);
	if (p->until_s - p->from_s > VALIDATE_LENGTH_MAX_S)
		return validate_refuse("a value for more than a day", p->from_s, err);
	if (before && p->from_s < before->until_s)
		return validate_refuse("times go backwards, or overlap", p->from_s, err);
	if (p->factor.mg_per_kwh > VALIDATE_MAX_MG_PER_KWH)
		return errmsg_set(err, -EINVAL, "a value above any grid's: %" PRIu64 " g/kWh",
				  p->factor.mg_per_kwh / 1000);
	return 0;
}

/* Drops forecasts; refuses times beyond the provider's forecasts. */
static int validate_future(const struct provider_ask *ask, struct points *p, struct errmsg *err)
{
	uint64_t border_s = ask->now_s + VALIDATE_CLOCK_SKEW_S;
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->point[i].from_s > border_s + ask->provider->ahead_s)
			return validate_refuse("a time in the future", p->point[i].from_s, err);
	for (i = 0; i < p->n && p->point[i].from_s <= border_s; i++)
		;
	p->n = i;
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
	size_t i;
	int rc = 0;

	*ret_doubts = 0;
	if (!p->n)
		return errmsg_set(err, -EINVAL, "the answer has no value");
	if (ask->provider->is_ours)
		return 0;
	for (i = 0; rc == 0 && i < p->n; i++)
		rc = validate_one(&p->point[i], i ? &p->point[i - 1] : NULL, err);
	if (rc == 0)
		rc = validate_future(ask, p, err);
	if (rc == 0 && !p->n)
		rc = errmsg_set(err, -EINVAL, "the answer has no value of the past");
	if (rc == 0 && ask->provider->is_steady && !accept)
		*ret_doubts = leave_out_doubts(ask, known, p, err);
	return rc;
}
