/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/derived.h"

#include "src/libcore/metric_text.h"
#include "src/libutil/util.h"

#include "tap.h"

#define S UINT64_C(1000000000)
#define NONE -1.0 /* cannot be told */

/* Two terms of a ratio; the rest of the values is not known. */
static const struct {
	const char *what;
	enum derived d;
	enum metric a, b;
	uint64_t va, vb;
	uint64_t elapsed_ns;
	uint32_t cpus;
	double want;
} rows[] = {
	{ "no cycles, no IPC", DERIVED_IPC, METRIC_INSTRUCTIONS, METRIC_CYCLES, 5, 0, S, 1, NONE },
	{ "IPC of a sum that overflowed", DERIVED_IPC, METRIC_INSTRUCTIONS, METRIC_CYCLES, 5, UINT64_MAX, S,
	  1, NONE },
	{ "IPC of instructions that overflowed", DERIVED_IPC, METRIC_INSTRUCTIONS, METRIC_CYCLES, UINT64_MAX,
	  5, S, 1, NONE },
	{ "IPC", DERIVED_IPC, METRIC_INSTRUCTIONS, METRIC_CYCLES, 3000, 2000, 0, 0, 1.5 },
	{ "3e9 cycles in the 1.5 s that tasks ran", DERIVED_FREQUENCY, METRIC_CYCLES, METRIC_PMU_ENABLED,
	  UINT64_C(3000000000), UINT64_C(1500000000), 0, 0, 2e9 },
	{ "no time, no frequency", DERIVED_FREQUENCY, METRIC_CYCLES, METRIC_PMU_ENABLED, 5, 0, S, 1, NONE },
	{ "no instruction at all", DERIVED_IPC, METRIC_INSTRUCTIONS, METRIC_CYCLES, 0, 2000, 0, 0, 0 },
	{ "IPC of large numbers", DERIVED_IPC, METRIC_INSTRUCTIONS, METRIC_CYCLES, UINT64_C(1) << 63,
	  UINT64_C(1) << 62, 0, 0, 2 },

	{ "no time, no FLOP/s", DERIVED_FLOP_PER_S, METRIC_FP_OPERATIONS, METRIC_FP_OPERATIONS, 7, 7, 0, 1,
	  NONE },
	{ "FLOP/s", DERIVED_FLOP_PER_S, METRIC_FP_OPERATIONS, METRIC_FP_OPERATIONS, UINT64_C(8000000000),
	  UINT64_C(8000000000), 4 * S, 1, 2e9 },
	{ "memory bandwidth without time", DERIVED_MEMORY_BYTES_PER_S, METRIC_MEMORY_BYTES,
	  METRIC_MEMORY_BYTES, 64, 64, 0, 1, NONE },
	{ "memory bandwidth in half a second", DERIVED_MEMORY_BYTES_PER_S, METRIC_MEMORY_BYTES,
	  METRIC_MEMORY_BYTES, 6400, 6400, S / 2, 1, 12800 },

	{ "no reference, no rate", DERIVED_CACHE_MISS_RATE, METRIC_CACHE_MISSES, METRIC_CACHE_REFERENCES, 0,
	  0, S, 1, NONE },
	{ "more misses than references", DERIVED_CACHE_MISS_RATE, METRIC_CACHE_MISSES,
	  METRIC_CACHE_REFERENCES, 11, 10, S, 1, NONE },
	{ "all missed", DERIVED_CACHE_MISS_RATE, METRIC_CACHE_MISSES, METRIC_CACHE_REFERENCES, 10, 10, S, 1,
	  1 },
	{ "a quarter missed", DERIVED_CACHE_MISS_RATE, METRIC_CACHE_MISSES, METRIC_CACHE_REFERENCES, 250,
	  1000, S, 1, 0.25 },
	{ "no branch", DERIVED_BRANCH_MISS_RATE, METRIC_BRANCH_MISSES, METRIC_BRANCHES, 0, 0, S, 1, NONE },
	{ "one of 8 branches", DERIVED_BRANCH_MISS_RATE, METRIC_BRANCH_MISSES, METRIC_BRANCHES, 1, 8, S, 1,
	  0.125 },

	{ "CPUs not known", DERIVED_CPU_EFFICIENCY, METRIC_CPU_TIME, METRIC_CPU_TIME, S, S, S, 0, NONE },
	{ "no time", DERIVED_CPU_EFFICIENCY, METRIC_CPU_TIME, METRIC_CPU_TIME, S, S, 0, 4, NONE },
	{ "three of four CPUs busy", DERIVED_CPU_EFFICIENCY, METRIC_CPU_TIME, METRIC_CPU_TIME, 6 * S, 6 * S,
	  2 * S, 4, 0.75 },
	{ "elapsed time rounded down", DERIVED_CPU_EFFICIENCY, METRIC_CPU_TIME, METRIC_CPU_TIME, 3 * S / 2,
	  3 * S / 2, S, 1, 1.5 },
	/* 2^64 ns of elapsed time on 2^32 CPUs are no integer of 64 bits */
	{ "a large machine for long", DERIVED_CPU_EFFICIENCY, METRIC_CPU_TIME, METRIC_CPU_TIME,
	  UINT64_C(1) << 62, UINT64_C(1) << 62, UINT64_C(1) << 60, UINT32_C(1) << 31, 4.0 / 2147483648.0 },

	{ "neither waited nor ran", DERIVED_RUN_DELAY_RATE, METRIC_RUN_DELAY, METRIC_CPU_TIME, 0, 0, S, 1,
	  NONE },
	{ "only waited", DERIVED_RUN_DELAY_RATE, METRIC_RUN_DELAY, METRIC_CPU_TIME, S, 0, S, 1, 1 },
	{ "a fifth of it waited", DERIVED_RUN_DELAY_RATE, METRIC_RUN_DELAY, METRIC_CPU_TIME, S, 4 * S, S, 1,
	  0.2 },
	{ "waited and ran for more than 64 bits", DERIVED_RUN_DELAY_RATE, METRIC_RUN_DELAY, METRIC_CPU_TIME,
	  UINT64_C(1) << 63, UINT64_C(1) << 63, S, 1, 0.5 },

	{ "the PMU was never enabled", DERIVED_PMU_COVERAGE, METRIC_PMU_RUNNING, METRIC_PMU_ENABLED, 0, 0, S,
	  1, NONE },
	{ "PMU running for longer than enabled", DERIVED_PMU_COVERAGE, METRIC_PMU_RUNNING, METRIC_PMU_ENABLED,
	  2, 1, S, 1, NONE },
	{ "never got a counter", DERIVED_PMU_COVERAGE, METRIC_PMU_RUNNING, METRIC_PMU_ENABLED, 0, S, S, 1,
	  0 },
	{ "62.5 %", DERIVED_PMU_COVERAGE, METRIC_PMU_RUNNING, METRIC_PMU_ENABLED, 5 * S, 8 * S, S, 1, 0.625 },

	{ "no instruction, no joule of it", DERIVED_JOULES_PER_INSTRUCTION, METRIC_ENERGY,
	  METRIC_INSTRUCTIONS, 5, 0, S, 1, NONE },
	/* 3 J of 2^30 instructions */
	{ "joules per instruction", DERIVED_JOULES_PER_INSTRUCTION, METRIC_ENERGY, METRIC_INSTRUCTIONS,
	  3000000, 1 << 30, S, 1, 3.0 / (1 << 30) },

	{ "nothing was read", DERIVED_IO_CACHE_RATE, METRIC_STORAGE_READ_BYTES, METRIC_IO_READ_BYTES, 0, 0, S,
	  1, NONE },
	{ "only a mapped file was read", DERIVED_IO_CACHE_RATE, METRIC_STORAGE_READ_BYTES,
	  METRIC_IO_READ_BYTES, 4096, 10, S, 1, NONE },
	{ "all from storage", DERIVED_IO_CACHE_RATE, METRIC_STORAGE_READ_BYTES, METRIC_IO_READ_BYTES, 4096,
	  4096, S, 1, 0 },
	{ "all from the page cache", DERIVED_IO_CACHE_RATE, METRIC_STORAGE_READ_BYTES, METRIC_IO_READ_BYTES,
	  0, 4096, S, 1, 1 },
	{ "three quarters from the page cache", DERIVED_IO_CACHE_RATE, METRIC_STORAGE_READ_BYTES,
	  METRIC_IO_READ_BYTES, 1024, 4096, S, 1, 0.75 },

	{ "memory for no time", DERIVED_MEMORY_MEAN, METRIC_MEMORY_TIME, METRIC_MEMORY_TIME, 5, 5, 0, 1,
	  NONE },
	{ "6 KiB s in 4 s", DERIVED_MEMORY_MEAN, METRIC_MEMORY_TIME, METRIC_MEMORY_TIME, 6, 6, 4 * S, 1,
	  1536 },
	{ "page cache for no time", DERIVED_PAGE_CACHE_MEAN, METRIC_CACHE_TIME, METRIC_CACHE_TIME, 5, 5, 0, 1,
	  NONE },
	{ "no page cache at all", DERIVED_PAGE_CACHE_MEAN, METRIC_CACHE_TIME, METRIC_CACHE_TIME, 0, 0, S, 1,
	  0 },
	{ "nothing allocated", DERIVED_MEMORY_EFFICIENCY, METRIC_MEMORY_PEAK, METRIC_MEMORY_ALLOCATED, 5, 0,
	  S, 1, NONE },
	{ "three quarters of it used", DERIVED_MEMORY_EFFICIENCY, METRIC_MEMORY_PEAK, METRIC_MEMORY_ALLOCATED,
	  3, 4, S, 1, 0.75 },
	{ "no GPU held", DERIVED_GPU_UTILIZATION, METRIC_GPU_BUSY, METRIC_GPU_HELD, 0, 0, S, 1, NONE },
	{ "more without process than held", DERIVED_GPU_NO_PROCESS_RATE, METRIC_GPU_NO_PROCESS,
	  METRIC_GPU_HELD, 2, 1, S, 1, NONE },
	{ "SMs active for longer than held", DERIVED_GPU_SM_ACTIVE_RATE, METRIC_GPU_SM_ACTIVE,
	  METRIC_GPU_HELD, 2, 1, S, 1, NONE },
	{ "warps active for longer than held", DERIVED_GPU_SM_OCCUPANCY_RATE, METRIC_GPU_SM_OCCUPANCY,
	  METRIC_GPU_HELD, 2, 1, S, 1, NONE },
	{ "tensor pipes active for longer than held", DERIVED_GPU_TENSOR_RATE, METRIC_GPU_TENSOR,
	  METRIC_GPU_HELD, 2, 1, S, 1, NONE },
	{ "DRAM active for longer than held", DERIVED_GPU_DRAM_RATE, METRIC_GPU_DRAM, METRIC_GPU_HELD, 2, 1,
	  S, 1, NONE },
	{ "a GPU busy for a quarter", DERIVED_GPU_UTILIZATION, METRIC_GPU_BUSY, METRIC_GPU_HELD, S, 4 * S, S,
	  1, 0.25 },
	{ "held without process", DERIVED_GPU_NO_PROCESS_RATE, METRIC_GPU_NO_PROCESS, METRIC_GPU_HELD, S, S,
	  S, 1, 1 },
	{ "SMs", DERIVED_GPU_SM_ACTIVE_RATE, METRIC_GPU_SM_ACTIVE, METRIC_GPU_HELD, 0, S, S, 1, 0 },
	{ "occupancy", DERIVED_GPU_SM_OCCUPANCY_RATE, METRIC_GPU_SM_OCCUPANCY, METRIC_GPU_HELD, S, 2 * S, S,
	  1, 0.5 },
	{ "tensor pipes", DERIVED_GPU_TENSOR_RATE, METRIC_GPU_TENSOR, METRIC_GPU_HELD, S, 2 * S, S, 1, 0.5 },
	{ "bandwidth", DERIVED_GPU_DRAM_RATE, METRIC_GPU_DRAM, METRIC_GPU_HELD, 3 * S, 4 * S, S, 1, 0.75 },
	{ "more memory used than allocated", DERIVED_MEMORY_EFFICIENCY, METRIC_MEMORY_PEAK,
	  METRIC_MEMORY_ALLOCATED, 6, 4, S, 1, 1.5 },
};

