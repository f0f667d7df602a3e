/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Energy of GPUs with MIG instances: by cases, and over random nodes. A second ledger has the same node
 * without readings of the instances, so that its split is by size. The test sets the clock; readings come
 * behind each tick, as from ceems-gpu.
 */
#include "src/libnode/gpuweights.h"

#include <math.h>
#include <stdlib.h>

#include "fake_sampler.h"
#include "rnd.h"
#include "scratch.h"
#include "src/libutil/util.h"
#include "tap.h"

#define SEC NSEC_PER_SEC
#define MS NSEC_PER_MSEC
#define START_NS (1000 * SEC)
#define UNITS 4
#define GI_MAX 7
#define JOBS_MAX (UNITS * GI_MAX)
#define NODES 1000
#define TICKS 7
#define UNKNOWN GPU_VALUE_UNKNOWN
#define NOBODY JOBS_MAX

static char dir[] = SCRATCH_TEMPLATE;

struct instance {
	unsigned int slices, eighths; /* of 7 compute slices, and of the memory */
	uint64_t sm, dram;	      /* ppm, or UNKNOWN */
	unsigned int job;	      /* index of its holder, or NOBODY */
	bool has_no_reading;
};

struct unit {
	struct instance instance[GI_MAX];
	unsigned int n;
	uint64_t energy_uj, idle_mw; /* of the next tick */
	bool has_shard;		     /* a job holds a part that is no instance */
	uint64_t from_ns, until_ns;  /* of the last reading */
};

struct job {
	unsigned int unit;
	unsigned int slot[2][3]; /* by ledger; the steps: batch or extern, and srun steps */
	unsigned int nsteps;
	uint32_t step_id[3];
	uint16_t held[3];
	bool has_ended;
};

static struct {
	struct fake_sampler by[2]; /* activity, size */
	struct gpuweights weights;
	struct gpu_slices slices;
	struct unit unit[UNITS];
	unsigned int nunits;
	struct job job[JOBS_MAX];
	unsigned int njobs;
	uint64_t now_ns; /* of the last tick */
	bool has_slices;
} node;

/* What an account got in the last tick, of GPUs. */
struct got {
	uint64_t total_uj, static_uj, by_activity_uj;
};
static struct got job_got[2][JOBS_MAX], unallocated_got[2];
static uint64_t shown_uj; /* by all GPUs in the last tick */

static uint32_t size_ppm(const struct instance *g)
{
	return (1000000 * g->slices / 7 + 1000000 * g->eighths / 8) / 2;
}

static double activity_of(const struct instance *g)
{
	return 2 * (double)g->sm * g->slices / 7 + (double)g->dram * g->eighths / 8;
}

static void begin(unsigned int units)
{
	struct errmsg err = { 0 };
	unsigned int i;

	memset(&node, 0, sizeof(node));
	node.nunits = units;
	node.has_slices = true;
	for (i = 0; i < 2; i++)
		if (fake_start(&node.by[i], dir, i ? "size" : "activity", &err) < 0) {
			diag("%s", err.text);
			exit(99);
		}
}

static void end(void)
{
	fake_stop(&node.by[0]);
	fake_stop(&node.by[1]);
	scratch_clear(dir);
}

static unsigned int add_instance(unsigned int unit, unsigned int slices, unsigned int eighths, uint64_t sm,
				 uint64_t dram)
{
	struct unit *u = &node.unit[unit];

	u->instance[u->n] = (struct instance){ slices, eighths, sm, dram, NOBODY, false };
	return u->n++;
}

/* A job of one step, which begins AFTER the start. Further steps by add_step(). */
static unsigned int add_job(unsigned int unit, uint32_t step_id, uint16_t held)
{
	struct job *j = &node.job[node.njobs];
	unsigned int gi;

	*j = (struct job){ .unit = unit, .nsteps = 1, .step_id = { step_id }, .held = { held } };
	for (gi = 0; gi < node.unit[unit].n; gi++)
		if (held & 1u << gi)
			node.unit[unit].instance[gi].job = node.njobs;
	return node.njobs++;
}

static void add_step(unsigned int job, uint32_t step_id, uint16_t held)
{
	struct job *j = &node.job[job];

	j->step_id[j->nsteps] = step_id;
	j->held[j->nsteps++] = held;
}

