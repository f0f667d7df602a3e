/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the energy above idle that we report for a job on MIG instances is from what it used, by the
 * instances' activity and by their size. All is simulated; the truth is not a formula of ours.
 *
 * What an instance draws above idle goes by its SM and DRAM activity, not linear, with other weights than
 * ours, and by its program: with the same activity, one draws up to twice as much as another. What the GPU
 * draws in common while any instance is active (clocks, caches, regulators) is borne by the active
 * instances, by size. A reading of the activity comes a tick late, as from ceems-gpu.
 *
 *	test_mig -m prints the table of doc/accuracy.md; ACCURACY_SEEDS=n makes it longer.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rnd.h"
#include "src/libledger/split.h"
#include "src/libnode/gpuweights.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"
#include "tap.h"

#define SEEDS 60
#define SEC NSEC_PER_SEC
#define TICKS 120
#define JOBS_MAX 7
#define IDLE_MW 90000
#define WORK_WORDS 4096

enum method { BY_ACTIVITY, BY_SIZE, METHODS };

struct instance {
	unsigned int slices, eighths;
	double k_sm, k_dram, bend_sm, bend_dram; /* of its program */
	double sm, dram;			 /* activity now, 0 to 1 */
	double sm_top, dram_top;		 /* while it computes */
	unsigned int busy, pause;		 /* lengths of its phases, in ticks; 0: no such phase */
	unsigned int left; /* ticks to the end of the job, after which another one comes; 0: it stays */
	double uj;	   /* truth: above idle, with its part of the common energy */
	uint64_t got_uj[METHODS]; /* above idle */
};

struct gpu {
	struct instance instance[JOBS_MAX];
	unsigned int n;
	double peak_w, common_w; /* of all SMs and the memory; in common */
	double rest_uj;		 /* of a microjoule that the counter did not show */
	uint64_t shown_uj, booked_uj[METHODS];
};

struct errors {
	double sum, worst;
	unsigned int n;
};

static double between(double a, double b)
{
	return a + (b - a) * (double)rnd(1000001) / 1e6;
}

/* --- scenarios ------------------------------------------------------------------------------- */

/* Of a size, with a random program. */
static struct instance instance_of(unsigned int slices, unsigned int eighths)
{
	return (struct instance){
		.slices = slices,
		.eighths = eighths,
		.k_sm = between(0.7, 1.4),
		.k_dram = between(0.8, 1.2),
		.bend_sm = between(0.75, 1.1),
		.bend_dram = between(0.8, 1.1),
		.sm_top = between(0.2, 1),
		.dram_top = between(0.05, 0.9),
		.busy = 1,
	};
}

static void add(struct gpu *g, unsigned int slices, unsigned int eighths)
{
	g->instance[g->n++] = instance_of(slices, eighths);
}

static void seven(struct gpu *g)
{
	unsigned int i;

	for (i = 0; i < 7; i++)
		add(g, 1, 1);
}

static void make_one_busy(struct gpu *g)
{
	unsigned int i;

	seven(g);
	for (i = 1; i < 7; i++)
		g->instance[i].busy = 0;
}

static void make_mixed(struct gpu *g)
{
	add(g, 3, 4);
	add(g, 2, 2);
	add(g, 1, 1);
	add(g, 1, 1);
}

static void make_kinds(struct gpu *g)
{
	unsigned int i;

	seven(g);
	for (i = 0; i < 7; i++) {
		g->instance[i].sm_top = i % 2 ? between(0.7, 1) : between(0.2, 0.4);
		g->instance[i].dram_top = i % 2 ? between(0.02, 0.15) : between(0.7, 0.95);
	}
}

static void make_phases(struct gpu *g)
{
	unsigned int i;

	make_mixed(g);
	for (i = 0; i < g->n; i++) {
		g->instance[i].busy = 3 + (unsigned int)rnd(20);
		g->instance[i].pause = 3 + (unsigned int)rnd(20);
	}
}

