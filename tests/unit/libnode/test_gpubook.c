/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GPU metrics of steps, for loads with known results: a GPU has a reading each second, as from ceems-gpu, and
 * ticks come at other times. The test sets the clock.
 */
#include "src/libnode/gpubook.h"

#include <stdlib.h>

#include "fake_sampler.h"
#include "scratch.h"
#include "src/libutil/util.h"
#include "tap.h"

#define GIB (UINT64_C(1) << 30)
#define MS NSEC_PER_MSEC
#define SEC NSEC_PER_SEC
#define START_NS (1000 * SEC)
#define WHOLE 1000000
#define UNITS 3

static char dir[] = SCRATCH_TEMPLATE;
static struct fake_sampler node;
static struct gpubook *watch;
static struct gpu_reading gpu[UNITS];
static size_t ngpus;
static struct gpu_instance_reading instance[3];
static size_t ninstances;

static void begin(size_t n)
{
	struct errmsg err = { 0 };
	unsigned int i;

	memset(gpu, 0xff, sizeof(gpu));
	for (i = 0; i < UNITS; i++) {
		gpu[i].unit = (uint8_t)i;
		gpu[i].from_ns = gpu[i].until_ns = 0;
	}
	ngpus = n;
	ninstances = 0;
	if (fake_start(&node, dir, "n1", &err) < 0 || gpubook_create(&watch) < 0) {
		diag("%s", err.text);
		exit(99);
	}
}

static void end(void)
{
	gpubook_destroy(watch);
	fake_stop(&node);
	scratch_clear(dir);
}

/*
 * A step that begins AFTER the start and holds so much of GPU 0; a job's other steps
 * have to say the same of it.
 */
static unsigned int claim(uint32_t job_id, uint32_t step_id, uint64_t after_ns, uint32_t job_ppm,
			  uint32_t step_ppm)
{
	struct ledger_identity id = {
		.job_id = job_id, .step_id = step_id, .job_cpus = 1, .step_cpus = 1, .node_count = 1
	};
	unsigned int slot;

	id.job_gpu_ppm[0] = job_ppm;
	id.step_gpu_ppm[0] = step_ppm;
	if (ledger_claim(node.l, &id, &slot) < 0)
		exit(99);
	ledger_slot(node.l, slot)->t_open_mono_ns = START_NS + after_ns;
	return slot;
}

static void tick(uint64_t after_ns)
{
	struct tick t = {
		.page = ledger_begin(node.l),
		.book = { .t_mono_ns = START_NS + after_ns, .node_cpus = 8, .node_mem_mb = 8000 },
		.ngpus = ngpus,
		.instance = instance,
		.ninstances = ninstances,
	};

	memcpy(t.gpu, gpu, ngpus * sizeof(gpu[0]));
	t.nlines = ledger_book_collect(node.b, t.page, t.book.t_mono_ns, &t.line);
	gpubook_read(watch, node.b, &t);
	if (ledger_book_apply(node.b, t.page, &t.book) < 0)
		exit(99);
	ledger_turn(node.l);
}

static void finish(unsigned int slot, uint64_t after_ns)
{
	struct ledger_slot *s = ledger_slot(node.l, slot);

	s->t_close_mono_ns = START_NS + after_ns;
	atomic_store(&s->state, SLOT_CLOSING);
}

/* All GPUs, at an instant AFTER the start, of the time since they were last read. */
static void read_at(uint64_t after_ns)
{
	size_t i;

	for (i = 0; i < ngpus; i++) {
		gpu[i].from_ns = gpu[i].until_ns ? gpu[i].until_ns : START_NS + after_ns;
		gpu[i].until_ns = START_NS + after_ns;
	}
}

/* Ticks of a second, a reading just behind each, from FROM to UNTIL seconds. */
static void run(unsigned int from, unsigned int until)
{
	unsigned int s;

	for (s = from; s <= until; s++) {
		tick(s * SEC);
		read_at(s * SEC + 5 * MS);
	}
}