static uint32_t ppm_of(const struct unit *u, uint16_t held)
{
	uint32_t sum = 0;
	unsigned int gi;

	for (gi = 0; gi < u->n; gi++)
		sum += held & 1u << gi ? size_ppm(&u->instance[gi]) : 0;
	return sum;
}

static void claim(unsigned int job, uint64_t after_ns)
{
	struct job *j = &node.job[job];
	const struct unit *u = &node.unit[j->unit];
	unsigned int i, k;

	for (i = 0; i < j->nsteps; i++) {
		struct ledger_identity id = { .job_id = job + 1,
					      .step_id = j->step_id[i],
					      .job_cpus = 1,
					      .step_cpus = 1,
					      .node_count = 1 };

		id.job_gpu_instances[j->unit] = j->held[0];
		id.job_gpu_ppm[j->unit] = ppm_of(u, j->held[0]);
		id.step_gpu_instances[j->unit] = j->held[i];
		id.step_gpu_ppm[j->unit] = ppm_of(u, j->held[i]);
		for (k = 0; k < 2; k++) {
			if (ledger_claim(node.by[k].l, &id, &j->slot[k][i]) < 0)
				exit(99);
			ledger_slot(node.by[k].l, j->slot[k][i])->t_open_mono_ns = START_NS + after_ns;
		}
	}
}

static void finish(unsigned int job, uint64_t after_ns)
{
	struct job *j = &node.job[job];
	unsigned int i, k;

	j->has_ended = true;
	for (i = 0; i < j->nsteps; i++)
		for (k = 0; k < 2; k++) {
			struct ledger_slot *s = ledger_slot(node.by[k].l, j->slot[k][i]);

			s->t_close_mono_ns = START_NS + after_ns;
			atomic_store(&s->state, SLOT_CLOSING);
		}
}

/* --- a tick ---------------------------------------------------------------------------------- */

static void tell_slices(void)
{
	unsigned int u, gi;

	node.slices.n = 0;
	for (u = 0; u < node.nunits && node.has_slices; u++) {
		node.slices.slice[node.slices.n++] = (struct gpu_slice){ .unit = (uint8_t)u,
									 .gi = GPU_SLICE_WHOLE,
									 .slices = 7,
									 .gi_slices = 7,
									 .mem_mb = 80000 };
		for (gi = 0; gi < node.unit[u].n; gi++) {
			const struct instance *g = &node.unit[u].instance[gi];

			node.slices.slice[node.slices.n++] = (struct gpu_slice){
				.unit = (uint8_t)u,
				.gi = (uint8_t)gi,
				.slices = (uint8_t)g->slices,
				.gi_slices = (uint8_t)g->slices,
				.mem_mb = g->eighths * 10000,
			};
		}
	}
}

static size_t readings(struct gpu_instance_reading *ret)
{
	unsigned int u, gi;
	size_t n = 0;

	for (u = 0; u < node.nunits; u++)
		for (gi = 0; gi < node.unit[u].n; gi++) {
			const struct instance *g = &node.unit[u].instance[gi];

			if (g->has_no_reading)
				continue;
			ret[n] = (struct gpu_instance_reading){ .unit = (uint8_t)u,
								.gi = (uint8_t)gi,
								.slices = (uint8_t)g->slices };
			gpu_values_forget(ret[n].value);
			ret[n].value[GPU_VALUE_SM_PPM] = g->sm;
			ret[n++].value[GPU_VALUE_DRAM_PPM] = g->dram;
		}
	return n;
}

static struct got of_gpus(const struct account *a)
{
	return (struct got){ a->total_uj[DOMAIN_GPU], a->static_uj[DOMAIN_GPU], a->by_activity_uj };
}

static struct got less(struct got a, struct got b)
{
	return (struct got){ a.total_uj - b.total_uj, a.static_uj - b.static_uj,
			     a.by_activity_uj - b.by_activity_uj };
}

static struct got of_job(unsigned int k, const struct ledger_page *page, unsigned int job)
{
	const struct job *j = &node.job[job];
	struct got sum = { 0 };
	unsigned int i;

	for (i = 0; i < j->nsteps; i++) {
		struct got g = of_gpus(&page->step[j->slot[k][i]].energy);

		sum.total_uj += g.total_uj;
		sum.static_uj += g.static_uj;
		sum.by_activity_uj += g.by_activity_uj;
	}
	return sum;
}