static void make_equal(struct gpu *g)
{
	unsigned int i;

	seven(g);
	for (i = 1; i < 7; i++) {
		g->instance[i] = g->instance[0];
		g->instance[i].k_sm *= between(0.97, 1.03);
	}
}

static void make_jobs(struct gpu *g)
{
	unsigned int i;

	make_mixed(g);
	for (i = 0; i < g->n; i++)
		g->instance[i].left = 20 + (unsigned int)rnd(41);
}

static const struct kind {
	const char *name;
	void (*make)(struct gpu *g);
	double mean; /* targets for the errors by activity, in % */
	double worst;
	double times; /* the mean error by size is at least so many times as large; 0: it need not be */
} kinds[] = {
	{ "one of seven 1g busy, six idle", make_one_busy, 1, 1.5, 50 },
	{ "seven 1g, all busy, other programs and loads", seven, 14, 70, 1.5 },
	{ "3g + 2g + 1g + 1g, all busy", make_mixed, 14, 70, 1.5 },
	{ "compute beside memory bound", make_kinds, 18, 80, 0 },
	{ "3g + 2g + 1g + 1g, phases of 3 to 22 s", make_phases, 13, 80, 3 },
	{ "3g + 2g + 1g + 1g, jobs of 20 to 60 s", make_jobs, 14, 80, 1.5 },
	{ "seven 1g with the same load", make_equal, 1, 4, 5 },
};

/* --- truth ----------------------------------------------------------------------------------- */

static void advance(struct gpu *g, unsigned int tick)
{
	double size = 0, active = 0, mean = 0;
	unsigned int i;

	for (i = 0; i < g->n; i++) {
		struct instance *p = &g->instance[i];
		bool is_busy = p->busy && tick % (p->busy + p->pause) < p->busy;

		p->sm = is_busy ? fmin(1, p->sm_top * between(0.93, 1.07)) : 0;
		p->dram = is_busy ? fmin(1, p->dram_top * between(0.93, 1.07)) : 0;
		size = p->slices / 7.0;
		active += is_busy ? size : 0;
		mean += is_busy ? size * p->sm : 0;
	}
	for (i = 0; i < g->n; i++) {
		struct instance *p = &g->instance[i];
		double sm_w = 0.55 * g->peak_w * p->slices / 7 * p->k_sm * pow(p->sm, p->bend_sm);
		double dram_w = 0.45 * g->peak_w * p->eighths / 8 * p->k_dram * pow(p->dram, p->bend_dram);
		double common_w = active > 0 ? g->common_w * sqrt(mean) * p->slices / 7 / active : 0;

		p->uj += (sm_w + dram_w + (p->sm > 0 ? common_w : 0)) * 1e6;
		g->rest_uj += (sm_w + dram_w + (p->sm > 0 ? common_w : 0)) * 1e6;
	}
}

/* --- our split ------------------------------------------------------------------------------- */

struct run {
	struct gpu gpu;
	struct ledger_page page;
	struct ledger_slot slot[JOBS_MAX];
	struct book_line line[JOBS_MAX];
	struct gpu_slices slices;
	struct gpu_instance_reading told[JOBS_MAX]; /* of the last tick */
	struct gpuweights weights;
	struct split_alloc job[JOBS_MAX];
	struct split_line split[JOBS_MAX];
};

static void prepare(struct run *r)
{
	unsigned int i;

	r->slices.slice[r->slices.n++] = (struct gpu_slice){
		.gi = GPU_SLICE_WHOLE, .slices = 7, .gi_slices = 7, .mem_mb = 80000
	};
	for (i = 0; i < r->gpu.n; i++) {
		const struct instance *p = &r->gpu.instance[i];
		struct ledger_identity *id = &r->slot[i].id;

		r->slices.slice[r->slices.n++] = (struct gpu_slice){ .gi = (uint8_t)i,
								     .slices = (uint8_t)p->slices,
								     .gi_slices = (uint8_t)p->slices,
								     .mem_mb = p->eighths * 10000 };
		id->job_gpu_instances[0] = id->step_gpu_instances[0] = (uint16_t)(1u << i);
		id->job_gpu_ppm[0] = id->step_gpu_ppm[0] = (1000000 * p->slices / 7 +
							    1000000 * p->eighths / 8) /
							   2;
		r->slot[i].t_open_mono_ns = 1;
		r->page.step[i].job = i + 1;
		r->line[i] = (struct book_line){ .slot = i, .s = &r->slot[i] };
		r->job[i].gpu_ppm[0] = id->job_gpu_ppm[0];
		r->job[i].gpu_instances[0] = id->job_gpu_instances[0];
		r->split[i] = (struct split_line){ .job = i, .kind = LINE_BATCH, .until_ns = UINT64_MAX };
	}
}

