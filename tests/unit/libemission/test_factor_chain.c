/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libemission/factor_chain.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define S NSEC_PER_SEC
#define T0 UINT64_C(1795341600)
#define HOUR 3600

static struct factor_chain chain = {
	.fixed = { .mg_per_kwh = 44180, .year = 2024, .kind = EMISSION_STATIC, .region = "FR" },
	.region = "FR",
	.fresh_age_s = HOUR,
	.max_age_s = 6 * HOUR,
};

static struct factor_series series;

static void add(uint64_t from, uint64_t until, uint64_t mg, enum emission_kind kind)
{
	struct factor_point p = {
		T0 + from, T0 + until, T0, { .mg_per_kwh = mg, .kind = kind, .region = "FR", .source = "x" }
	};
	struct errmsg err;

	if (factor_series_add(&series, &p, &err) < 0)
		exit(99);
}

/* One moment: just before a second, and at it. */
static const struct {
	const char *name;
	uint64_t at_s;
	enum factor_step before, at;
	uint64_t mg_before, mg_at;
	uint64_t until_s; /* of the point at it */
} moments[] = {
	{ "the first point begins", 0, FACTOR_STATIC, FACTOR_FRESH, 44180, 50000, 900 },
	{ "the factor changes", 900, FACTOR_FRESH, FACTOR_FRESH, 50000, 500000, 1800 },
	{ "the provider is late", 1800, FACTOR_FRESH, FACTOR_FRESH, 500000, 500000, 1800 },
	{ "the last point is older than fresh_age", 1800 + HOUR, FACTOR_FRESH, FACTOR_LAST, 500000, 500000,
	  1800 },
	{ "the last point is older than max_age", 1800 + 6 * HOUR, FACTOR_LAST, FACTOR_STATIC, 500000, 44180,
	  0 },
	{ "the provider is back", 8 * HOUR, FACTOR_STATIC, FACTOR_FRESH, 44180, 60000, 9 * HOUR },
};

static void test_moments(void)
{
	struct factor_mix m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(moments); i++) {
		uint64_t t = (T0 + moments[i].at_s) * S;

		factor_chain_mix(&chain, t - 1, t - 1, &m);
		is_str(factor_step_name(m.now_step), factor_step_name(moments[i].before), moments[i].name);
		is_u64(m.mean_ug_per_kwh, moments[i].mg_before * 1000, "a nanosecond before");
		factor_chain_mix(&chain, t, t, &m);
		is_str(factor_step_name(m.now_step), factor_step_name(moments[i].at), "at it");
		is_u64(m.mean_ug_per_kwh, moments[i].mg_at * 1000, "its factor");
		is_u64(m.now.mg_per_kwh, moments[i].mg_at, "in force");
		is_u64(m.now_until_s, moments[i].until_s ? T0 + moments[i].until_s : 0, "until");
		is_u64(m.changes, 0, "no window, no change");
	}
}

static const struct {
	const char *name;
	uint64_t from_ns, until_ns; /* behind T0 */
	uint64_t ns[FACTOR_STEP_N];
	uint64_t mean_ug;
	unsigned int changes;
} windows[] = {
	{ "within a point", 0, 900 * S, { 900 * S }, 50000000, 0 },
	{ "half and half", 890 * S, 910 * S, { 20 * S }, 275000000, 1 },
	{ "a quarter", 899 * S, 903 * S, { 4 * S }, 387500000, 1 },
	{ "a nanosecond of three", 900 * S - 2, 900 * S + 1, { 3 }, 200000000, 1 },
	{ "rounded to nearest", 900 * S - 1, 900 * S + 6, { 7 }, 435714286, 1 },
	{ "fresh to last: the same factor",
	  (1800 + HOUR) * S - S,
	  (1800 + HOUR) * S + 3 * S,
	  { S, 3 * S },
	  500000000,
	  1 },
	{ "last to static", (1800 + 6 * HOUR) * S - S, (1800 + 6 * HOUR) * S + S, { 0, S, S }, 272090000, 1 },
	{ "slurmd was away for a day",
	  0,
	  24 * HOUR *S,
	  { (1800 + HOUR) * S + 2 * HOUR * S, 5 * HOUR *S + 5 * HOUR *S,
	    (24 * HOUR - 1800 - 3 * HOUR - 10 * HOUR) * S },
	  /* 0.25 h of 50, 6.25 h of 500, 7 h of 60, 10.5 h of 44.18 */
	  167557917,
	  6 },
};

static void test_windows(void)
{
	struct factor_mix m;
	unsigned int k;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		uint64_t sum = 0;

		factor_chain_mix(&chain, T0 * S + windows[i].from_ns, T0 * S + windows[i].until_ns, &m);
		is_u64(m.mean_ug_per_kwh, windows[i].mean_ug, windows[i].name);
		for (k = 0; k < FACTOR_STEP_N; k++) {
			is_u64(m.ns[k], windows[i].ns[k], factor_step_name((enum factor_step)k));
			sum += m.ns[k];
		}
		is_u64(sum, windows[i].until_ns - windows[i].from_ns, "they add up to the window");
		is_u64(m.changes, windows[i].changes, "changes within");
	}
	factor_chain_mix(&chain, (T0 + 900) * S, (T0 + 899) * S, &m);
	is_u64(m.mean_ug_per_kwh, 50000000, "a backwards window is that of its end");
	is_u64(m.ns[FACTOR_FRESH], 0, "and has no time");
}