/* One ledger's tick; its page is as before or after it when WHEN is -1 or 1. */
static void note_got(unsigned int k, int when)
{
	const struct ledger_page *page = ledger_current(node.by[k].l);
	struct got before[JOBS_MAX];
	struct got unallocated = unallocated_got[k];
	unsigned int i;

	memcpy(before, job_got[k], sizeof(before));
	for (i = 0; i < node.njobs; i++) {
		struct got now = of_job(k, page, i);

		job_got[k][i] = when < 0 ? now : less(now, before[i]);
	}
	unallocated_got[k] = when < 0 ? of_gpus(&page->unallocated) :
					less(of_gpus(&page->unallocated), unallocated);
}

static void book(unsigned int k, uint64_t now_ns)
{
	static struct gpu_instance_reading instance[JOBS_MAX];
	struct fake_sampler *f = &node.by[k];
	struct part part[UNITS];
	struct tick t = {
		.page = ledger_begin(f->l),
		.book = { .t_mono_ns = now_ns, .node_cpus = 8, .part = part, .nparts = node.nunits },
		.ngpus = node.nunits,
		.slices = &node.slices,
		.instance = instance,
		.ninstances = k ? 0 : readings(instance),
	};
	unsigned int u;

	for (u = 0; u < node.nunits; u++) {
		part[u] = (struct part){ .domain = DOMAIN_GPU,
					 .unit = (uint8_t)u,
					 .source = SOURCE_NVML,
					 .energy_uj = node.unit[u].energy_uj,
					 .idle_mw = node.unit[u].idle_mw };
		t.gpu[u] = (struct gpu_reading){ .unit = (uint8_t)u,
						 .from_ns = node.unit[u].from_ns,
						 .until_ns = node.unit[u].until_ns };
		gpu_values_forget(t.gpu[u].value);
	}
	t.nlines = ledger_book_collect(f->b, t.page, now_ns, &t.line);
	for (u = 0; u < t.nlines && node.unit[0].has_shard; u++)
		if (t.line[u].s->id.job_id == 1)
			ledger_slot(f->l, t.line[u].slot)->id.job_gpu_instances[0] = 0;
	gpuweights_fill(&node.weights, &t);
	if (ledger_book_apply(f->b, t.page, &t.book) < 0)
		exit(99);
	note_got(k, -1);
	ledger_turn(f->l);
	note_got(k, 1);
}

/* A tick AFTER the start, and a reading behind it. */
static void tick_at(uint64_t after_ns)
{
	unsigned int u;

	tell_slices();
	for (shown_uj = 0, u = 0; u < node.nunits; u++)
		shown_uj += node.now_ns ? node.unit[u].energy_uj : 0;
	node.now_ns = START_NS + after_ns;
	book(0, node.now_ns);
	book(1, node.now_ns);
	for (u = 0; u < node.nunits; u++) {
		node.unit[u].from_ns = node.unit[u].until_ns ? node.unit[u].until_ns : node.now_ns + 5 * MS;
		node.unit[u].until_ns = node.now_ns + 5 * MS;
	}
}

/* --- cases ----------------------------------------------------------------------------------- */

static uint64_t dynamic_of(unsigned int job)
{
	return job_got[0][job].total_uj - job_got[0][job].static_uj;
}

static bool is_by_size(unsigned int job)
{
	return job_got[0][job].total_uj == job_got[1][job].total_uj && !job_got[0][job].by_activity_uj;
}

/* Two jobs on a 3g.40gb and a 4g.40gb; 100 W idle, 300 W now. The second of the two is active. */
static void begin_two(void)
{
	begin(1);
	add_instance(0, 3, 4, 0, 0);
	add_instance(0, 4, 4, 600000, 300000);
	claim(add_job(0, LEDGER_STEP_BATCH, 1), 0);
	claim(add_job(0, LEDGER_STEP_BATCH, 2), 0);
	node.unit[0].energy_uj = 300000000;
	node.unit[0].idle_mw = 100000;
	tick_at(SEC);
	tick_at(2 * SEC);
	tick_at(3 * SEC);
}

