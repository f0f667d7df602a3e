/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random jobs, from the accounts of their nodes to what people see: no output may say how much is idle, or
 * that nothing was wasted, unless every node knew; and the energy is a lower bound if and only if the steps
 * that tell it miss a node.
 */
#include "src/cmd/jobs/jobs_group.h"

#include <stdlib.h>
#include <string.h>

#include "src/libcore/domain.h"
#include "src/libcore/idle_energy.h"
#include "src/libledger/account.h"
#include "src/librecord/job_screen.h"
#include "src/librecord/lower_bound.h"
#include "src/librecord/record_fill.h"
#include "src/libutil/util.h"

#include "tests/unit/cmd/jobs/idle_told_node.h"
#include "rnd.h"
#include "tap.h"

#define JOBS 4000
#define NODES 4
#define STEPS 4
#define LEAST_UJ (100 * UJ_PER_J) /* of a domain on a node, so that rounding to joules does not hide one */

static struct settings settings = { .pue_milli = 1000, .market_mg_per_kwh = SETTINGS_NO_MARKET };

/* What is true of a job. */
struct truth {
	bool is_lower, is_late_only; /* by the steps that tell the energy of the job */
	bool knows_all, knows[DOMAIN_N];
	double idle_uj, total_uj;
	char text[2000]; /* of its outputs, to show */
};

/* Adds a value to a TRES as Slurm does: numbers of nodes that did not report it are not there. */
static void add_tres(struct values *sum, const struct values *node)
{
	unsigned int m;

	metric_foreach(m) {
		uint64_t tres;

		if (!values_has(node, (enum metric)m) || !metric_table[m].tres[0])
			continue;
		tres = metric_to_tres((enum metric)m, node->value[m]);
		if (values_has(sum, (enum metric)m))
			tres += metric_to_tres((enum metric)m, sum->value[m]);
		values_set(sum, (enum metric)m, metric_from_tres((enum metric)m, tres));
	}
}

/* What a node measured of a step. A domain without idle power is all dynamic in the account. */
static struct account make_account(const bool knows[DOMAIN_N])
{
	struct account a = { 0 };
	unsigned int d;

	for (d = 0; d < DOMAIN_N; d += DOMAIN_GPU - DOMAIN_CPU) {
		a.total_uj[d] = LEAST_UJ + rnd(1000 * UJ_PER_J);
		a.static_uj[d] = knows[d] ? rnd(2) * rnd(a.total_uj[d]) : 0;
		a.no_idle_uj[d] = knows[d] ? 0 : a.total_uj[d] - rnd(LEAST_UJ);
		a.source_uj[SOURCE_RAPL] += a.total_uj[d];
	}
	return a;
}

/* Adds the final values of a node to step S, unless it does not report. */
static void add_node(struct record_step *s, const struct account *a, bool is_late, bool is_silent)
{
	struct values f;

	if (is_silent)
		return;
	idle_told_node(a, &f);
	values_set(&f, METRIC_ENERGY_NODES, !is_late);
	values_set(&f, METRIC_LATE_NODES, is_late);
	values_set(&f, METRIC_CPU_TIME, 1000000000);
	add_tres(&s->values, &f);
}

static void note(struct truth *t, const struct account *a, bool is_late, bool is_silent)
{
	unsigned int d;

	t->is_lower |= is_late || is_silent;
	t->is_late_only &= !is_silent;
	for (d = 0; d < DOMAIN_N && !is_silent; d++) {
		t->knows[d] &= !a->no_idle_uj[d];
		t->knows_all &= !a->no_idle_uj[d];
		t->idle_uj += (double)a->static_uj[d];
		t->total_uj += (double)a->total_uj[d];
	}
}

/* Makes R with steps on 1 to NODES nodes. If it has an extern step, that has the sum of all steps. */
static void make_job(struct record *r, struct record_step *step, struct truth *t)
{
	uint32_t nnodes = 1 + (uint32_t)rnd(NODES);
	bool has_extern = rnd(2);
	unsigned int usual = (unsigned int)rnd(3); /* 0: all is well */
	uint32_t node;
	size_t i;

	*r = (struct record){ .job_id = 1,
			      .job_name = (char *)"j",
			      .user_name = (char *)"u",
			      .state = (char *)"COMPLETED",
			      .total_cpus = 2 * nnodes,
			      .total_nodes = nnodes,
			      .tres_alloc = strdup("cpu=2,node=1,gres/gpu=1"),
			      .start = 1795603505,
			      .end = 1795603605,
			      .steps = step,
			      .steps_known = true };
	r->nsteps = 1 + rnd(STEPS - 1) + has_extern;
	*t = (struct truth){ .is_late_only = true, .knows_all = true, .knows = { true, true, true, true } };
	for (i = 0; i < r->nsteps; i++) {
		step[i] = (struct record_step){ .step_id = (uint32_t)i, .nnodes = nnodes };
		values_init(&step[i].values);
	}
	if (has_extern)
		step[r->nsteps - 1].step_id = RECORD_STEP_EXTERN;
	for (node = 0; node < nnodes; node++) {
		const bool knows[DOMAIN_N] = { !usual || rnd(4), true, !usual || rnd(3), true };
		struct account sum = { 0 };

		for (i = 0; i < r->nsteps; i++) {
			bool is_extern = has_extern && i == r->nsteps - 1;
			struct account a = make_account(knows);
			bool is_late = usual == 2 && !rnd(6);
			/* one node of a step always reports: of a step that says nothing, nothing is known */
			bool is_silent = usual == 2 && node && !rnd(12);

			if (is_extern)
				a = sum;
			account_add(&sum, &a);
			add_node(&step[i], &a, is_late, is_silent);
			if (is_extern == has_extern)
				note(t, &a, is_late, is_silent);
		}
	}
	(void)record_fill(r, /* unmeasured= */ false, NULL, &settings);
}