static void tell(struct run *r)
{
	unsigned int i;

	for (i = 0; i < r->gpu.n; i++) {
		const struct instance *p = &r->gpu.instance[i];

		r->told[i] = (struct gpu_instance_reading){ .gi = (uint8_t)i, .slices = (uint8_t)p->slices };
		gpu_values_forget(r->told[i].value);
		r->told[i].value[GPU_VALUE_SM_PPM] = (uint64_t)(p->sm * 1e6);
		r->told[i].value[GPU_VALUE_DRAM_PPM] = (uint64_t)(p->dram * 1e6);
	}
}

static void split(struct run *r, enum method m, struct split_input *in)
{
	static uint64_t work[WORK_WORDS];
	struct account line[JOBS_MAX], unallocated, system;
	unsigned int i;

	if (split_work_size(in->njobs, in->nlines) > sizeof(work) ||
	    split_tick(in, work, line, &unallocated, &system) < 0)
		exit(99);
	for (i = 0; i < r->gpu.n; i++) {
		r->gpu.instance[i].got_uj[m] += line[i].total_uj[DOMAIN_GPU] - line[i].static_uj[DOMAIN_GPU];
		r->gpu.booked_uj[m] += line[i].total_uj[DOMAIN_GPU];
	}
	r->gpu.booked_uj[m] += unallocated.total_uj[DOMAIN_GPU] + system.total_uj[DOMAIN_GPU];
}

/* The second before tick T has gone by. Energy is of that second, and the readings of the second before. */
static void look(struct run *r, unsigned int t)
{
	uint64_t now_ns = (100 + t) * SEC;
	struct part part = { .domain = DOMAIN_GPU, .source = SOURCE_NVML, .idle_mw = IDLE_MW };
	struct split_input in = { .from_ns = now_ns - SEC,
				  .until_ns = now_ns,
				  .part = &part,
				  .nparts = 1,
				  .job = r->job,
				  .njobs = r->gpu.n,
				  .line = r->split,
				  .nlines = r->gpu.n };
	struct tick tick = { .page = &r->page,
			     .book = { .t_mono_ns = now_ns },
			     .ngpus = 1,
			     .gpu = { { .from_ns = now_ns - 2 * SEC, .until_ns = now_ns - SEC } },
			     .slices = &r->slices,
			     .instance = r->told,
			     .ninstances = r->gpu.n,
			     .line = r->line,
			     .nlines = r->gpu.n };

	part.energy_uj = IDLE_MW * 1000 + (uint64_t)r->gpu.rest_uj;
	r->gpu.rest_uj -= (double)(uint64_t)r->gpu.rest_uj;
	r->gpu.shown_uj += part.energy_uj;
	split(r, BY_SIZE, &in);
	if (t > 1)
		gpuweights_fill(&r->weights, &tick);
	in.instance = tick.book.instance;
	in.ninstances = tick.book.ninstances;
	split(r, BY_ACTIVITY, &in);
}

/* --- results --------------------------------------------------------------------------------- */

struct result {
	struct errors by[METHODS];
	unsigned int unbalanced;
};

