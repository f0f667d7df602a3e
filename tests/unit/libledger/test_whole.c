/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole joules of steps: their sums are the ledger's, and each is right to a joule. */
#include "src/libledger/whole.h"

#include <string.h>

#include "rnd.h"
#include "src/libutil/util.h"
#include "tap.h"

#define J UINT64_C(1000000)
#define HISTORIES 200
#define STEPS 1500

/* --- cases -------------------------------------------------------------------------------- */

static struct account cpu_account(uint64_t uj)
{
	return (struct account){
		.total_uj[DOMAIN_CPU] = uj,
		.source_uj[SOURCE_RAPL] = uj,
		.factor_uj[FACTOR_STATIC] = uj,
	};
}

/* N steps of UJ each are reported as SUM in all. */
static const struct {
	const char *name;
	unsigned int n;
	uint64_t uj, sum_j;
} sum_cases[] = {
	{ "no energy is 0 J", 100, 0, 0 },
	{ "500 jobs of 0.4 J are 200 J", 500, 400000, 200 },
	{ "500 jobs of 0.896 J are 448 J", 500, 896000, 448 },
	{ "500 jobs of 1.5 J are 750 J", 500, 1500000, 750 },
	{ "whole joules stay as they are", 7, 3000000, 21 },
	{ "a million jobs of 1 uJ are 1 J", 1000000, 1, 1 },
	{ "a large step", 1, UINT64_C(9000000000000000), UINT64_C(9000000000) },
};

static void test_sums(void)
{
	size_t i;
	unsigned int k;

	for (i = 0; i < ARRAY_SIZE(sum_cases); i++) {
		const struct account a = cpu_account(sum_cases[i].uj);
		struct whole_carry carry = { 0 };
		uint64_t sum = 0;
		struct whole w;

		for (k = 0; k < sum_cases[i].n; k++) {
			whole_round(&carry, &a, &w);
			sum += w.j[WHOLE_ENERGY];
		}
		ok(sum == sum_cases[i].sum_j, "%s", sum_cases[i].name);
	}
}

static void test_values(void)
{
	const struct whole w = { .j = { [WHOLE_ENERGY] = 3, [WHOLE_DOMAIN + DOMAIN_GPU] = 2 } };
	struct values f;

	values_init(&f);
	values_set(&f, METRIC_ENERGY, 2600000);
	values_set(&f, METRIC_CO2E, 7);
	whole_values(&w, &f);
	ok(f.value[METRIC_ENERGY] == 3 * J && f.value[METRIC_CO2E] == 7,
	   "energy is whole, emissions are as before");
	ok(!values_has(&f, METRIC_GPU_ENERGY), "a value that is not known stays unknown");
}

/* --- histories ---------------------------------------------------------------------------- */

enum property { SUM, STEP, ZERO, FIXED, DOMAINS, SOURCES, FACTORS, PROPERTIES };

static const char *const property_name[PROPERTIES] = {
	[SUM] = "the sum of whole joules is that of the energy, to 1 J, in each row and at any time",
	[STEP] = "whole joules of each step are within 1 J of its energy",
	[ZERO] = "no energy is 0 J",
	[FIXED] = "no domain has less than its static part",
	[DOMAINS] = "domains add up to the energy",
	[SOURCES] = "sources add up to the energy",
	[FACTORS] = "kinds of factor add up to the energy",
};

static unsigned int bad[PROPERTIES];

/* Energy of a step of 1 ms to 10 s at up to 2 kW: as many steps of each order of magnitude. */
static uint64_t draw_uj(void)
{
	static const uint64_t most_uj[] = { 2, 20, 200, 2000, 20000 };

	return rnd(8) ? rnd(most_uj[rnd(ARRAY_SIZE(most_uj))] * 1000 * 1000 / 1000) : J * rnd(4);
}