static void is_near(double got, double want, const char *what)
{
	double off = got - want;

	if (!ok(off <= want * 1e-12 && off >= -want * 1e-12, "%s", what))
		diag("got %.17g, want %.17g", got, want);
}

static double value(size_t i, const struct values *f)
{
	double v = NONE;

	return derived_value(rows[i].d, f, rows[i].elapsed_ns, rows[i].cpus, &v) ? v : NONE;
}

static void test_values(void)
{
	unsigned int with[DERIVED_N] = { 0 };
	struct values f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double want = rows[i].want;

		values_init(&f);
		values_set(&f, rows[i].a, rows[i].va);
		values_set(&f, rows[i].b, rows[i].vb);
		if (want < 0)
			ok(value(i, &f) < 0, "unknown: %s", rows[i].what);
		else
			is_near(value(i, &f), want, rows[i].what);
		/* one term short, its value still there as a careless caller might leave it */
		f.reason[rows[i].b] = REASON_NO_PMU;
		ok(value(i, &f) < 0, "unknown: %s, one term missing", rows[i].what);
		f.reason[rows[i].b] = REASON_NONE;
		f.reason[rows[i].a] = REASON_NO_PMU;
		ok(value(i, &f) < 0, "unknown: %s, the other missing", rows[i].what);
		with[rows[i].d]++;
	}
	for (i = 0; i < DERIVED_N; i++)
		ok(with[i] >= 2 && derived_table[i].name && derived_table[i].help && derived_table[i].label,
		   "%s is tested, and described", derived_table[i].name);
}