static void test_borders(void)
{
	struct factor_chain c = chain;
	struct factor_mix m;

	c.region[0] = '\0';
	factor_chain_mix(&c, T0 * S, (T0 + 900) * S, &m);
	is_u64(m.ns[FACTOR_STATIC], 900 * S, "no region, no series");
	c = chain;
	c.series = NULL;
	c.fixed.kind = EMISSION_DEFAULT;
	factor_chain_mix(&c, 0, UINT64_MAX, &m);
	is_u64(m.ns[FACTOR_DEFAULT], UINT64_MAX, "584 years of the world mean");
	is_u64(m.mean_ug_per_kwh, 44180000, "its factor is that of the fixed one");
	c = chain;
	c.fresh_age_s = c.max_age_s = UINT64_MAX;
	factor_chain_mix(&c, 0, UINT64_MAX, &m);
	is_u64(m.ns[FACTOR_STATIC], T0 * S, "static before the series");
	is_u64(m.ns[FACTOR_FRESH], UINT64_MAX - T0 * S, "ages beyond 64 bits never end");
	c.fresh_age_s = 2 * HOUR;
	c.max_age_s = HOUR;
	factor_chain_mix(&c, (T0 + 1800 + 2 * HOUR) * S - 1, (T0 + 1800 + 2 * HOUR) * S, &m);
	is_u64(m.ns[FACTOR_FRESH], 1, "MaxAge below FreshAge");
	is_int(m.now_step, FACTOR_STATIC, "has no step 'last'");
}

static void test_split(void)
{
	static const uint64_t energy[] = { 0, 1, 2, 3, 1000000, 999999999999999, UINT64_MAX };
	uint64_t uj[FACTOR_STEP_N];
	struct factor_mix m;
	size_t i;

	factor_chain_mix(&chain, (T0 + 1800 + HOUR) * S - 1, (T0 + 1800 + HOUR) * S + 2, &m);
	for (i = 0; i < ARRAY_SIZE(energy); i++) {
		factor_mix_split(&m, energy[i], uj);
		is_u64(uj[0] + uj[1] + uj[2] + uj[3], energy[i], "the shares add up");
		ok(uj[2] == 0 && uj[3] == 0, "to the steps in the window only");
	}
	factor_mix_split(&m, 3000000, uj);
	is_u64(uj[FACTOR_FRESH], 1000000, "fresh has a third");
	factor_chain_mix(&chain, T0 * S, T0 * S, &m);
	factor_mix_split(&m, 5, uj);
	is_u64(uj[FACTOR_FRESH], 5, "without a window all is of the moment");
}

static void test_setup(void)
{
	struct settings s;
	struct factor_chain c;
	struct errmsg err = { 0 };

	require(settings_load("/nonexistent", &s, &err) == -ENOENT);
	is_int(factor_chain_setup(&s, &c, &err), 0, "by default");
	is_int(c.fixed.kind, EMISSION_DEFAULT, "the world mean");
	is_str(c.region, "", "no region");
	is_u64(c.max_age_s, 6 * HOUR, "max_age: six hours");
	is_u64(c.fresh_age_s, HOUR, "fresh_age: one hour");
	snprintf(s.emission_factor_file, sizeof(s.emission_factor_file),
		 "%s/src/libemission/data/emission-factors.csv", getenv("top_srcdir"));
	snprintf(s.country, sizeof(s.country), "DEU");
	is_int(factor_chain_setup(&s, &c, &err), 0, "Germany");
	is_str(c.region, "DE", "region as alpha-2");
	snprintf(s.emission_region, sizeof(s.emission_region), "US-CAL-CISO");
	is_int(factor_chain_setup(&s, &c, &err), 0, "a zone");
	is_str(c.region, "US-CAL-CISO", "as the provider names it");
	s.emission_max_age_ns = 60 * NSEC_PER_SEC;
	is_int(factor_chain_setup(&s, &c, &err), 0, "EmissionMaxAge below an hour");
	is_u64(c.fresh_age_s, 60, "ends what is fresh, too");
	snprintf(s.country, sizeof(s.country), "XX");
	is_int(factor_chain_setup(&s, &c, &err), -ENOENT, "no such country");
}

int main(void)
{
	add(0, 900, 50000, EMISSION_AVERAGE);
	add(900, 1800, 500000, EMISSION_AVERAGE);
	add(8 * HOUR, 9 * HOUR, 60000, EMISSION_AVERAGE);
	add(0, 24 * HOUR, 900000, EMISSION_MARGINAL);
	chain.series = &series;
	test_moments();
	test_windows();
	test_borders();
	test_split();
	test_setup();
	factor_series_fini(&series);
	return done_testing();
}
