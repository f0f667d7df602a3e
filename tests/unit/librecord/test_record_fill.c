/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of a record from its row and the steps: which one counts, and when the record is final.
 */
#include "src/librecord/record_fill.h"

#include <stdlib.h>

#include "src/libcore/idle_energy.h"
#include "src/librecord/lower_bound.h"
#include "src/libutil/util.h"

#include "tap.h"

#define EXTERN UINT32_C(0xfffffffc)
#define BATCH UINT32_C(0xfffffffb)
#define NONE ((struct maybe_u64){ 0 })
#define KNOWN(j) ((struct maybe_u64){ (j), true })

static struct settings settings = { .pue_milli = 1000, .market_mg_per_kwh = SETTINGS_NO_MARKET };

static const struct {
	const char *what;
	struct maybe_u64 row;
	bool ended, with_extern, with_steps, unmeasured, zero_steps;
	struct maybe_u64 want;
} energies[] = {
	{ "nobody knows", .ended = true },
	{ "the row only", KNOWN(5), .ended = true, .want = KNOWN(5) },
	{ "the row before the steps", KNOWN(5), .with_steps = true, .with_extern = true, .want = KNOWN(5) },
	{ "zero is an answer", KNOWN(0), .want = KNOWN(0) },
	{ "but not where the steps have joules", KNOWN(0), .with_steps = true, .want = KNOWN(15) },
	{ "nor where the extern step has", KNOWN(0), .with_steps = true, .with_extern = true,
	  .want = KNOWN(30) },
	{ "the row before steps without extern", KNOWN(6), .with_steps = true, .want = KNOWN(6) },
	{ "the extern step, when no row has it", .with_steps = true, .with_extern = true, .want = KNOWN(30) },
	{ "the steps' sum without extern", .with_steps = true, .want = KNOWN(15) },
	{ "AcctGatherEnergyType=none: a zero is no answer", KNOWN(0), .unmeasured = true, .ended = true,
	  .with_steps = true, .with_extern = true, .zero_steps = true },
	{ "nor where the row has no energy", .unmeasured = true, .with_steps = true, .zero_steps = true },
	{ "nor without steps", KNOWN(0), .unmeasured = true },
	{ "but the row's joules are, of another node or time", KNOWN(6), .unmeasured = true, .ended = true,
	  .with_steps = true, .with_extern = true, .want = KNOWN(6) },
	{ "and the steps'", KNOWN(0), .unmeasured = true, .with_steps = true, .with_extern = true,
	  .want = KNOWN(30) },
};

static void zero_steps(struct record *r)
{
	size_t i;

	for (i = 0; i < r->nsteps; i++)
		values_set(&r->steps[i].values, METRIC_ENERGY, 0);
}

static struct record *job(bool with_steps, bool with_extern)
{
	struct record *r = record_create();
	size_t i;

	r->cluster = strdup("c");
	r->job_id = 1;
	r->start = 1700000000;
	r->tres_alloc = strdup("cpu=1,node=1");
	r->steps_known = with_steps;
	r->nsteps = with_steps ? 2 + with_extern : 0;
	r->steps = calloc(3, sizeof(*r->steps));
	for (i = 0; i < r->nsteps; i++) {
		struct values *f = &r->steps[i].values;

		values_init(f);
		r->steps[i].step_id = i == 2 ? EXTERN : i == 0 ? BATCH : 0;
		values_set(f, METRIC_ENERGY, i == 2 ? 30000000 : 5000000 + i * 5000000);
		values_set(f, METRIC_SOURCE_MODEL, 1000000);
		values_set(f, METRIC_IO_READ_BYTES, 100);
	}
	return r;
}

/* Completes R, a job that has ended; ROW is the energy of its row. */
static void fill(struct record *r, struct maybe_u64 row, bool unmeasured, const struct factor_chain *chain)
{
	r->energy.row_j = row;
	r->energy.final = true;
	(void)record_fill(r, unmeasured, chain, &settings);
}

static void test_energy(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(energies); i++) {
		struct record *r = job(energies[i].with_steps, energies[i].with_extern);
		const struct maybe_u64 *got = &r->energy.total_j;

		if (energies[i].zero_steps)
			zero_steps(r);
		r->energy.row_j = energies[i].row;
		r->energy.final = energies[i].ended;
		(void)record_fill(r, energies[i].unmeasured, NULL, &settings);
		ok(got->known == energies[i].want.known && got->value == energies[i].want.value,
		   "%s: %" PRIu64, energies[i].what, got->value);
		ok(r->energy.final == energies[i].ended && !values_has(&r->values, METRIC_CO2E),
		   "final as in the table; without a factor no emissions");
		record_destroy(r);
	}
}