static void test_text(void)
{
	static const struct {
		enum derived d;
		double value;
		const char *text;
	} texts[] = {
		{ DERIVED_IPC, 1.949, "1.95" },
		{ DERIVED_FREQUENCY, 2.345e9, "2.35 GHz" },
		{ DERIVED_FLOP_PER_S, 12, "12 FLOP/s" },
		{ DERIVED_FLOP_PER_S, 1.43e9, "1.43 GFLOP/s" },
		{ DERIVED_FLOP_PER_S, 1e30, "18446744.1 TFLOP/s" },
		{ DERIVED_MEMORY_BYTES_PER_S, 1536, "1.50 KiB/s" },
		{ DERIVED_CPU_EFFICIENCY, 0.94, "94.0 %" },
		{ DERIVED_JOULES_PER_INSTRUCTION, 1.5e-9, "1.5 nJ" },
		{ DERIVED_IO_CACHE_RATE, 0, "0.0 %" },
		{ DERIVED_MEMORY_MEAN, 1536.2, "1.50 KiB" },
		{ DERIVED_PAGE_CACHE_MEAN, 1e30, "16384.0 PiB" },
		{ DERIVED_MEMORY_EFFICIENCY, 1.5, "150.0 %" },
	};
	char buf[METRIC_TEXT_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		is_str(derived_text(texts[i].d, texts[i].value, buf, sizeof(buf)), texts[i].text,
		       derived_table[texts[i].d].label);
}

/* A job of two steps, one of which was counted, in full or in part. */
static void test_part_counted(void)
{
	static const enum derived of_whole[] = { DERIVED_FLOP_PER_S, DERIVED_MEMORY_BYTES_PER_S,
						 DERIVED_JOULES_PER_INSTRUCTION };
	struct values f;
	double v;
	size_t i;

	values_init(&f);
	values_set(&f, METRIC_ENERGY, 3000000);
	values_set(&f, METRIC_CYCLES, 4000);
	values_set(&f, METRIC_INSTRUCTIONS, 6000);
	values_set(&f, METRIC_FP_OPERATIONS, 1000);
	values_set(&f, METRIC_MEMORY_BYTES, 64000);
	values_set(&f, METRIC_CPU_TIME, 20 * S);
	values_set(&f, METRIC_PMU_ENABLED, 10 * S);
	values_set(&f, METRIC_PMU_RUNNING, 4 * S);
	for (i = 0; i < ARRAY_SIZE(of_whole); i++)
		ok(!derived_value(of_whole[i], &f, S, 1, &v), "half of the job was counted: no %s",
		   derived_table[of_whole[i]].name);
	ok(derived_value(DERIVED_IPC, &f, S, 1, &v), "a ratio of two values of the counted part is known");
	values_set(&f, METRIC_PMU_ENABLED, 37 * S / 2);
	for (i = 0; i < ARRAY_SIZE(of_whole); i++)
		ok(!derived_value(of_whole[i], &f, S, 1, &v), "more than a twentieth lacks: no %s",
		   derived_table[of_whole[i]].name);
	values_set(&f, METRIC_PMU_ENABLED, 20 * S - S / 2);
	for (i = 0; i < ARRAY_SIZE(of_whole); i++)
		ok(derived_value(of_whole[i], &f, S, 1, &v), "all of it was counted, multiplexed: %s",
		   derived_table[of_whole[i]].name);
}

int main(void)
{
	struct values f;
	double v = 7;

	values_init(&f);
	ok(!derived_value(DERIVED_N, &f, S, 1, &v) && v == 7, "DERIVED_N is no ratio");
	values_set(&f, METRIC_INSTRUCTIONS, 5);
	values_set(&f, METRIC_CYCLES, 0);
	ok(!derived_value(DERIVED_IPC, &f, S, 1, &v) && v == 7, "nothing is written on failure");
	test_values();
	test_part_counted();
	test_text();
	return done_testing();
}
