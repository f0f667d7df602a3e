/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the energy that we report for a job is from what it used. The node is simulated, so that the truth
 * is known (physics.h). Our sampler and the formulas of other programs (peers.h) read it in virtual time.
 *
 * Each scenario runs with constants from the ranges that physics.h assumes, and again with ranges half as
 * wide again, where 1.1 times the targets must hold: no target is tuned to the constants.
 *
 * 	test_accuracy -m prints the tables of doc/accuracy.md, -w those of the wider ranges;
 * 	ACCURACY_SEEDS=n makes it longer.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "run.h"
#include "src/libutil/util.h"
#include "tap.h"

#define SEEDS 8
#define WIDER 1.5
#define WIDER_SLACK 1.1 /* of the targets */
#define SCENARIOS_MAX 16
#define SHORT_NS UINT64_C(1000000000)
/* A job whose energy above idle is a smaller part of its total is left out of the errors above idle. */
#define MIN_DYNAMIC 0.02

enum method { OURS_COUNTERS, OURS_CPU_TIME, CPU_SHARE, CEEMS, KEPLER, SLURM, METHODS };

static const char *const method_name[METHODS] = {
	[OURS_COUNTERS] = "ours, counters",
	[OURS_CPU_TIME] = "ours, CPU time",
	[CPU_SHARE] = "CPU share",
	[CEEMS] = "CEEMS",
	[KEPLER] = "Kepler",
	[SLURM] = "Slurm rapl",
};

static const double border[] = { 0.01, 0.03, 0.05, 0.1 };

/* Relative errors of all jobs of a scenario over all seeds. */
struct errors {
	double sum, worst;
	unsigned int n;
	unsigned int within[ARRAY_SIZE(border)];
};

struct result {
	struct errors total[METHODS];
	struct errors dynamic[METHODS]; /* of methods that tell it apart from idle energy */
	uint64_t unbalanced_uj;		/* over all runs and modes */
	unsigned int not_as_shown;	/* runs in which measured is not what the sensors showed */
};

static double mean(const struct errors *e)
{
	return e->sum / e->n;
}

static void note(struct errors *e, double got, double want)
{
	double error = fabs(got - want) / want;
	unsigned int i;

	e->sum += error;
	e->n++;
	if (error > e->worst)
		e->worst = error;
	for (i = 0; i < ARRAY_SIZE(border); i++)
		e->within[i] += error <= border[i];
}

static void compare(const struct run *r, const struct scenario_kind *kind, struct result *ret)
{
	unsigned int i;
	unsigned int m;

	for (i = 0; i < r->scenario.nsteps; i++) {
		const struct step_plan *plan = &r->scenario.step[i];
		struct share want = run_truth(r, i);
		bool has_dynamic = want.dynamic_j >= MIN_DYNAMIC * want.total_j;

		if (kind->is_of_short_steps && plan->until_ns - plan->from_ns >= SHORT_NS)
			continue;
		for (m = 0; m < MODES; m++) {
			struct share got = run_ours(r, m, i);

			note(&ret->total[OURS_COUNTERS + m], got.total_j, want.total_j);
			if (has_dynamic)
				note(&ret->dynamic[OURS_COUNTERS + m], got.dynamic_j, want.dynamic_j);
		}
		for (m = 0; m < PEERS; m++)
			note(&ret->total[CPU_SHARE + m], r->peers.j[m][i], want.total_j);
		if (has_dynamic)
			note(&ret->dynamic[KEPLER], r->peers.j[PEER_KEPLER][i], want.dynamic_j);
	}
	for (m = 0; m < MODES; m++) {
		ret->unbalanced_uj += node_unbalanced_uj(r->node, m);
		ret->not_as_shown += node_measured_uj(r->node, m) != node_shown_uj(r->node);
	}
}

static void run(const struct scenario_kind *kind, uint32_t seed, double spread, struct result *ret)
{
	static struct run r;
	uint32_t draws = seed * 747796405u + 1;

	memset(&r, 0, sizeof(r));
	physics_init(&r.physics, seed, spread);
	kind->make(&r.scenario, &draws);
	r.node = node_create(&r.physics, &r.scenario);
	run_live(&r);
	compare(&r, kind, ret);
	node_destroy(r.node);
}

/* --- results ---------------------------------------------------------------------------- */

