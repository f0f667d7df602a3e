/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How wrong the energy of short steps is if the sensors' counters move seldom. As test_accuracy.c, but for
 * the counters.
 *
 * 	test_slow_counters -m prints the table of doc/accuracy.md; ACCURACY_SEEDS=n makes it longer.
 */
#include <math.h>
#include <stdlib.h>

#include "run.h"
#include "src/libutil/util.h"
#include "tap.h"

#define SEEDS 3
#define SHORT_NS UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define LEARN_STEPS 40 /* from these, the sampler learns the counter's interval */

#define SCENARIOS_MAX 8

static const unsigned int interval_ms[] = { 5, 10, 100, 1000 };

#define INTERVALS ARRAY_SIZE(interval_ms)

static const char *const mode_name[MODES] = { "counters", "CPU time" };

/* The most that the mean error may be, in percent, by scenario, mode and interval; 0: no target. */
static const double limit[][MODES][INTERVALS] = {
	{ { 1, 8, 20, 25 }, { 1, 8, 20, 25 } }, { { 9, 9, 13, 16 }, { 14, 14, 20, 20 } },
	{ { 0, 0, 18, 20 }, { 0, 0, 20, 20 } }, { { 0, 0, 15, 60 }, { 0, 0, 18, 60 } },
	{ { 1, 1, 4, 14 }, { 1, 1, 4, 14 } },	{ { 3, 3, 3, 4 }, { 5, 5, 5, 5 } },
};

struct errors {
	double sum, worst;    /* of each step, relative to what it used */
	double got_j, want_j; /* of all steps together */
	unsigned int n;
};

struct result {
	struct errors mode[MODES];
	uint64_t unbalanced_uj;
	unsigned int not_as_shown;
};

static void note(struct errors *e, double got, double want)
{
	double error = fabs(got - want) / want;

	e->sum += error;
	e->n++;
	e->got_j += got;
	e->want_j += want;
	if (error > e->worst)
		e->worst = error;
}

/* Whether a step is one of those that the scenario is about. */
static bool is_counted(const struct scenario_kind *kind, const struct step_plan *plan, unsigned int i)
{
	if (kind->ncpus)
		return plan->ncpus == kind->ncpus;
	return !kind->is_of_short_steps || (i > LEARN_STEPS && plan->until_ns - plan->from_ns < SHORT_NS);
}

static void run(const struct scenario_kind *kind, uint64_t counter_ns, uint32_t seed, struct result *ret)
{
	static struct run r;
	uint32_t draws = seed * 747796405u + 1;
	unsigned int i;
	unsigned int m;

	memset(&r, 0, sizeof(r));
	physics_init(&r.physics, seed, 1);
	kind->make(&r.scenario, &draws);
	r.scenario.counter_ns = counter_ns;
	r.node = node_create(&r.physics, &r.scenario);
	run_live(&r);
	for (m = 0; m < MODES; m++) {
		for (i = 0; i < r.scenario.nsteps; i++) {
			const struct step_plan *plan = &r.scenario.step[i];

			if (is_counted(kind, plan, i))
				note(&ret->mode[m], run_ours(&r, m, i).total_j, run_truth(&r, i).total_j);
		}
		ret->unbalanced_uj += node_unbalanced_uj(r.node, m);
		ret->not_as_shown += node_measured_uj(r.node, m) + node_held_uj(r.node, m) !=
				     node_shown_uj(r.node);
	}
	node_destroy(r.node);
}

static void run_all(struct result r[][INTERVALS])
{
	const char *text = getenv("ACCURACY_SEEDS");
	uint32_t seeds = text ? (uint32_t)strtoul(text, NULL, 10) : SEEDS;
	uint32_t seed;
	unsigned int i;
	unsigned int k;

	for (i = 0; i < scenario_nshort; i++)
		for (k = 0; k < INTERVALS; k++)
			for (seed = 1; seed <= seeds; seed++)
				run(&scenario_short[i], interval_ms[k] * MS, seed, &r[i][k]);
}

static void print_table(const struct result r[][INTERVALS])
{
	unsigned int i;
	unsigned int k;
	unsigned int m;

	printf("| a counter that moves every |");
	for (k = 0; k < INTERVALS; k++)
		printf(" %u ms |", interval_ms[k]);
	printf("\n| --- | ---: | ---: | ---: | ---: |\n");
	for (m = 0; m < MODES; m++)
		for (i = 0; i < scenario_nshort; i++) {
			printf("| %s, %s |", scenario_short[i].name, mode_name[m]);
			for (k = 0; k < INTERVALS; k++) {
				const struct errors *e = &r[i][k].mode[m];

				printf(" %.1f / %.0f / %+.1f |", 100 * e->sum / e->n, 100 * e->worst,
				       100 * (e->got_j / e->want_j - 1));
			}
			printf("\n");
		}
}

static void check(const struct result r[][INTERVALS])
{
	unsigned int i;
	unsigned int k;
	unsigned int m;

	for (i = 0; i < scenario_nshort; i++)
		for (k = 0; k < INTERVALS; k++) {
			ok(!r[i][k].unbalanced_uj && !r[i][k].not_as_shown,
			   "%s, %u ms: booked and held add up to what the sensors showed, to the microjoule",
			   scenario_short[i].name, interval_ms[k]);
			for (m = 0; m < MODES; m++) {
				const struct errors *e = &r[i][k].mode[m];

				if (!limit[i][m][k])
					continue;
				ok(100 * e->sum / e->n <= limit[i][m][k], "  %s: mean error within %g %%",
				   mode_name[m], limit[i][m][k]);
				diag("%.1f %%, the worst of %u %.0f %%, together %+.1f %%",
				     100 * e->sum / e->n, e->n, 100 * e->worst,
				     100 * (e->got_j / e->want_j - 1));
			}
		}
}

int main(int argc, char **argv)
{
	static struct result r[SCENARIOS_MAX][INTERVALS];

	_Static_assert(ARRAY_SIZE(limit) <= SCENARIOS_MAX, "a row for each scenario");
	run_all(r);
	if (argc > 1 && !strcmp(argv[1], "-m")) {
		print_table(r);
		return 0;
	}
	check(r);
	return done_testing();
}