static void test_two(void)
{
	begin_two();
	is_u64(dynamic_of(0), 0, "who is idle has nothing of the dynamic energy");
	is_u64(job_got[0][0].static_uj, 46428500, "  but its part of the idle energy, by size");
	is_u64(dynamic_of(1), 200000000, "who is active has all of it");
	is_u64(job_got[0][1].by_activity_uj, 200000000, "  and the account says how that was split");
	ok(job_got[1][0].total_uj > 3 * job_got[0][0].total_uj / 2,
	   "by size the idle job pays for the other");
	node.unit[0].instance[0].sm = 200000;
	node.unit[0].instance[0].dram = 0;
	tick_at(4 * SEC);
	/* 2 x 0.2 x 3/7 beside 2 x 0.6 x 4/7 + 0.3 x 4/8 */
	is_u64(dynamic_of(0) / 1000, 34042, "two active ones: by SM and DRAM activity and size");
	is_u64(dynamic_of(0) + dynamic_of(1), 200000000, "  in all what the counter showed above idle");
	end();
}

/* One thing that is wrong in a tick: the GPU is split by size, and by activity again when all is well. */
static void test_fallback(void)
{
	static const char *const what[] = {
		"SM activity of one is not known",
		"DRAM activity of one is not known",
		"an instance has no reading",
		"a value above 100 %",
		"none is active",
		"the GPU's idle power is not known",
		"the reading is of an instant",
		"the reading is too short for the tick",
		"the sizes are not known",
		"a job holds a part that is no instance",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		struct unit *u = &node.unit[0];

		begin_two();
		if (i == 0)
			u->instance[0].sm = UNKNOWN;
		else if (i == 1)
			u->instance[1].dram = UNKNOWN;
		else if (i == 2)
			u->instance[0].has_no_reading = true;
		else if (i == 3)
			u->instance[1].sm = 1000001;
		else if (i == 4)
			u->instance[1].sm = u->instance[1].dram = 0;
		else if (i == 5)
			u->idle_mw = 0;
		else if (i == 6)
			u->from_ns = u->until_ns;
		else if (i == 7)
			u->energy_uj *= 17;
		else if (i == 8)
			node.has_slices = false;
		else if (i == 9)
			u->has_shard = true;
		tick_at(i == 7 ? 20 * SEC : 4 * SEC);
		ok(is_by_size(0) && is_by_size(1), "%s: by size", what[i]);
		if (i == 0) {
			u->instance[0].sm = 0;
			tick_at(5 * SEC);
			ok(!is_by_size(1), "and by activity when it is known again");
		}
		end();
	}
}

/* A reading may be of another job than the one that holds the instance now. */
static void test_change(void)
{
	unsigned int job;

	begin_two();
	finish(1, 3 * SEC + 500 * MS);
	tick_at(3 * SEC + 500 * MS);
	is_u64(dynamic_of(1), 250000000, "a job's last tick, of half a second: by activity");
	tick_at(4 * SEC);
	ok(is_by_size(0), "after it has left, a reading of its time is not used");
	node.unit[0].instance[1].sm = node.unit[0].instance[1].dram = 0;
	node.unit[0].instance[0].sm = 500000;
	tick_at(5 * SEC);
	tick_at(6 * SEC);
	is_u64(dynamic_of(0), 200000000, "a later one is");
	node.unit[0].instance[1].sm = 900000;
	job = add_job(0, LEDGER_STEP_BATCH, 2);
	claim(job, 6 * SEC + 500 * MS);
	tick_at(7 * SEC);
	ok(is_by_size(0) && is_by_size(job), "a job has begun: no reading is of it alone");
	tick_at(8 * SEC);
	ok(is_by_size(job), "  nor is the reading that was half over");
	tick_at(9 * SEC);
	is_u64(dynamic_of(job) / 1000000, 141, "  but the next one");
	end();
}

static void test_steps(void)
{
	unsigned int two, gi;

	begin(1);
	for (gi = 0; gi < 7; gi++)
		add_instance(0, 1, 1, 0, 0);
	two = add_job(0, LEDGER_STEP_BATCH, 1u << 2 | 1u << 3);
	add_step(two, 0, 1u << 3);
	claim(two, 0);
	claim(add_job(0, LEDGER_STEP_EXTERN, 1u << 5), 0);
	node.unit[0].instance[2].sm = 0;
	node.unit[0].instance[3].sm = 500000;
	node.unit[0].instance[5].sm = 500000;
	node.unit[0].energy_uj = 300000000;
	node.unit[0].idle_mw = 100000;
	tick_at(SEC);
	tick_at(2 * SEC);
	tick_at(3 * SEC);
	is_u64(dynamic_of(two), 100000000, "a job of two instances");
	is_u64(ledger_current(node.by[0].l)->step[node.job[two].slot[0][0]].energy.by_activity_uj, 0,
	       "  its batch step has the idle one");
	is_u64(dynamic_of(1), 100000000, "a job that has only an extern step");
	node.unit[0].instance[6].sm = 1000000;
	tick_at(4 * SEC);
	is_u64(unallocated_got[0].by_activity_uj, 100000000,
	       "activity on an instance of no job is unallocated");
	end();
}