static const struct values *values(unsigned int slot)
{
	static struct values f;
	struct ledger_gpu g;

	values_init(&f);
	if (ledger_step_gpu(node.l, slot, &g) == 0)
		ledger_gpu_add(&g, &f);
	return &f;
}

static void is_value(unsigned int slot, enum metric m, uint64_t want, const char *what)
{
	const struct values *f = values(slot);

	ok(values_has(f, m), "%s", what);
	is_u64(f->value[m], want, what);
}

/* --- known loads ------------------------------------------------------------------------------ */

static void test_shared(void)
{
	unsigned int a, b;

	begin(1);
	gpu[0].value[GPU_VALUE_BUSY_PPM] = 500000;
	gpu[0].value[GPU_VALUE_PROCESSES] = 2;
	run(1, 2);
	a = claim(1, 0, 2 * SEC + 5 * MS, WHOLE / 2, WHOLE / 2);
	b = claim(2, 0, 2 * SEC + 5 * MS, WHOLE / 4, WHOLE / 4);
	run(3, 12);
	finish(a, 12 * SEC + 5 * MS);
	tick(12 * SEC + 6 * MS);
	is_value(a, METRIC_GPU_BUSY, 2500 * MS, "busy 50 % for 10 s, and half of the GPU: 2.5 s");
	is_value(a, METRIC_GPU_HELD, 5 * SEC, "of 5 s held");
	is_value(b, METRIC_GPU_BUSY, 1250 * MS, "who shares it and has a quarter has half of that");
	is_value(b, METRIC_GPU_NO_PROCESS, 0, "there was a process");
	ok(!values_has(values(a), METRIC_GPU_SM_ACTIVE), "without GPM nothing is known of SMs");
	ok(!values_has(values(a), METRIC_GPU_MEMORY_PEAK), "nor of memory that was not told");
	end();
}

static void test_idle(void)
{
	unsigned int held, vacant;

	begin(1);
	gpu[0].value[GPU_VALUE_BUSY_PPM] = 0;
	gpu[0].value[GPU_VALUE_PROCESSES] = 1;
	run(1, 1);
	held = claim(1, 0, SEC + 5 * MS, WHOLE, WHOLE);
	run(2, 6);
	finish(held, 6 * SEC + 5 * MS);
	tick(6 * SEC + 5 * MS);
	is_value(held, METRIC_GPU_BUSY, 0, "idle hold: busy is 0, and known");
	is_value(held, METRIC_GPU_NO_PROCESS, 0, "it has a process");
	is_value(held, METRIC_GPU_HELD, 5 * SEC, "for 5 s");
	gpu[0].value[GPU_VALUE_PROCESSES] = 0;
	vacant = claim(2, 0, 6 * SEC + 5 * MS, WHOLE, WHOLE);
	run(7, 10);
	finish(vacant, 10 * SEC + 505 * MS);
	tick(10 * SEC + 505 * MS);
	is_value(vacant, METRIC_GPU_NO_PROCESS, 4500 * MS,
		 "no process: all of the time, to the step's last instant");
	end();
}

