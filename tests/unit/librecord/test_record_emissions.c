/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record's emissions: 50 g/kWh for ten seconds, then 500. */
#include "src/librecord/record_emissions.h"

#include <stdlib.h>
#include <string.h>

#include "src/libutil/util.h"

#include "tap.h"

#define T UINT64_C(1700000000)
#define J UINT64_C(1000000)
#define MG UINT64_C(1000000)
#define UG UINT64_C(1000)

static struct factor_point points[] = {
	{ T, T + 10, T, { 50000, 0, EMISSION_AVERAGE, EMISSION_DIRECT, "FR", "RTE" } },
	{ T + 10, T + 3600, T, { 500000, 0, EMISSION_AVERAGE, EMISSION_DIRECT, "FR", "RTE" } },
	{ T + 900000, T + 900010, T, { 70000, 0, EMISSION_AVERAGE, EMISSION_LIFE_CYCLE, "FR", "other" } },
};
static struct factor_series series = { points, ARRAY_SIZE(points) };
static struct factor_chain chain = {
	.fixed = { 60000, 2024, EMISSION_STATIC, EMISSION_LIFE_CYCLE, "FR", "Ember" },
	.region = "FR",
	.fresh_age_s = 100,
	.max_age_s = 300,
	.series = &series,
};
static struct settings settings;

static struct record *job(uint64_t start, uint64_t end, uint64_t energy_j)
{
	struct record *r = record_create();

	r->start = start;
	r->end = end;
	r->total_cpus = 8;
	r->total_nodes = 1;
	values_set(&r->values, METRIC_ENERGY, energy_j * J);
	return r;
}

static void is_origin(struct record *r, const char *kind, const char *scope, const char *source,
		      const char *what)
{
	is_str(r->emissions.kind, kind, what);
	is_str(r->emissions.scope, scope, "its scope");
	is_str(r->emissions.source, source, "its source");
}

static void is_factor(const struct record *r, uint64_t ug_per_kwh, const char *what)
{
	const struct maybe_u64 *f = &r->emissions.factor_ug_per_kwh;

	ok(f->known && f->value == ug_per_kwh, "%s: %" PRIu64 " ug/kWh", what, f->value);
}

static void test_unknown(void)
{
	struct record *r = job(0, 0, 0);

	values_miss(&r->values, METRIC_ENERGY, REASON_NOT_MEASURED);
	record_emissions_fill(r, &chain, &settings);
	ok(!values_has(&r->values, METRIC_CO2E) && r->emissions.method == CO2E_UNKNOWN &&
		   !*r->emissions.kind && !r->emissions.factor_ug_per_kwh.known,
	   "a job that never ran has no emissions, and none of 0");
	ok(!values_has(&r->values, METRIC_FRESH_FACTOR) && !values_has(&r->values, METRIC_CO2E_MARKET) &&
		   !r->emissions.embodied_ng.known,
	   "and no other metric of emissions");
	record_destroy(r);

	r = job(T, T + 20, 1000);
	record_emissions_fill(r, NULL, &settings);
	ok(!values_has(&r->values, METRIC_CO2E) && r->emissions.method == CO2E_UNKNOWN,
	   "no factor, no emissions");
	record_destroy(r);

	r = job(T, T + 20, 1000);
	values_set(&r->values, METRIC_CO2E, 75 * MG);
	record_emissions_fill(r, NULL, &settings);
	is_int(r->emissions.method, CO2E_PER_TICK, "without a factor on this host the nodes' emissions stay");
	is_factor(r, 270000000, "the mean factor is the nodes'");
	is_origin(r, "", "", "", "its origin is unknown");
	record_destroy(r);

	r = job(T, T + 20, 0);
	record_emissions_fill(r, &chain, &settings);
	ok(values_has(&r->values, METRIC_CO2E) && !r->emissions.factor_ug_per_kwh.known,
	   "no energy: no emissions, and no mean of two factors");
	record_destroy(r);
}

/* A node without ceems.conf charged 475 g/kWh where the controller says 60. */
static void charge_default(struct values *f, uint64_t energy_j, uint64_t default_j)
{
	values_set(f, METRIC_ENERGY, energy_j * J);
	values_set(f, METRIC_CPU_ENERGY, energy_j * J);
	values_set(f, METRIC_DEFAULT_FACTOR, default_j * J);
	values_set(f, METRIC_STATIC_FACTOR, (energy_j - default_j) * J);
	values_set(f, METRIC_FRESH_FACTOR, 0);
	values_set(f, METRIC_LAST_FACTOR, 0);
	values_set(f, METRIC_CO2E, emission_ng(default_j * J, 475000000, 1000));
	values_set(f, METRIC_CPU_CO2E, f->value[METRIC_CO2E]);
}