/* Whether sensors measured it, on all nodes. */
static void test_quality(void)
{
	static const struct {
		const char *what;
		uint32_t nnodes;
		uint64_t known; /* nodes; UINT64_MAX: not told */
		uint64_t rapl_uj, model_uj;
		const char *quality;
	} t[] = {
		{ "no TRES that says", 2, UINT64_MAX, 1, 0, "" },
		{ "all nodes", 2, 2, 1, 0, "measured" },
		{ "a node that lost its sensor", 2, 1, 1, 0, "lower-bound" },
		{ "the only node", 1, 0, 1, 0, "lower-bound" },
		{ "a model", 2, 2, 0, 1, "estimate" },
		{ "a model on some nodes", 2, 2, 1, 1, "partly-estimate" },
		{ "a model, as a sensor was lost", 1, 0, 0, 1, "lower-bound" },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct record *r = job(true, true);

		for (k = 0; k < r->nsteps; k++) {
			struct values *f = &r->steps[k].values;

			r->steps[k].nnodes = t[i].nnodes;
			values_set(f, METRIC_SOURCE_RAPL, t[i].rapl_uj);
			values_set(f, METRIC_SOURCE_MODEL, t[i].model_uj);
			if (t[i].known != UINT64_MAX)
				values_set(f, METRIC_ENERGY_NODES, t[i].known);
		}
		fill(r, KNOWN(30), /* unmeasured= */ false, NULL);
		is_str(r->energy.quality, t[i].quality, t[i].what);
		record_destroy(r);
	}
}