static void test_xids(void)
{
	unsigned int whole, batch, step, other;

	begin(2);
	gpu[0].value[GPU_VALUE_XID_ERRORS] = 4;
	gpu[1].value[GPU_VALUE_XID_ERRORS] = 0;
	run(1, 1);
	batch = claim(1, LEDGER_STEP_BATCH, SEC + 5 * MS, WHOLE / 2, 0);
	other = claim(2, 0, SEC + 5 * MS, WHOLE / 4, WHOLE / 4);
	run(2, 3);
	step = claim(1, 0, 3 * SEC + 505 * MS, WHOLE / 2, WHOLE / 2);
	is_value(other, METRIC_GPU_XID_ERRORS, 0, "none of what was before");
	gpu[0].value[GPU_VALUE_XID_ERRORS] = 7;
	gpu[1].value[GPU_VALUE_XID_ERRORS] = 100;
	tick(4 * SEC);
	read_at(4 * SEC + 5 * MS);
	tick(5 * SEC);
	is_value(other, METRIC_GPU_XID_ERRORS, 3, "whoever holds the GPU has them");
	is_u64(values(batch)->value[METRIC_GPU_XID_ERRORS] + values(step)->value[METRIC_GPU_XID_ERRORS], 3,
	       "a job once, though two of its steps held it");
	/* it is lost: it tells errors, and nothing else */
	gpu[0].value[GPU_VALUE_XID_ERRORS] = 8;
	gpu[0].from_ns = gpu[0].until_ns = START_NS + 5 * SEC + 5 * MS;
	tick(6 * SEC);
	is_value(other, METRIC_GPU_XID_ERRORS, 4, "an error of a GPU that was lost counts");
	gpu[0].value[GPU_VALUE_XID_ERRORS] = GPU_VALUE_UNKNOWN;
	read_at(6 * SEC + 5 * MS);
	tick(7 * SEC);
	gpu[0].value[GPU_VALUE_XID_ERRORS] = 2;
	read_at(7 * SEC + 5 * MS);
	tick(8 * SEC);
	is_value(other, METRIC_GPU_XID_ERRORS, 6, "ceems-gpu counts anew after a restart");
	gpu[0].value[GPU_VALUE_XID_ERRORS] = GPU_VALUE_UNKNOWN;
	whole = claim(3, 0, 8 * SEC + 5 * MS, WHOLE / 4, WHOLE / 4);
	read_at(9 * SEC + 5 * MS);
	tick(10 * SEC);
	ok(!values_has(values(whole), METRIC_GPU_XID_ERRORS), "not told: unknown, and not 0");
	end();
}

static void tell_instance(size_t i, unsigned int unit, unsigned int gi, unsigned int slices)
{
	instance[i] = (struct gpu_instance_reading){ .unit = (uint8_t)unit,
						     .gi = (uint8_t)gi,
						     .slices = (uint8_t)slices };
	gpu_values_forget(instance[i].value);
	instance[i].value[GPU_VALUE_XID_ERRORS] = 0;
}