static void test_default(void)
{
	struct factor_chain world = chain;
	struct record *r = job(T + 500000, T + 500010, 3600);

	charge_default(&r->values, 3600, 3600);
	r->nodes = strdup("n1");
	r->nsteps = 1;
	r->steps = calloc(1, sizeof(*r->steps));
	values_init(&r->steps[0].values);
	charge_default(&r->steps[0].values, 1800, 1800);
	record_emissions_fill(r, &chain, &settings);
	is_u64(r->values.value[METRIC_CO2E], 60 * MG, "the world mean gives way to the site's factor");
	is_u64(r->values.value[METRIC_CPU_CO2E], 60 * MG, "in the parts, too");
	is_u64(r->values.value[METRIC_DEFAULT_FACTOR], 0, "no joule is left to the world mean");
	is_u64(r->values.value[METRIC_STATIC_FACTOR], 3600 * J, "all are by the yearly mean");
	is_u64(r->steps[0].values.value[METRIC_CO2E], 30 * MG, "and those of the step");
	is_int(r->emissions.method, CO2E_MEAN_POWER, "the method says that the nodes did not compute it");
	is_origin(r, "static", "life-cycle", "Ember", "the origin is the site's");
	is_factor(r, 60000000, "the factor");
	is_str(r->emissions.default_nodes, "n1", "the node is named");
	record_destroy(r);

	/* two nodes, of which one has ceems.conf; the second step ran on the other alone */
	r = job(T + 500000, T + 500010, 7200);
	r->total_nodes = 2;
	charge_default(&r->values, 7200, 3600);
	r->nodes = strdup("n[1-2]");
	record_emissions_fill(r, &chain, &settings);
	is_u64(r->values.value[METRIC_CO2E], 120 * MG, "one of two nodes: all of the job is computed anew");
	is_str(r->emissions.default_nodes, "some of n[1-2]", "it is not known which");
	charge_default(&r->values, 7200, 3600);
	r->nsteps = 2;
	r->steps = calloc(2, sizeof(*r->steps));
	values_init(&r->steps[0].values);
	values_init(&r->steps[1].values);
	charge_default(&r->steps[0].values, 100, 0);
	charge_default(&r->steps[1].values, 100, 100);
	r->steps[0].nodes = strdup("n1");
	r->steps[1].nodes = strdup("n2");
	r->steps[0].nnodes = r->steps[1].nnodes = 1;
	record_emissions_fill(r, &chain, &settings);
	is_str(r->emissions.default_nodes, "n2", "a step tells which");
	is_u64(r->steps[0].values.value[METRIC_CO2E], 0, "a step of the other node keeps what that charged");
	record_destroy(r);

	/* the site has no factor either, or this is no place that knows it */
	emission_world(&world.fixed);
	world.series = NULL;
	r = job(T + 500000, T + 500010, 3600);
	charge_default(&r->values, 3600, 3600);
	record_emissions_fill(r, &world, &settings);
	is_u64(r->values.value[METRIC_CO2E], 475 * MG, "without Country here, the world mean stays");
	is_str(r->emissions.default_nodes, "", "and no node is named");
	is_int(r->emissions.method, CO2E_PER_TICK, "the nodes computed it");
	record_emissions_fill(r, NULL, &settings);
	is_u64(r->values.value[METRIC_CO2E], 475 * MG, "without a chain, too");
	record_destroy(r);
}

