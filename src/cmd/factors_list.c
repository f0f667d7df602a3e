/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factors_list.c - ceems factors list: the points of the series, and what counts now.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/factors.h"
#include "src/libemission/factor_chain.h"
#include "src/librecord/jsonout.h"
#include "src/libutil/clock.h"
#include "src/libutil/rfc3339.h"

#define RECENT_S 86400

struct listing {
	const struct factors *f;
	struct factor_series series;
	struct factor_chain chain; /* of the site's own region */
	uint64_t now_s;
	struct jsonout json;
};

/* What counts now in a region, or is known of its marginal factor. */
struct state {
	const char *region;
	const char *step; /* NULL: too old to count */
	struct emission_factor factor;
	uint64_t until_s; /* 0: it is none of the series */
};

static bool is_wanted(const struct listing *l, const char *region)
{
	return !l->f->region || !strcasecmp(l->f->region, region);
}

static bool is_first_of_group(const struct listing *l, size_t i)
{
	const struct emission_factor *a = &l->series.point[i].factor;
	const struct emission_factor *b = i ? &l->series.point[i - 1].factor : NULL;

	return !b || a->kind != b->kind || strcasecmp(a->region, b->region);
}

static void find_state(const struct listing *l, const char *region, enum emission_kind kind,
		       struct state *ret)
{
	bool is_ours = !strcasecmp(region, l->chain.region);
	const struct factor_point *p =
		factor_series_at(&l->series, region, kind, l->now_s);
	struct factor_chain c = l->chain;
	struct factor_mix m;

	*ret = (struct state){ .region = region };
	(void)snprintf(c.region, sizeof(c.region), "%s", region);
	factor_chain_mix(&c, l->now_s * NSEC_PER_SEC, l->now_s * NSEC_PER_SEC, &m);
	/* the end of the chain is of our own country */
	if (kind == EMISSION_AVERAGE && (is_ours || m.now_until_s)) {
		ret->step = factor_step_name(m.now_step);
		ret->factor = m.now;
		ret->until_s = m.now_until_s;
	} else if (p) {
		ret->step = kind == EMISSION_MARGINAL ? "marginal" : NULL;
		ret->factor = p->factor;
		ret->until_s = p->until_s;
	}
}

static uint64_t age_s(const struct listing *l, const struct state *st)
{
	return st->until_s && st->until_s < l->now_s ? l->now_s - st->until_s : 0;
}

typedef void (*state_fn)(struct listing *l, const struct state *st);
typedef void (*point_fn)(struct listing *l, const struct factor_point *p);

static void each_state(struct listing *l, state_fn fn)
{
	bool has_ours = false;
	struct state st;
	size_t i;

	for (i = 0; i < l->series.n; i++) {
		const struct emission_factor *f = &l->series.point[i].factor;

		if (!is_first_of_group(l, i))
			continue;
		has_ours |= f->kind == EMISSION_AVERAGE && !strcasecmp(f->region, l->chain.region);
		if (!is_wanted(l, f->region))
			continue;
		find_state(l, f->region, f->kind, &st);
		fn(l, &st);
	}
	if (has_ours || !is_wanted(l, l->chain.region))
		return;
	find_state(l, l->chain.region, EMISSION_AVERAGE, &st);
	fn(l, &st);
}

static void each_point(struct listing *l, point_fn fn)
{
	size_t i;

	for (i = 0; i < l->series.n; i++) {
		const struct factor_point *p = &l->series.point[i];

		if (is_wanted(l, p->factor.region) &&
		    (l->f->all || p->until_s + RECENT_S > l->now_s))
			fn(l, p);
	}
}

/* --- for people ---------------------------------------------------------------------------- */

static void print_point(struct listing *l, const struct factor_point *p)
{
	char from[RFC3339_SIZE], until[RFC3339_SIZE];

	(void)l;
	rfc3339_utc(p->from_s, from);
	rfc3339_utc(p->until_s, until);
	printf("%-12s %s %s %8" PRIu64 ".%03" PRIu64 " %-8s %-10s %s\n", p->factor.region, from,
	       until, p->factor.mg_per_kwh / 1000, p->factor.mg_per_kwh % 1000,
	       emission_kind_name(p->factor.kind), emission_scope_name(p->factor.scope),
	       p->factor.source);
}