/* An instance's holder has its values; what it does not tell is not a part of the GPU's. */
static void test_instances(void)
{
	struct ledger_identity id = {
		.job_id = 1, .step_id = 0, .job_cpus = 1, .step_cpus = 1, .node_count = 1
	};
	unsigned int both, one, i;

	begin(1);
	gpu[0].value[GPU_VALUE_MEM_USED_BYTES] = 70 * GIB;
	gpu[0].value[GPU_VALUE_MEM_TOTAL_BYTES] = 80 * GIB;
	gpu[0].value[GPU_VALUE_PROCESSES] = 5;
	gpu[0].value[GPU_VALUE_TENSOR_PPM] = 1000000;
	gpu[0].value[GPU_VALUE_XID_ERRORS] = 0;
	tell_instance(0, 0, 3, 3);
	tell_instance(1, 0, 9, 1);
	tell_instance(2, 1, 3, 7); /* of another GPU */
	for (i = 0; i < 2; i++) {
		instance[i].value[GPU_VALUE_SM_PPM] = i ? 800000 : 400000;
		instance[i].value[GPU_VALUE_MEM_USED_BYTES] = GIB << i;
		instance[i].value[GPU_VALUE_MEM_TOTAL_BYTES] = 10 * GIB;
		instance[i].value[GPU_VALUE_PROCESSES] = i;
	}
	ninstances = 3;
	run(1, 1);
	id.job_gpu_ppm[0] = id.step_gpu_ppm[0] = WHOLE / 2;
	id.job_gpu_instances[0] = id.step_gpu_instances[0] = 1u << 3;
	if (ledger_claim(node.l, &id, &one) < 0)
		exit(99);
	id.job_id = 2;
	id.job_gpu_instances[0] = id.step_gpu_instances[0] = 1u << 3 | 1u << 9;
	if (ledger_claim(node.l, &id, &both) < 0)
		exit(99);
	ledger_slot(node.l, one)->t_open_mono_ns = ledger_slot(node.l, both)->t_open_mono_ns = START_NS +
											       SEC + 5 * MS;
	run(2, 5);
	tick(6 * SEC);
	is_value(one, METRIC_GPU_HELD, 2 * SEC, "half of a GPU for 4 s");
	is_value(one, METRIC_GPU_SM_ACTIVE, 800 * MS, "the instance's SMs were 40 % active");
	is_value(one, METRIC_GPU_NO_PROCESS, 2 * SEC, "it had no process, though the GPU had");
	is_value(one, METRIC_GPU_MEMORY_PEAK, GIB, "its own memory");
	is_value(one, METRIC_GPU_MEMORY_ALLOCATED, 10 * GIB, "the memory of its instance");
	ok(!values_has(values(one), METRIC_GPU_TENSOR), "what it does not tell is not that of the GPU");
	is_value(both, METRIC_GPU_SM_ACTIVE, SEC, "two instances: the mean by their slices, 50 %");
	is_value(both, METRIC_GPU_NO_PROCESS, 0, "one of them has a process");
	is_value(both, METRIC_GPU_MEMORY_PEAK, 3 * GIB, "memory of both");
	gpu[0].value[GPU_VALUE_XID_ERRORS] = 1;
	instance[1].value[GPU_VALUE_XID_ERRORS] = 1;
	read_at(7 * SEC);
	tick(7 * SEC);
	is_value(one, METRIC_GPU_XID_ERRORS, 0, "an error of another instance is another's");
	is_value(both, METRIC_GPU_XID_ERRORS, 1, "and its holder's");
	gpu[0].value[GPU_VALUE_XID_ERRORS] = 2;
	ninstances = 0;
	read_at(8 * SEC);
	tick(8 * SEC);
	is_value(one, METRIC_GPU_XID_ERRORS, 1, "a GPU that was lost is so for all of its holders");
	end();
}

static void test_engines(void)
{
	static const struct {
		enum gpu_value value;
		uint64_t told;
		enum metric metric;
		uint64_t want; /* after 4 s */
	} t[] = {
		{ GPU_VALUE_SM_PPM, 400000, METRIC_GPU_SM_ACTIVE, 1600 * MS },
		{ GPU_VALUE_OCCUPANCY_PPM, 250000, METRIC_GPU_SM_OCCUPANCY, SEC },
		{ GPU_VALUE_TENSOR_PPM, 300000, METRIC_GPU_TENSOR, 1200 * MS },
		{ GPU_VALUE_DRAM_PPM, 1000000, METRIC_GPU_DRAM, 4 * SEC },
		{ GPU_VALUE_FP64_PPM, 100000, METRIC_GPU_FP64, 400 * MS },
		{ GPU_VALUE_FP32_PPM, 200000, METRIC_GPU_FP32, 800 * MS },
		{ GPU_VALUE_FP16_PPM, 0, METRIC_GPU_FP16, 0 },
		{ GPU_VALUE_PCIE_RX_BPS, GIB, METRIC_GPU_PCIE_RECEIVED, 4 * GIB },
		{ GPU_VALUE_PCIE_TX_BPS, 3, METRIC_GPU_PCIE_SENT, 12 },
		{ GPU_VALUE_NVLINK_RX_BPS, 400 * GIB, METRIC_GPU_NVLINK_RECEIVED, 1600 * GIB },
		{ GPU_VALUE_NVLINK_TX_BPS, 5, METRIC_GPU_NVLINK_SENT, 20 },
		{ GPU_VALUE_THROTTLED_PPM, 1000000, METRIC_GPU_THROTTLED, 4 * SEC },
		{ GPU_VALUE_THROTTLED_POWER_PPM, 1000000, METRIC_GPU_THROTTLED_POWER, 4 * SEC },
		{ GPU_VALUE_THROTTLED_HEAT_PPM, 0, METRIC_GPU_THROTTLED_HEAT, 0 },
	};
	unsigned int slot;
	size_t i;

	begin(1);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		gpu[0].value[t[i].value] = t[i].told;
	run(1, 1);
	slot = claim(1, 0, SEC + 5 * MS, WHOLE, WHOLE);
	run(2, 5);
	tick(6 * SEC);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		is_value(slot, t[i].metric, t[i].want, gpu_value_name(t[i].value));
	end();
}