/* Which sensors failed, on any node and in any step. */
static void test_missing(void)
{
	static const struct {
		const char *what;
		uint64_t batch, extern_step; /* METRIC_ENERGY_DOUBT; 0: none */
		const char *missing;
		uint64_t packed;
	} t[] = {
		{ "no doubt", 0, 0, "", UINT64_MAX },
		{ "a package", 0, 5000, "cpu: stood still", 5000 },
		{ "a GPU and a dead psys", 0, 51, "gpu: stood still; other: never counted", 51 },
		{ "each step has another", 40, 3002,
		  "cpu: had no new readings; gpu: could not be read; other: lacks a part", 3042 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct record *r = job(true, true);

		if (t[i].batch)
			values_set(&r->steps[0].values, METRIC_ENERGY_DOUBT, t[i].batch);
		if (t[i].extern_step)
			values_set(&r->steps[r->nsteps - 1].values, METRIC_ENERGY_DOUBT, t[i].extern_step);
		fill(r, KNOWN(30), /* unmeasured= */ false, NULL);
		is_str(r->energy.missing, t[i].missing, t[i].what);
		is_u64(values_has(&r->values, METRIC_ENERGY_DOUBT) ? r->values.value[METRIC_ENERGY_DOUBT] :
								     UINT64_MAX,
		       t[i].packed, "  as a number");
		record_destroy(r);
	}
}

/* The job is as its extern step, which has all energy of the job; without it, as the worst of its steps. */
static void test_late_step(void)
{
	static const struct {
		const char *what;
		bool has_extern;
		uint64_t known[3],
			late[3]; /* of the batch step, step 0 and the extern step; of two nodes each */
		const char *quality, *why;
	} t[] = {
		{ "a late step, whole extern step", true, { 2, 1, 2 }, { 0, 1, 0 }, "measured", "" },
		{ "a node is missing in a step only", true, { 2, 1, 2 }, { 0, 0, 0 }, "measured", "" },
		{ "late extern step", true, { 2, 2, 1 }, { 0, 0, 1 }, "lower-bound", "last tick came late" },
		{ "a node is missing",
		  true,
		  { 1, 1, 1 },
		  { 0, 0, 0 },
		  "lower-bound",
		  "a node did not report" },
		{ "one late, one missing",
		  true,
		  { 2, 2, 0 },
		  { 0, 0, 1 },
		  "lower-bound",
		  "a node did not report" },
		{ "no extern step", false, { 2, 1 }, { 0, 1 }, "lower-bound", "last tick came late" },
		{ "no extern step, all whole", false, { 2, 2 }, { 0, 0 }, "measured", "" },
		{ "no extern step, the worse counts",
		  false,
		  { 1, 1 },
		  { 1, 0 },
		  "lower-bound",
		  "a node did not report" },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct record *r = job(true, t[i].has_extern);

		for (k = 0; k < r->nsteps; k++) {
			struct values *f = &r->steps[k].values;

			r->steps[k].nnodes = 2;
			values_miss(f, METRIC_SOURCE_MODEL, REASON_NOT_MEASURED);
			values_set(f, METRIC_SOURCE_RAPL, 1);
			values_set(f, METRIC_ENERGY_NODES, t[i].known[k]);
			values_set(f, METRIC_LATE_NODES, t[i].late[k]);
		}
		fill(r, KNOWN(30), /* unmeasured= */ false, NULL);
		is_str(r->energy.quality, t[i].quality, t[i].what);
		is_str(lower_bound_text(lower_bound_of(r)), t[i].why, "  why");
		record_destroy(r);
	}
}

/* Slurm adds up the static energy of the nodes that know theirs. */
static void test_part_of_idle(void)
{
	struct record *r = job(true, true);
	struct values *f = &r->steps[2].values;
	struct idle_energy idle;

	values_set(f, METRIC_ENERGY, 3000000000);
	values_set(f, METRIC_CPU_ENERGY, 2000000000);
	values_set(f, METRIC_GPU_ENERGY, 1000000000);
	values_set(f, METRIC_CPU_ENERGY_STATIC, 500000000);
	values_set(f, METRIC_IDLE_UNKNOWN, 1000000000);
	fill(r, KNOWN(3000), /* unmeasured= */ false, NULL);
	ok(values_has(&r->values, METRIC_CPU_ENERGY_STATIC), "idle unknown of the GPUs: the CPUs' is known");
	is_int(r->values.reason[METRIC_GPU_ENERGY_STATIC], REASON_NO_IDLE, "  the GPUs' is not, and why");
	ok(idle_energy_of(&r->values, &idle) && idle.idle_uj == 500000000 && idle.of_uj == 2000000000 &&
		   !idle.is_whole,
	   "  of the CPUs' energy it is known");
	values_set(f, METRIC_IDLE_UNKNOWN, 2000000000);
	fill(r, KNOWN(3000), /* unmeasured= */ false, NULL);
	ok(!values_has(&r->values, METRIC_CPU_ENERGY_STATIC),
	   "one of two nodes does not know the CPUs' either");
	ok(!idle_energy_of(&r->values, &idle), "  nothing is known for sure");
	record_destroy(r);
}

/* Slurm shows 0 J for a job whose extern step ended without reporting. */
static void test_untold(void)
{
	struct record *r = job(true, true);
	size_t i;

	values_init(&r->steps[2].values);
	fill(r, KNOWN(0), /* unmeasured= */ false, NULL);
	is_u64(r->energy.total_j.value, 15, "the other steps' sum");
	is_str(r->tres_alloc, "cpu=1,energy=15,node=1", "also in tres_alloc");
	is_str(r->energy.source, "model", "with their source");
	record_destroy(r);

	r = job(true, true);
	for (i = 0; i < r->nsteps; i++)
		values_init(&r->steps[i].values);
	fill(r, KNOWN(0), /* unmeasured= */ false, NULL);
	ok(!r->energy.total_j.known && !values_has(&r->values, METRIC_ENERGY), "no step reported: unknown");
	ok(r->energy.final, "and final");
	is_str(r->tres_alloc, "cpu=1,node=1", "no energy in tres_alloc");
	record_destroy(r);

	r = job(false, false);
	r->steps_known = true;
	free(r->tres_alloc);
	r->tres_alloc = strdup("cpu=1,energy=0,node=1");
	fill(r, KNOWN(0), /* unmeasured= */ false, NULL);
	ok(!r->energy.total_j.known && r->energy.final, "no step at all: unknown and final");
	is_str(r->tres_alloc, "cpu=1,node=1", "also in tres_alloc, where slurmdbd has 0");
	record_destroy(r);

	r = job(false, false);
	fill(r, KNOWN(0), /* unmeasured= */ false, NULL);
	ok(r->energy.total_j.known && r->energy.total_j.value == 0,
	   "steps are not known: Slurm's 0 J counts");
	record_destroy(r);

	r = job(true, true);
	zero_steps(r);
	fill(r, KNOWN(0), /* unmeasured= */ false, NULL);
	ok(r->energy.total_j.known && r->energy.total_j.value == 0, "all steps reported 0 J");
	record_destroy(r);
}

/*
 * AcctGatherEnergyType is none on this host, but another node has a sensor, or this one had it earlier. A
 * step's joules stay; 0 J is unknown.
 */
static void test_unmeasured(void)
{
	struct record *r = job(true, false);

	values_set(&r->steps[0].values, METRIC_ENERGY, 0);
	fill(r, KNOWN(10), /* unmeasured= */ true, NULL);
	ok(!values_has(&r->steps[0].values, METRIC_ENERGY), "a step of 0 J: unknown");
	is_u64(r->steps[1].values.value[METRIC_ENERGY], 10000000, "a step with joules keeps them");
	is_str(r->tres_alloc, "cpu=1,energy=10,node=1", "the job's are in tres_alloc");
	is_str(r->energy.source, "model", "with their source");
	record_destroy(r);

	r = job(true, true);
	free(r->tres_alloc);
	r->tres_alloc = strdup("cpu=1,energy=0,node=1");
	zero_steps(r);
	fill(r, KNOWN(0), /* unmeasured= */ true, NULL);
	is_str(r->tres_alloc, "cpu=1,node=1", "0 J are not in tres_alloc");
	ok(!values_has(&r->values, METRIC_ENERGY), "nor in the job's values");
	record_destroy(r);
}

/* A job that went on with other nodes: what its steps used is in the last part's extern step, too. */
static void test_resized(void)
{
	static const struct maybe_u64 dbd[] = { { 0, false }, { 0, true }, { 8, true } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dbd); i++) {
		struct record *r = job(true, false);

		r->state = strdup("RESIZING");
		values_set(&r->steps[0].values, METRIC_CO2E, 5000000);
		fill(r, dbd[i], /* unmeasured= */ false, NULL);
		ok(r->energy.total_j.known == dbd[i].known && r->energy.total_j.value == dbd[i].value &&
			   values_has(&r->values, METRIC_ENERGY) == dbd[i].known,
		   "a part of a resized job has the energy that sacct shows");
		ok(!values_has(&r->values, METRIC_CO2E) && !values_has(&r->values, METRIC_SOURCE_MODEL),
		   "  its emissions and their like are the last part's");
		ok(values_has(&r->steps[0].values, METRIC_CO2E), "  its steps keep theirs");
		record_destroy(r);
	}
}