static void check_mean(const char *name, enum method m, const char *what, const struct errors *e,
		       double percent)
{
	if (!percent)
		return;
	ok(100 * mean(e) <= percent, "%s, %s: mean error%s within %g %%", name, method_name[m], what,
	   percent);
	diag("%.2f %%, the worst of %u %.2f %%", 100 * mean(e), e->n, 100 * e->worst);
}

static void check(const struct scenario_kind *kind, const struct result *r, double slack)
{
	const struct errors *counters = &r->total[OURS_COUNTERS];
	const struct scenario_targets *t = &kind->target;

	ok(!r->unbalanced_uj && !r->not_as_shown,
	   "%s: accounts add up to what the sensors showed, to the microjoule", kind->name);
	check_mean(kind->name, OURS_COUNTERS, "", counters, slack * t->mean_counters);
	check_mean(kind->name, OURS_CPU_TIME, "", &r->total[OURS_CPU_TIME], slack * t->mean_cpu_time);
	check_mean(kind->name, OURS_COUNTERS, " above idle", &r->dynamic[OURS_COUNTERS],
		   slack * t->mean_above_idle);
	if (t->worst_counters)
		ok(100 * counters->worst <= slack * t->worst_counters, "%s: each within %g %%", kind->name,
		   slack * t->worst_counters);
}

static void print_errors(const struct errors *e)
{
	if (e->n)
		printf(" %.1f / %.1f |", 100 * mean(e), 100 * e->worst);
	else
		printf(" |");
}

static void print_table(const char *title, const struct result *r, bool of_dynamic)
{
	unsigned int i;
	unsigned int m;

	printf("\n| %s |", title);
	for (m = 0; m < METHODS; m++)
		if (!of_dynamic || r[0].dynamic[m].n)
			printf(" %s |", method_name[m]);
	printf("\n| --- |");
	for (m = 0; m < METHODS; m++)
		if (!of_dynamic || r[0].dynamic[m].n)
			printf(" ---: |");
	printf("\n");
	for (i = 0; i < scenario_nkinds; i++) {
		printf("| %s |", scenario_kinds[i].name);
		for (m = 0; m < METHODS; m++)
			if (!of_dynamic || r[0].dynamic[m].n)
				print_errors(of_dynamic ? &r[i].dynamic[m] : &r[i].total[m]);
		printf("\n");
	}
}

static void print_distribution(const struct result *r)
{
	unsigned int i;
	unsigned int k;

	printf("\n| ours, counters, total: part of the jobs |");
	for (k = 0; k < ARRAY_SIZE(border); k++)
		printf(" within %g %% |", 100 * border[k]);
	printf("\n| --- | ---: | ---: | ---: | ---: |\n");
	for (i = 0; i < scenario_nkinds; i++) {
		const struct errors *e = &r[i].total[OURS_COUNTERS];

		printf("| %s |", scenario_kinds[i].name);
		for (k = 0; k < ARRAY_SIZE(border); k++)
			printf(" %.0f %% |", 100.0 * e->within[k] / e->n);
		printf("\n");
	}
}

static void run_all(double spread, struct result r[SCENARIOS_MAX])
{
	const char *text = getenv("ACCURACY_SEEDS");
	uint32_t seeds = text ? (uint32_t)strtoul(text, NULL, 10) : SEEDS;
	uint32_t seed;
	unsigned int i;

	memset(r, 0, SCENARIOS_MAX * sizeof(*r));
	for (i = 0; i < scenario_nkinds; i++)
		for (seed = 1; seed <= seeds; seed++)
			run(&scenario_kinds[i], seed, spread, &r[i]);
}

static void check_all(double spread, double slack)
{
	static struct result r[SCENARIOS_MAX];
	unsigned int i;

	diag("ranges %g times as wide", spread);
	run_all(spread, r);
	for (i = 0; i < scenario_nkinds; i++)
		check(&scenario_kinds[i], &r[i], slack);
}

int main(int argc, char **argv)
{
	static struct result r[SCENARIOS_MAX];
	bool is_wider = argc > 1 && !strcmp(argv[1], "-w");

	if (argc < 2) {
		check_all(1, 1);
		check_all(WIDER, WIDER_SLACK);
		return done_testing();
	}
	run_all(is_wider ? WIDER : 1, r);
	print_table("error of the total, mean / worst, %", r, /* of_dynamic= */ false);
	print_table("error above idle, mean / worst, %", r, /* of_dynamic= */ true);
	print_distribution(r);
	return 0;
}