static void test_mean_power(void)
{
	struct record *r = job(T, T + 20, 1000);

	values_set(&r->values, METRIC_CPU_ENERGY, 720 * J);
	r->nsteps = 3;
	r->steps = calloc(3, sizeof(*r->steps));
	values_init(&r->steps[0].values);
	values_init(&r->steps[1].values);
	values_init(&r->steps[2].values);
	r->steps[2].start = T;
	values_set(&r->steps[2].values, METRIC_ENERGY, 720 * J);
	r->steps[0].start = T;
	r->steps[0].end = T + 10;
	values_set(&r->steps[0].values, METRIC_ENERGY, 360 * J);
	record_emissions_fill(r, &chain, &settings);
	/* 1 kJ x 275 g/kWh */
	is_u64(r->values.value[METRIC_CO2E], 76388889, "half of its life at 50, half at 500 g/kWh");
	is_u64(r->values.value[METRIC_CPU_CO2E], 55 * MG, "CPU emissions at the same factor");
	is_u64(r->values.value[METRIC_FRESH_FACTOR], 1000 * J, "all of it with fresh factors");
	is_u64(r->values.value[METRIC_STATIC_FACTOR], 0, "none with the yearly mean");
	is_int(r->emissions.method, CO2E_MEAN_POWER, "the method is mean-power");
	is_factor(r, 275000000, "the mean");
	is_origin(r, "average", "direct", "RTE", "the origin is the grid's series");
	is_u64(r->emissions.year, 0, "without a year");
	is_u64(r->steps[0].values.value[METRIC_CO2E], 5 * MG, "a step over its own life");
	ok(!values_has(&r->steps[1].values, METRIC_CO2E), "one without energy has none");
	is_u64(r->steps[2].values.value[METRIC_CO2E], 55 * MG, "one without an end lasted until the job's");
	record_destroy(r);

	/* 3600 s of the series, 100 fresh and 200 last ones, 3900 static: 7800 s */
	r = job(T, T + 7800, 7800);
	record_emissions_fill(r, &chain, &settings);
	is_u64(r->values.value[METRIC_FRESH_FACTOR], 3700 * J, "past the end of the series: fresh");
	is_u64(r->values.value[METRIC_LAST_FACTOR], 200 * J, "last");
	is_u64(r->values.value[METRIC_STATIC_FACTOR], 3900 * J, "static");
	is_origin(r, "mixed", "mixed", "RTE; Ember", "both are named");
	is_str(r->emissions.region, "FR", "the region once");
	is_u64(r->emissions.year, 2024, "the year of the static one");
	/* (10 x 50 + 3890 x 500 + 3900 x 60) / 7800 */
	is_factor(r, 279423077, "the mean");
	record_destroy(r);

	r = job(T + 500000, T + 500010, 36);
	record_emissions_fill(r, &chain, &settings);
	is_origin(r, "static", "life-cycle", "Ember", "far from any point of the series");
	is_factor(r, 60000000, "the yearly mean");
	record_destroy(r);
}

static void test_per_tick(void)
{
	struct record *r = job(T, T + 20, 1000);
	unsigned int m;

	/* all of its work was in the first half */
	values_set(&r->values, METRIC_CO2E, 14 * MG);
	values_set(&r->values, METRIC_FRESH_FACTOR, 1000 * J);
	for (m = METRIC_LAST_FACTOR; m <= METRIC_DEFAULT_FACTOR; m++)
		values_set(&r->values, (enum metric)m, 0);
	record_emissions_fill(r, &chain, &settings);
	is_u64(r->values.value[METRIC_CO2E], 14 * MG, "what the nodes computed stays");
	is_int(r->emissions.method, CO2E_PER_TICK, "and the method is per-tick");
	is_factor(r, 50400000, "weighted by energy, not by time");
	ok(!values_has(&r->values, METRIC_CPU_CO2E), "CPU emissions are not guessed beside it");
	record_destroy(r);

	/* 1.0416667 mg of 7.5 J, in whole micrograms and joules */
	r = job(T + 100, T + 120, 8);
	values_set(&r->values, METRIC_CO2E, 1042 * UG);
	record_emissions_fill(r, &chain, &settings);
	is_factor(r, 500000000, "rounding in small jobs does not show: there was one factor");
	record_destroy(r);

	r = job(T + 100, T + 120, 7000);
	values_set(&r->values, METRIC_CO2E, 200 * MG);
	record_emissions_fill(r, &chain, &settings);
	is_factor(r, 102857143, "another factor on the nodes is shown");
	record_destroy(r);

	/* one of two nodes had no factor */
	r = job(T + 100, T + 120, 7200);
	r->total_nodes = 2;
	values_set(&r->values, METRIC_CO2E, 500 * MG);
	values_set(&r->values, METRIC_FRESH_FACTOR, 3600 * J);
	record_emissions_fill(r, &chain, &settings);
	is_factor(r, 500000000, "energy without a factor does not lower the mean");
	record_destroy(r);

	/* slurmd had no series yet, here it has come */
	r = job(T, T + 20, 3600);
	values_set(&r->values, METRIC_CO2E, 60 * MG);
	values_set(&r->values, METRIC_FRESH_FACTOR, 0);
	values_set(&r->values, METRIC_STATIC_FACTOR, 3600 * J);
	record_emissions_fill(r, &chain, &settings);
	is_origin(r, "static", "life-cycle", "Ember", "the nodes' own factor counts");
	is_factor(r, 60000000, "with its value");
	record_destroy(r);

	/* the reverse */
	r = job(T + 500000, T + 500010, 3600);
	values_set(&r->values, METRIC_CO2E, 90 * MG);
	values_set(&r->values, METRIC_LAST_FACTOR, 3600 * J);
	record_emissions_fill(r, &chain, &settings);
	is_origin(r, "average", "", "", "a factor that nobody has any more keeps its kind");
	is_factor(r, 90000000, "and its value");
	record_destroy(r);
}