/* Slurm 26.05: the first part's row has the extern step, and so the energy of the whole job. */
static void test_resized_first(void)
{
	struct record *r = job(true, true);

	r->state = strdup("RESIZING");
	values_set(&r->steps[2].values, METRIC_CO2E, 5000000);
	fill(r, KNOWN(30), /* unmeasured= */ false, NULL);
	is_u64(r->energy.total_j.value, 30, "a part with the extern step has the job's energy");
	ok(values_has(&r->values, METRIC_CO2E) && values_has(&r->values, METRIC_SOURCE_MODEL),
	   "  and its emissions and sources");
	ok(r->energy.final && r->energy.method[0], "  is final and says by which method");
	r->steps[2].nnodes = 3;
	values_set(&r->steps[2].values, METRIC_ENERGY_NODES, 3);
	values_set(&r->steps[2].values, METRIC_SOURCE_MODEL, 0);
	values_set(&r->steps[2].values, METRIC_SOURCE_RAPL, 30000000);
	fill(r, KNOWN(30), /* unmeasured= */ false, NULL);
	is_str(r->energy.quality, "measured", "  if no node left, as when only its memory was resized");
	values_set(&r->steps[2].values, METRIC_ENERGY_NODES, 2);
	fill(r, KNOWN(30), /* unmeasured= */ false, NULL);
	is_str(r->energy.quality, "lower-bound", "  a lower bound, if one of its nodes left");
	record_destroy(r);
}

/*
 * Up to Slurm 25.11, the last part has the energy but no step. It lacks what nodes used that left the job,
 * which no later output of Slurm has.
 */