static void test_memory(void)
{
	unsigned int ext, batch, step;

	begin(2);
	gpu[0].value[GPU_VALUE_MEM_USED_BYTES] = 60 * GIB; /* of a job before */
	gpu[0].value[GPU_VALUE_MEM_TOTAL_BYTES] = gpu[1].value[GPU_VALUE_MEM_TOTAL_BYTES] = 80 * GIB;
	run(1, 1);
	tick(2 * SEC);
	ext = claim(1, LEDGER_STEP_EXTERN, 2 * SEC, WHOLE, WHOLE);
	batch = claim(1, LEDGER_STEP_BATCH, 2 * SEC, WHOLE, WHOLE);
	step = claim(1, 0, 2 * SEC, WHOLE, WHOLE / 2);
	tick(2 * SEC + MS);
	ok(!values_has(values(step), METRIC_GPU_MEMORY_PEAK), "before the first reading the peak is unknown");
	gpu[0].value[GPU_VALUE_MEM_USED_BYTES] = 2 * GIB;
	read_at(2 * SEC + 5 * MS);
	tick(3 * SEC);
	gpu[0].value[GPU_VALUE_MEM_USED_BYTES] = 40 * GIB;
	read_at(3 * SEC + 5 * MS);
	tick(4 * SEC);
	gpu[0].value[GPU_VALUE_MEM_USED_BYTES] = 4 * GIB;
	read_at(4 * SEC + 5 * MS);
	tick(5 * SEC);
	is_value(step, METRIC_GPU_MEMORY_PEAK, 20 * GIB, "of half a GPU: half of its memory, at most");
	is_value(step, METRIC_GPU_MEMORY_ALLOCATED, 40 * GIB, "of half of what it has");
	is_value(batch, METRIC_GPU_MEMORY_PEAK, 40 * GIB, "the batch script may use all that the job has");
	is_u64(ledger_current(node.l)->step[ext].gpu.memory_peak_bytes, 40 * GIB,
	       "the extern step has the job's peak");
	end();
}

/* --- who ------------------------------------------------------------------------------------ */

static void test_rest(void)
{
	unsigned int ext, batch, step;
	struct values f;

	begin(1);
	gpu[0].value[GPU_VALUE_BUSY_PPM] = 1000000;
	run(1, 1);
	ext = claim(1, LEDGER_STEP_EXTERN, SEC + 5 * MS, WHOLE, WHOLE);
	batch = claim(1, LEDGER_STEP_BATCH, SEC + 5 * MS, WHOLE, WHOLE);
	step = claim(1, 0, SEC + 5 * MS, WHOLE, WHOLE / 4);
	run(2, 5);
	tick(6 * SEC);
	is_value(step, METRIC_GPU_BUSY, SEC, "a step has what it holds");
	is_value(batch, METRIC_GPU_BUSY, 3 * SEC, "the batch script the rest");
	ok(!values_has(values(ext), METRIC_GPU_BUSY), "the extern step nothing");
	ok(ledger_job_total(node.l, 1, NULL, &f, NULL) == 0 && f.value[METRIC_GPU_BUSY] == 4 * SEC,
	   "the job all of it");
	finish(step, 6 * SEC);
	tick(6 * SEC);
	ledger_leave(node.l, step);
	tick(6 * SEC + MS);
	ok(ledger_job_total(node.l, 1, NULL, &f, NULL) == 0 && f.value[METRIC_GPU_BUSY] >= 4 * SEC + 248 * MS,
	   "a step that is gone stays in its job, with its tail");
	end();
}