static void test_beside(void)
{
	struct record *r = job(T, T + 45, 3600);

	settings.market_mg_per_kwh = 0;
	(void)snprintf(settings.market_source, sizeof(settings.market_source), "wind");
	settings.embodied_ug_per_cpu_hour = 2500000;
	(void)snprintf(settings.embodied_source, sizeof(settings.embodied_source), "the vendor");
	record_emissions_fill(r, &chain, &settings);
	ok(values_has(&r->values, METRIC_CO2E_MARKET) && !r->values.value[METRIC_CO2E_MARKET],
	   "a contract for wind has 0, which is known");
	ok(r->emissions.market_ug_per_kwh.known && !r->emissions.market_ug_per_kwh.value,
	   "and so is its factor");
	is_str(r->emissions.market_source, "wind", "its source");
	/* 8 CPUs x 45 s x 2.5 g/h */
	ok(r->emissions.embodied_ng.known && r->emissions.embodied_ng.value == 250000000,
	   "embodied emissions of the job's CPUs");
	is_str(r->emissions.embodied_source, "the vendor", "its source");
	record_destroy(r);

	settings.market_mg_per_kwh = 100000;
	r = job(T, T + 45, 3600);
	values_set(&r->values, METRIC_CO2E_MARKET, 99 * MG);
	record_emissions_fill(r, NULL, &settings);
	is_u64(r->values.value[METRIC_CO2E_MARKET], 99 * MG, "the nodes' market emissions stay");
	record_destroy(r);
	r = job(T, T + 45, 3600);
	record_emissions_fill(r, NULL, &settings);
	is_u64(r->values.value[METRIC_CO2E_MARKET], 100 * MG, "without them: by the contract's factor");
	record_destroy(r);

	r = job(T, T + UINT32_MAX, 1);
	r->total_cpus = UINT32_MAX;
	record_emissions_fill(r, NULL, &settings);
	ok(!r->emissions.embodied_ng.known, "an overflow is unknown");
	record_destroy(r);
}

/* 1,000 J at 300 g/kWh and PUE 1.5 are 125 mg. */
static void test_of_step(void)
{
	struct record r = { .emissions = { .factor_ug_per_kwh = { 300200000, true }, .pue_milli = 1500 } };
	struct record_step s = { .nnodes = 1 };
	struct record_emissions e;

	values_init(&s.values);
	values_set(&s.values, METRIC_ENERGY, UINT64_C(1000000000));
	record_emissions_of_step(&r, &s, &e);
	ok(!e.factor_ug_per_kwh.known && !e.pue_milli, "a step without emissions has no factor");
	values_set(&s.values, METRIC_CO2E, 125 * MG);
	record_emissions_of_step(&r, &s, &e);
	is_u64(e.factor_ug_per_kwh.value, 300200000,
	       "the job's factor, where a joule more or less explains it");
	is_u64(e.pue_milli, 1500, "and its PUE");
	r.emissions.factor_ug_per_kwh.value = 310000000;
	record_emissions_of_step(&r, &s, &e);
	is_u64(e.factor_ug_per_kwh.value, 300000000, "else the step's own, which ran at another time");
	s.nnodes = 100;
	record_emissions_of_step(&r, &s, &e);
	is_u64(e.factor_ug_per_kwh.value, 310000000, "each node rounds");
	r.emissions.pue_milli = 0;
	record_emissions_of_step(&r, &s, &e);
	ok(!e.factor_ug_per_kwh.known, "without a PUE there is none");
}

int main(void)
{
	settings.pue_milli = 1000;
	settings.market_mg_per_kwh = SETTINGS_NO_MARKET;
	test_unknown();
	test_default();
	test_mean_power();
	test_per_tick();
	test_beside();
	test_of_step();
	return done_testing();
}