static void test_resized_last(void)
{
	static const struct {
		const char *what;
		struct maybe_u64 row, want;
		bool is_resized, unmeasured;
		const char *quality;
	} t[] = {
		{ "a job of one size", KNOWN(8), KNOWN(8), .quality = "" },
		{ "the last part", KNOWN(8), KNOWN(8), .is_resized = true, .quality = "lower-bound" },
		{ "the last part of 0 J, as all its nodes left", KNOWN(0), NONE, .is_resized = true,
		  .quality = "" },
		{ "a last part without energy", NONE, NONE, .is_resized = true, .quality = "" },
		{ "a last part where AcctGatherEnergyType is none", KNOWN(0), NONE, .is_resized = true,
		  .unmeasured = true, .quality = "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct record *r = job(false, false);

		r->is_resized = t[i].is_resized;
		fill(r, t[i].row, t[i].unmeasured, NULL);
		ok(r->energy.total_j.known == t[i].want.known && r->energy.total_j.value == t[i].want.value,
		   "%s: %" PRIu64 " J", t[i].what, r->energy.total_j.value);
		is_str(r->energy.quality, t[i].quality, t[i].what);
		record_destroy(r);
	}
}

static void test_tres_alloc(void)
{
	static const struct {
		const char *in;
		const char *out;
	} rows[] = {
		{ NULL, "energy=7" },
		{ "", "energy=7" },
		{ "cpu=1", "cpu=1,energy=7" },
		{ "cpu=1,mem=100M,node=1,billing=1", "cpu=1,mem=100M,energy=7,node=1,billing=1" },
		{ "cpu=1,energy=6,node=1", "cpu=1,energy=7,node=1" },
		{ "energy=6", "energy=7" },
		{ "node=1,gres/gpu=2", "energy=7,node=1,gres/gpu=2" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct record *r = job(false, false);

		free(r->tres_alloc);
		r->tres_alloc = rows[i].in ? strdup(rows[i].in) : NULL;
		fill(r, KNOWN(7), /* unmeasured= */ false, NULL);
		is_str(r->tres_alloc, rows[i].out, "the energy in Slurm's order");
		record_destroy(r);
	}
}

static void test_rest(void)
{
	struct factor_chain chain = { .fixed = { .mg_per_kwh = 360000,
						 .year = 2024,
						 .kind = EMISSION_STATIC,
						 .region = "XX",
						 .source = "src" } };
	struct record *r = job(true, true);

	settings.pue_milli = 2000;
	fill(r, KNOWN(30), /* unmeasured= */ false, &chain);
	is_str(r->tres_alloc, "cpu=1,energy=30,node=1", "the energy is in tres_alloc");
	is_str(r->energy.source, "model", "an estimate is called one");
	is_str(r->energy.method, "cpu-time", "the method");
	is_u64(r->values.value[METRIC_IO_READ_BYTES], 100, "the extern step has the job's I/O");
	/* 30 J x 360 g/kWh x 2 = 30/3.6e6 x 720 g = 6 mg */
	is_u64(r->values.value[METRIC_CO2E], 6000000, "6 mg");
	is_int(r->emissions.method, CO2E_MEAN_POWER, "from the mean power");
	is_u64(r->steps[0].values.value[METRIC_CO2E], 1000000, "a step's");
	record_destroy(r);

	r = job(true, true);
	values_set(&r->steps[2].values, METRIC_CO2E, 7000000);
	fill(r, KNOWN(30), /* unmeasured= */ false, &chain);
	is_u64(r->values.value[METRIC_CO2E], 7000000, "what the nodes computed stays");
	is_int(r->emissions.method, CO2E_PER_TICK, "and the method is per-tick");
	record_destroy(r);

	r = job(true, false);
	fill(r, KNOWN(30), /* unmeasured= */ false, NULL);
	is_u64(r->values.value[METRIC_IO_READ_BYTES], 200, "without extern, the sum");
	record_destroy(r);

	r = job(false, false);
	r->start = 0;
	fill(r, KNOWN(30), /* unmeasured= */ false, NULL);
	is_str(r->tres_alloc, "cpu=1,energy=30,node=1",
	       "a start that is not known is no reason to leave it out");
	free(r->tres_alloc);
	r->tres_alloc = NULL;
	fill(r, KNOWN(30), /* unmeasured= */ false, NULL);
	is_str(r->tres_alloc, NULL, "nothing was allocated");
	record_destroy(r);

	r = job(false, false);
	r->start = 0;
	fill(r, NONE, /* unmeasured= */ false, &chain);
	is_str(r->tres_alloc, "cpu=1,node=1", "a job that never ran keeps its text");
	ok(!values_has(&r->values, METRIC_CO2E), "no energy, no emissions");
	record_destroy(r);
}

int main(void)
{
	test_energy();
	test_quality();
	test_missing();
	test_late_step();
	test_part_of_idle();
	test_untold();
	test_unmeasured();
	test_resized();
	test_resized_first();
	test_resized_last();
	test_tres_alloc();
	test_rest();
	return done_testing();
}