static void print(const struct record *r, struct truth *t)
{
	const struct job_screen s = { .part = &r, .n = 1, .now = r->end };
	FILE *f = fmemopen(t->text, sizeof(t->text), "w");
	struct jobs_sum sum = { 0 };
	struct jobs_job j;
	char *line;

	jobs_job_init(&j, r, r->end);
	jobs_sum_add(&sum, &j);
	line = jobs_sum_text(&sum);
	(void)job_screen_print(f, &s);
	(void)fprintf(f, "%s\n", line);
	free(line);
	(void)fclose(f);
}

static bool shows(const struct jobs_job *j, const char *name)
{
	char buf[JOBS_TEXT_MAX];
	struct jobs_column column;
	struct cell cell;

	require(jobs_column_find(name, &column));
	jobs_cell(j, &column, &cell, buf);
	return cell.kind != CELL_UNKNOWN;
}

/*
 * Whether TEXT has a share of all energy: "12 % idle", and not "12 % of 3 Wh idle" or "of 3 Wh, 12 % is
 * idle".
 */
static bool has_idle_share(const char *text)
{
	return strstr(text, " % idle");
}

/* The idle share is as it was, up to the joules that are lost by rounding. */
static bool is_near(double share, const struct truth *t)
{
	double off = share - t->idle_uj / t->total_uj;

	return off < 0.02 && off > -0.02;
}

static bool idle_is_true(const struct record *r, const struct truth *t)
{
	struct jobs_sum sum = { 0 };
	double uj, ng;
	struct jobs_job j;
	unsigned int d;

	jobs_job_init(&j, r, r->end);
	jobs_sum_add(&sum, &j);
	for (d = 0; d < DOMAIN_N; d++)
		if (values_has(&r->values, domain_table[d].energy) &&
		    r->values.value[domain_table[d].energy] &&
		    values_has(&r->values, domain_table[d].fixed) && !t->knows[d])
			return false;
	if (t->knows_all != (j.idle_share >= 0) || t->knows_all != shows(&j, "IdleShare") ||
	    t->knows_all != shows(&j, "IdleEnergy") || t->knows_all != has_idle_share(t->text))
		return false;
	if (t->knows_all)
		return is_near(j.idle_share, t);
	return !shows(&j, "Wasted") && (!jobs_sum_wasted(&sum, &uj, &ng) || uj > 0) &&
	       sum.waste_lacks_n == 1 && !jobs_sum_idle_is_whole(&sum) && strstr(t->text, "not learned yet");
}

static bool quality_is_true(const struct record *r, const struct truth *t)
{
	bool is_lower = !strcmp(r->energy.quality, "lower-bound");

	return is_lower == t->is_lower &&
	       (strstr(t->text, lower_bound_text(LOWER_BOUND_NODE)) != NULL) ==
		       (is_lower && !t->is_late_only) &&
	       (strstr(t->text, lower_bound_text(LOWER_BOUND_LATE)) != NULL) == (is_lower && t->is_late_only);
}

static void test_jobs(void)
{
	unsigned int bad_idle = 0, bad_quality = 0, whole = 0, lower = 0;
	struct record_step step[STEPS + 1];
	unsigned int i;

	for (i = 0; i < JOBS; i++) {
		struct record r;
		struct truth t;

		rng = i + 1;
		make_job(&r, step, &t);
		print(&r, &t);
		whole += t.knows_all;
		lower += t.is_lower;
		if (!idle_is_true(&r, &t) && !bad_idle++)
			diag("job %u: %s", i, t.text);
		if (!quality_is_true(&r, &t) && !bad_quality++)
			diag("job %u is %s: %s", i, r.energy.quality, t.text);
		free(r.tres_alloc);
	}
	is_u64(bad_idle, 0, "idle energy is told if every node knew it, and only then");
	is_u64(bad_quality, 0, "a lower bound, and why, if the extern step or else a step misses a node");
	ok(whole > JOBS / 10 && whole < JOBS - JOBS / 10, "%u jobs know all of it", whole);
	ok(lower > JOBS / 20 && lower < JOBS / 2, "%u are lower bounds", lower);
}

int main(void)
{
	test_jobs();
	return done_testing();
}