static void print_state(struct listing *l, const struct state *st)
{
	char age[32];

	if (st->until_s)
		(void)snprintf(age, sizeof(age), "%" PRIu64 " s", age_s(l, st));
	else
		(void)snprintf(age, sizeof(age), "-");
	printf("%-12s %-9s %8" PRIu64 ".%03" PRIu64 " %10s %s\n",
	       *st->region ? st->region : "(world)", st->step ? st->step : "too old",
	       st->factor.mg_per_kwh / 1000, st->factor.mg_per_kwh % 1000, age, st->factor.source);
}

static void print_table(struct listing *l)
{
	printf("%-12s %-20s %-20s %12s %-8s %-10s %s\n", "REGION", "FROM", "UNTIL", "G/KWH", "KIND",
	       "SCOPE", "SOURCE");
	each_point(l, print_point);
	printf("\n%-12s %-9s %12s %10s %s\n", "REGION", "NOW", "G/KWH", "AGE", "SOURCE");
	each_state(l, print_state);
}

/* --- for programs -------------------------------------------------------------------------- */

static void put_text(struct jsonout *w, const char *name, const char *text)
{
	jsonout_name(w, name);
	if (text)
		jsonout_string(w, text, strlen(text));
	else
		jsonout_null(w);
}

static void put_time(struct jsonout *w, const char *name, uint64_t t_s)
{
	char text[RFC3339_SIZE];

	rfc3339_utc(t_s, text);
	put_text(w, name, t_s ? text : NULL);
}

static void put_factor(struct jsonout *w, const struct emission_factor *f)
{
	jsonout_name(w, "g_per_kwh");
	jsonout_decimal(w, f->mg_per_kwh, 1000);
	put_text(w, "kind", emission_kind_name(f->kind));
	put_text(w, "scope", emission_scope_name(f->scope));
	put_text(w, "source", f->source);
}

static void put_point(struct listing *l, const struct factor_point *p)
{
	struct jsonout *w = &l->json;

	jsonout_open(w, '{');
	put_text(w, "region", p->factor.region);
	put_time(w, "from", p->from_s);
	put_time(w, "until", p->until_s);
	put_time(w, "fetched", p->fetched_s);
	put_factor(w, &p->factor);
	jsonout_close(w, '}');
}

static void put_state(struct listing *l, const struct state *st)
{
	struct jsonout *w = &l->json;

	jsonout_open(w, '{');
	put_text(w, "region", *st->region ? st->region : NULL);
	put_text(w, "step", st->step);
	put_factor(w, &st->factor);
	put_time(w, "until", st->until_s);
	jsonout_name(w, "age_s");
	if (st->until_s)
		jsonout_u64(w, age_s(l, st));
	else
		jsonout_null(w);
	jsonout_close(w, '}');
}

static int print_json(struct listing *l)
{
	struct jsonout *w = &l->json;
	_cleanup_free_ char *text = NULL;
	size_t len;

	jsonout_open(w, '{');
	put_text(w, "series", l->f->series_path);
	put_time(w, "time", l->now_s);
	jsonout_name(w, "points");
	jsonout_open(w, '[');
	each_point(l, put_point);
	jsonout_close(w, ']');
	jsonout_name(w, "now");
	jsonout_open(w, '[');
	each_state(l, put_state);
	jsonout_close(w, ']');
	jsonout_close(w, '}');
	text = jsonout_take(w, &len);
	if (!text)
		return cmd_error("out of memory");
	printf("%s\n", text);
	return CMD_OK;
}

int factors_list(const struct factors *f)
{
	struct listing l = { .f = f, .now_s = clock_wall_ns() / NSEC_PER_SEC };
	struct errmsg err = { 0 };
	int rc = factor_series_read(f->series_path, &l.series, &err);

	if (rc == 0)
		rc = factor_chain_setup(&f->settings, &l.chain, &err);
	if (rc < 0) {
		factor_series_fini(&l.series);
		return cmd_error("%s", err.text);
	}
	l.chain.series = &l.series;
	if (f->json)
		rc = print_json(&l);
	else
		print_table(&l);
	jsonout_fini(&l.json);
	factor_series_fini(&l.series);
	return rc;
}