/* HAS: which of its parts a node has; each domain has a source of its own. */
static struct account draw_account(unsigned int has)
{
	static const enum source_id source[DOMAIN_N] = { SOURCE_RAPL, SOURCE_RAPL, SOURCE_NVML, SOURCE_IPMI };
	struct account a = { 0 };
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d++) {
		uint64_t uj = has & 1u << d ? draw_uj() : 0;

		if (d == DOMAIN_GPU && rnd(2))
			uj = 0; /* a job without a GPU */
		a.total_uj[d] = uj;
		a.static_uj[d] = rnd(3) ? rnd(uj + 1) : rnd(2) ? uj : 0;
		a.source_uj[source[d]] += uj;
		a.factor_uj[rnd(has & 16 ? FACTOR_STEP_N : 1)] += uj;
	}
	a.by_counters_uj = a.total_uj[DOMAIN_CPU] - a.static_uj[DOMAIN_CPU];
	return a;
}

static void rows_of(const struct account *a, uint64_t uj[WHOLE_ROWS])
{
	uj[WHOLE_ENERGY] = account_total_uj(a);
	memcpy(uj + WHOLE_DOMAIN, a->total_uj, sizeof(a->total_uj));
	memcpy(uj + WHOLE_STATIC, a->static_uj, sizeof(a->static_uj));
	memcpy(uj + WHOLE_SOURCE, a->source_uj, sizeof(a->source_uj));
	memcpy(uj + WHOLE_FACTOR, a->factor_uj, sizeof(a->factor_uj));
	uj[WHOLE_BY_COUNTERS] = a->by_counters_uj;
}

static bool adds_up(const struct whole *w, unsigned int from, unsigned int n)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		sum += w->j[from + i];
	return sum == w->j[WHOLE_ENERGY];
}

static bool is_within_a_joule(uint64_t uj, uint64_t j)
{
	return uj < (j + 1) * J && j * J < uj + J;
}

static void check_step(const struct account *a, const struct whole *w, const uint64_t true_uj[WHOLE_ROWS],
		       const uint64_t told_j[WHOLE_ROWS])
{
	uint64_t uj[WHOLE_ROWS];
	unsigned int i;

	rows_of(a, uj);
	for (i = 0; i < WHOLE_ROWS; i++) {
		bad[SUM] += !is_within_a_joule(true_uj[i], told_j[i]);
		bad[STEP] += !is_within_a_joule(uj[i], w->j[i]);
		bad[ZERO] += !uj[i] && w->j[i];
	}
	for (i = 0; i < DOMAIN_N; i++)
		bad[FIXED] += w->j[WHOLE_STATIC + i] > w->j[WHOLE_DOMAIN + i];
	bad[DOMAINS] += !adds_up(w, WHOLE_DOMAIN, DOMAIN_N);
	bad[SOURCES] += !adds_up(w, WHOLE_SOURCE, SOURCE_N);
	bad[FACTORS] += !adds_up(w, WHOLE_FACTOR, FACTOR_STEP_N);
}

static void live(void)
{
	unsigned int has = 1 + (unsigned int)rnd(31);
	struct whole_carry carry = { 0 };
	uint64_t true_uj[WHOLE_ROWS] = { 0 };
	uint64_t told_j[WHOLE_ROWS] = { 0 };
	unsigned int i;
	unsigned int k;

	for (k = 0; k < STEPS; k++) {
		struct account a = draw_account(has);
		uint64_t uj[WHOLE_ROWS];
		struct whole w;

		whole_round(&carry, &a, &w);
		rows_of(&a, uj);
		for (i = 0; i < WHOLE_ROWS; i++) {
			true_uj[i] += uj[i];
			told_j[i] += w.j[i];
		}
		check_step(&a, &w, true_uj, told_j);
	}
}

static void test_histories(void)
{
	unsigned int i;

	rng = 40;
	for (i = 0; i < HISTORIES; i++)
		live();
	for (i = 0; i <= FIXED; i++)
		ok(!bad[i], "%s", property_name[i]);
	for (; i < PROPERTIES; i++) {
		ok(bad[i] <= HISTORIES * STEPS / 100, "%s, in 99 of 100 steps", property_name[i]);
		diag("%s: not in %u of %u steps", property_name[i], bad[i], HISTORIES * STEPS);
	}
}

int main(void)
{
	test_sums();
	test_values();
	test_histories();
	return done_testing();
}