/* Errors of a job are relative to what it used above idle; if it was idle, to OTHERS_UJ. */
static void compare_job(const struct instance *p, double others_uj, struct result *ret)
{
	unsigned int m;

	for (m = 0; m < METHODS; m++) {
		double e = fabs((double)p->got_uj[m] - p->uj) / (p->uj > 0 ? p->uj : others_uj);

		ret->by[m].sum += e;
		ret->by[m].n++;
		ret->by[m].worst = fmax(ret->by[m].worst, e);
	}
}

static void compare(const struct gpu *g, struct result *ret)
{
	double all = 0;
	unsigned int i, m;

	for (i = 0; i < g->n; i++)
		all += g->instance[i].uj;
	for (i = 0; i < g->n; i++)
		if (!g->instance[i].left)
			compare_job(&g->instance[i], all / g->n, ret);
	for (m = 0; m < METHODS; m++)
		ret->unbalanced += g->booked_uj[m] != g->shown_uj;
}

/* Jobs that end with tick T: the next job on the instance, with another program, begins at once. */
static void end_jobs(struct run *r, unsigned int t, struct result *ret)
{
	unsigned int i;

	for (i = 0; i < r->gpu.n; i++) {
		struct instance *p = &r->gpu.instance[i];

		if (!r->line[i].is_last)
			continue;
		r->line[i].is_last = false;
		r->slot[i].t_open_mono_ns = (100 + t) * SEC + 1;
		compare_job(p, 0, ret);
		*p = instance_of(p->slices, p->eighths);
		p->left = 20 + (unsigned int)rnd(41);
	}
}

static void run(const struct kind *k, uint64_t seed, struct result *ret)
{
	static struct run r;
	unsigned int t, i;

	memset(&r, 0, sizeof(r));
	rng = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
	r.gpu.peak_w = between(350, 600);
	r.gpu.common_w = between(20, 90);
	k->make(&r.gpu);
	prepare(&r);
	for (t = 1; t <= TICKS; t++) {
		advance(&r.gpu, t);
		for (i = 0; i < r.gpu.n; i++)
			r.line[i].is_last = r.gpu.instance[i].left && --r.gpu.instance[i].left == 0;
		look(&r, t);
		tell(&r);
		end_jobs(&r, t, ret);
	}
	compare(&r.gpu, ret);
}

static double mean(const struct errors *e)
{
	return 100 * e->sum / e->n;
}

static void check(const struct kind *k, const struct result *r)
{
	const struct errors *activity = &r->by[BY_ACTIVITY], *size = &r->by[BY_SIZE];

	ok(!r->unbalanced, "%s: the jobs have what the counter showed, to the microjoule", k->name);
	ok(mean(activity) <= k->mean && 100 * activity->worst <= k->worst,
	   "%s: by activity within %g %%, and each within %g %%", k->name, k->mean, k->worst);
	if (k->times)
		ok(mean(size) >= k->times * mean(activity), "%s: by size at least %g times as wrong", k->name,
		   k->times);
	diag("by activity %.2f %%, the worst of %u %.2f %%; by size %.2f %%, %.2f %%", mean(activity),
	     activity->n, 100 * activity->worst, mean(size), 100 * size->worst);
}

static void print_row(const struct kind *k, const struct result *r)
{
	unsigned int m;

	printf("| %s |", k->name);
	for (m = 0; m < METHODS; m++)
		printf(" %.1f / %.1f |", mean(&r->by[m]), 100 * r->by[m].worst);
	printf("\n");
}

int main(int argc, char **argv)
{
	const char *text = getenv("ACCURACY_SEEDS");
	uint64_t seeds = text ? strtoull(text, NULL, 10) : SEEDS;
	bool is_table = argc > 1 && !strcmp(argv[1], "-m");
	uint64_t seed;
	size_t i;

	if (is_table)
		printf("| simulated: error above idle, mean / worst, %% | by activity | by size |\n"
		       "| --- | ---: | ---: |\n");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct result r = { 0 };

		for (seed = 1; seed <= seeds; seed++)
			run(&kinds[i], seed, &r);
		if (is_table)
			print_row(&kinds[i], &r);
		else
			check(&kinds[i], &r);
	}
	return is_table ? 0 : done_testing();
}