static void test_short(void)
{
	unsigned int slot, none;
	struct ledger_gpu g;

	begin(1);
	gpu[0].value[GPU_VALUE_BUSY_PPM] = 1000000;
	run(1, 3);
	slot = claim(1, 0, 3 * SEC + 100 * MS, WHOLE, WHOLE);
	finish(slot, 3 * SEC + 600 * MS);
	tick(3 * SEC + 600 * MS);
	is_int(ledger_step_gpu(node.l, slot, &g), -ENODATA,
	       "shorter than from reading to reading: unknown, not 0");
	none = claim(2, 0, 3 * SEC + 700 * MS, 0, 0);
	run(4, 6);
	is_int(ledger_step_gpu(node.l, none, &g), -ENODATA, "without a GPU there is nothing to know");
	end();
}

/* A reading is of its own time, whatever ticks do. */
static void test_time(void)
{
	unsigned int slot;

	begin(1);
	gpu[0].value[GPU_VALUE_BUSY_PPM] = 1000000;
	run(1, 1);
	slot = claim(1, 0, SEC + 505 * MS, WHOLE, WHOLE);
	tick(2 * SEC);
	read_at(2 * SEC + 5 * MS);
	tick(2 * SEC + 10 * MS);
	is_value(slot, METRIC_GPU_HELD, 500 * MS, "from the step's start, not the reading's");
	tick(2 * SEC + 20 * MS);
	tick(2 * SEC + 30 * MS);
	is_value(slot, METRIC_GPU_HELD, 500 * MS, "each reading once");
	gpu[0].from_ns = gpu[0].until_ns = START_NS + 60 * SEC; /* the helper is back */
	tick(61 * SEC);
	is_value(slot, METRIC_GPU_HELD, 500 * MS, "what nobody read is not made up");
	read_at(61 * SEC + 5 * MS);
	gpu[0].value[GPU_VALUE_BUSY_PPM] = 0;
	tick(62 * SEC);
	is_value(slot, METRIC_GPU_HELD, 500 * MS + SEC + 5 * MS, "and then it goes on");
	is_value(slot, METRIC_GPU_BUSY, 500 * MS, "with the load that was read for that time");
	end();
}

static void test_lost(void)
{
	unsigned int slot;
	struct values f;

	begin(1);
	gpu[0].value[GPU_VALUE_BUSY_PPM] = 250000;
	run(1, 1);
	slot = claim(1, 0, SEC + 5 * MS, WHOLE, WHOLE);
	run(2, 3);
	tick(3 * SEC + 500 * MS);
	gpu[0].value[GPU_VALUE_BUSY_PPM] = GPU_VALUE_UNKNOWN;
	run(4, 5);
	tick(6 * SEC);
	is_value(slot, METRIC_GPU_BUSY, 500 * MS, "a GPU that stops telling: what is known, a lower bound");
	ledger_slot(node.l, slot)->stepd_start = 1; /* the process that claimed it is another */
	tick(7 * SEC);
	ok(ledger_job_total(node.l, 1, NULL, &f, NULL) == 0 && f.value[METRIC_GPU_BUSY] == 500 * MS,
	   "a slurmstepd that is killed leaves it to its job");
	end();
}

int main(void)
{
	alarm(60);
	if (!mkdtemp(dir))
		return 99;
	test_shared();
	test_idle();
	test_xids();
	test_instances();
	test_engines();
	test_memory();
	test_rest();
	test_short();
	test_time();
	test_lost();
	(void)rmdir(dir);
	return done_testing();
}