/* Two jobs, each on a compute instance of one GPU instance: GPM shows only the GPU instance. */
static void test_compute_instances(void)
{
	struct ledger_slot *s;
	unsigned int i;

	begin(1);
	add_instance(0, 3, 4, 600000, 0);
	add_instance(0, 4, 4, 0, 0);
	claim(add_job(0, 0, 1), 0);
	claim(add_job(0, 0, 1), 0);
	for (i = 0; i < 2; i++) {
		s = ledger_slot(node.by[0].l, node.job[i].slot[0][0]);
		s->id.job_gpu_ppm[0] = s->id.step_gpu_ppm[0] = 150000 * (i + 1);
	}
	node.unit[0].energy_uj = 400000000;
	node.unit[0].idle_mw = 100000;
	tick_at(SEC);
	tick_at(2 * SEC);
	tick_at(3 * SEC);
	is_u64(dynamic_of(0), 100000000, "compute instances of one instance share its part by size");
	is_u64(dynamic_of(1), 200000000, "  twice the size, twice the energy");
	end();
}

/* --- random nodes ---------------------------------------------------------------------------- */

static void random_unit(unsigned int unit)
{
	static const struct {
		unsigned int slices, eighths;
	} profile[] = { { 1, 1 }, { 1, 1 }, { 1, 2 }, { 2, 2 }, { 3, 4 }, { 4, 4 }, { 7, 8 } };
	unsigned int slices = 7, eighths = 8, i, p;
	uint16_t held = 0;

	for (i = 0; i < 20; i++) {
		p = (unsigned int)rnd(ARRAY_SIZE(profile));
		if (profile[p].slices > slices || profile[p].eighths > eighths)
			continue;
		slices -= profile[p].slices;
		eighths -= profile[p].eighths;
		add_instance(unit, profile[p].slices, profile[p].eighths, 0, 0);
	}
	for (i = 0; i < node.unit[unit].n; i++) {
		unsigned int job;

		held |= (uint16_t)(1u << i);
		if (!rnd(4)) /* the next job has it, too */
			continue;
		if (!rnd(5)) { /* nobody has it */
			held = 0;
			continue;
		}
		job = add_job(unit, rnd(2) ? LEDGER_STEP_BATCH : LEDGER_STEP_EXTERN, held);
		if (rnd(2))
			add_step(job, 0, held & (uint16_t)(1u << i));
		claim(job, rnd(500) * MS);
		held = 0;
	}
}

/* Now and then a value of an instance is missing, idle power is not known, or all is idle energy. */
static void random_load(struct unit *u)
{
	unsigned int gi;

	u->idle_mw = rnd(20) ? 50000 + rnd(100000) : 0;
	u->energy_uj = rnd(30) ? u->idle_mw * 1000 + rnd(600000000) : rnd(u->idle_mw * 1000 + 1);
	for (gi = 0; gi < u->n; gi++) {
		bool is_idle = !rnd(3);

		u->instance[gi].sm = is_idle ? 0 : rnd(1000001);
		u->instance[gi].dram = is_idle ? 0 : rnd(1000001);
	}
	if (u->n && !rnd(12)) {
		struct instance *g = &u->instance[rnd(u->n)];

		*(rnd(2) ? &g->sm : &g->dram) = UNKNOWN;
	}
}

/* Whether the next tick is to split GPU U by activity. CHANGED_NS: when a job last left the GPU. */
static bool may_by_activity(const struct unit *u, uint64_t changed_ns, double *ret_sum)
{
	unsigned int gi;

	*ret_sum = 0;
	for (gi = 0; gi < u->n; gi++) {
		if (u->instance[gi].sm == UNKNOWN || u->instance[gi].dram == UNKNOWN)
			return false;
		*ret_sum += activity_of(&u->instance[gi]);
	}
	return *ret_sum > 0 && u->idle_mw && u->from_ns < u->until_ns && changed_ns <= u->from_ns;
}

