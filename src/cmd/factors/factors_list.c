/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * factors_list.c - ceems factors list: prints the points of the series, or the factors in use now.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/cmd/factors/factors.h"
#include "src/libemission/factor_chain.h"
#include "src/librecord/exactjson.h"
#include "src/libutil/clock.h"
#include "src/libutil/rfc3339.h"

#define RECENT_S 86400

struct listing {
	const struct factors *f;
	struct factor_series series;
	struct factor_chain chain; /* for the site's own region */
	uint64_t now_s;
	json_t *list; /* the JSON array to which elements are added */
	bool failed;
};

/* The factor in use in a region now, or its marginal factor. */
struct state {
	const char *region;
	const char *step; /* kind of the factor, such as "fresh"; NULL: it is too old to be used */
	struct emission_factor factor;
	uint64_t until_s; /* end of its point in the series; 0: it is not from the series */
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
	const struct factor_point *p = factor_series_at(&l->series, region, kind, l->now_s);
	struct factor_chain c = l->chain;
	struct factor_mix m;

	*ret = (struct state){ .region = region };
	(void)snprintf(c.region, sizeof(c.region), "%s", region);
	factor_chain_mix(&c, l->now_s * NSEC_PER_SEC, l->now_s * NSEC_PER_SEC, &m);
	/* the static and the default factor are known for the site's own region only */
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

		if (is_wanted(l, p->factor.region) && (l->f->all || p->until_s + RECENT_S > l->now_s))
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
	cmd_print("%-12s %s %s %8" PRIu64 ".%03" PRIu64 " %-8s %-10s %s", p->factor.region, from, until,
		  p->factor.mg_per_kwh / 1000, p->factor.mg_per_kwh % 1000,
		  emission_kind_name(p->factor.kind), emission_scope_name(p->factor.scope), p->factor.source);
}

static void print_state(struct listing *l, const struct state *st)
{
	char age[32];

	if (st->until_s)
		(void)snprintf(age, sizeof(age), "%" PRIu64 " s", age_s(l, st));
	else
		(void)snprintf(age, sizeof(age), "-");
	cmd_print("%-12s %-9s %8" PRIu64 ".%03" PRIu64 " %10s %s", *st->region ? st->region : "(world)",
		  st->step ? st->step : "too old", st->factor.mg_per_kwh / 1000, st->factor.mg_per_kwh % 1000,
		  age, st->factor.source);
}

static void print_table(struct listing *l)
{
	printf("%-12s %-20s %-20s %12s %-8s %-10s %s\n", "REGION", "FROM", "UNTIL", "G/KWH", "KIND", "SCOPE",
	       "SOURCE");
	each_point(l, print_point);
	printf("\n%-12s %-9s %12s %10s %s\n", "REGION", "NOW", "G/KWH", "AGE", "SOURCE");
	each_state(l, print_state);
}

/* --- for programs -------------------------------------------------------------------------- */

static json_t *list_time(uint64_t t_s)
{
	char text[RFC3339_SIZE];

	rfc3339_utc(t_s, text);
	return exactjson_of_text(t_s ? text : NULL);
}

static json_t *list_factor(const char *region, const struct emission_factor *f)
{
	return json_pack("{sososososo}", "region", exactjson_of_text(region), "g_per_kwh",
			 exactjson_decimal(f->mg_per_kwh, 1000), "kind",
			 exactjson_of_text(emission_kind_name(f->kind)), "scope",
			 exactjson_of_text(emission_scope_name(f->scope)), "source",
			 exactjson_of_text(f->source));
}

static void list_member(struct listing *l, json_t *o, const char *name, json_t *value)
{
	l->failed |= json_object_set_new(o, name, value) < 0;
}

static void list_point(struct listing *l, const struct factor_point *p)
{
	json_t *o = list_factor(p->factor.region, &p->factor);

	list_member(l, o, "from", list_time(p->from_s));
	list_member(l, o, "until", list_time(p->until_s));
	list_member(l, o, "fetched", list_time(p->fetched_s));
	l->failed |= json_array_append_new(l->list, o) < 0;
}

static void list_state(struct listing *l, const struct state *st)
{
	json_t *o = list_factor(*st->region ? st->region : NULL, &st->factor);

	list_member(l, o, "step", exactjson_of_text(st->step));
	list_member(l, o, "until", list_time(st->until_s));
	list_member(l, o, "age_s", st->until_s ? json_integer((json_int_t)age_s(l, st)) : json_null());
	l->failed |= json_array_append_new(l->list, o) < 0;
}

static int print_json(struct listing *l)
{
	_cleanup_free_ char *text = NULL;
	json_t *root = json_object();

	list_member(l, root, "series", exactjson_of_text(l->f->series_path));
	list_member(l, root, "time", list_time(l->now_s));
	list_member(l, root, "points", l->list = json_array());
	each_point(l, list_point);
	list_member(l, root, "now", l->list = json_array());
	each_state(l, list_state);
	text = l->failed ? NULL : exactjson_dump(root, NULL);
	json_decref(root);
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
	factor_series_fini(&l.series);
	return rc;
}