static struct {
	unsigned int sums, negative, idle, share, size, checked, by_activity;
} seen;

static void check_job(unsigned int job, bool by_activity, double sum)
{
	const struct unit *u = &node.unit[node.job[job].unit];
	const struct got *g = &job_got[0][job];
	double own = 0, dynamic_uj;
	unsigned int gi;

	seen.checked++;
	seen.negative += g->static_uj > g->total_uj || g->total_uj > shown_uj;
	if (!by_activity) {
		seen.size += !is_by_size(job);
		return;
	}
	for (gi = 0; gi < u->n; gi++)
		own += u->instance[gi].job == job ? activity_of(&u->instance[gi]) : 0;
	dynamic_uj = (double)(u->energy_uj > u->idle_mw * 1000 ? u->energy_uj - u->idle_mw * 1000 : 0);
	seen.by_activity++;
	seen.idle += own == 0 && (g->total_uj != g->static_uj || g->static_uj != job_got[1][job].static_uj);
	/* activity is counted in millionths of a GPU */
	seen.share += fabs((double)(g->total_uj - g->static_uj) - dynamic_uj * own / sum) >
			      1 + dynamic_uj * 8e6 / sum ||
		      g->by_activity_uj != g->total_uj - g->static_uj;
}

static void check_tick(const bool *by_activity, const double *sum)
{
	uint64_t got_uj = unallocated_got[0].total_uj;
	const struct ledger_page *page = ledger_current(node.by[0].l);
	unsigned int i;

	for (i = 0; i < node.njobs; i++) {
		got_uj += job_got[0][i].total_uj;
		check_job(i, by_activity[node.job[i].unit], sum[node.job[i].unit]);
	}
	seen.sums += got_uj != shown_uj || ledger_page_error_uj(page) || page->conservation_error_uj;
}

static void random_node(void)
{
	uint64_t changed_ns[UNITS] = { 0 };
	bool by_activity[UNITS];
	double sum[UNITS];
	unsigned int i, u;

	begin(1 + (unsigned int)rnd(UNITS));
	for (u = 0; u < node.nunits; u++)
		random_unit(u);
	for (i = 1; i <= TICKS; i++) {
		unsigned int ends = node.njobs && !rnd(4) ? (unsigned int)rnd(node.njobs) : NOBODY;

		for (u = 0; u < node.nunits; u++) {
			random_load(&node.unit[u]);
			by_activity[u] = may_by_activity(&node.unit[u], changed_ns[u], &sum[u]);
		}
		if (ends != NOBODY && !node.job[ends].has_ended)
			finish(ends, i * SEC - 1);
		else
			ends = NOBODY;
		tick_at(i * SEC);
		if (i > 1)
			check_tick(by_activity, sum);
		if (ends != NOBODY)
			changed_ns[node.job[ends].unit] = node.now_ns;
		for (u = 0; ends != NOBODY && u < node.unit[node.job[ends].unit].n; u++)
			if (node.unit[node.job[ends].unit].instance[u].job == ends)
				node.unit[node.job[ends].unit].instance[u].job = NOBODY;
	}
	end();
}

static void test_random(void)
{
	const char *env = getenv("GPUWEIGHTS_SEED");
	uint64_t seed = env ? strtoull(env, NULL, 0) : clock_wall_ns() | 1;
	unsigned int i;

	diag("%d random nodes; again with GPUWEIGHTS_SEED=%" PRIu64, NODES, seed);
	rng = seed ? seed : 1;
	for (i = 0; i < NODES; i++)
		random_node();
	is_u64(seen.sums, 0, "jobs + unallocated = what the counters showed, to the microjoule");
	is_u64(seen.negative, 0, "nobody has less than its static part, or more than there was");
	is_u64(seen.idle, 0, "an idle instance has no dynamic energy at all");
	is_u64(seen.share, 0, "the others have it by their activity, and say so");
	is_u64(seen.size, 0, "by size to the microjoule where anything is not known");
	ok(seen.by_activity > seen.checked / 4 && seen.by_activity < seen.checked,
	   "both happened: %u of %u accounts of a tick by activity", seen.by_activity, seen.checked);
}

int main(void)
{
	alarm(200);
	if (!mkdtemp(dir))
		return 99;
	test_two();
	test_fallback();
	test_change();
	test_steps();
	test_compute_instances();
	test_random();
	(void)rmdir(dir);
	return done_testing();
}
