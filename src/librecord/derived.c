/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/librecord/derived.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "src/libcore/metric_text.h"
#include "src/libutil/clock.h"

#define BYTES_PER_KIB 1024.0
/* CPU time without counters that is tolerated: a batch script's, or an exec's */
#define MIN_LACK_NS 100000000u

const struct derived_info derived_table[DERIVED_N] = {
	[DERIVED_IPC] = { "instructions_per_cycle", "instructions per cycle", "instructions / cycles" },
	[DERIVED_FREQUENCY] = { "frequency_hz", "CPU frequency", "cycles / pmu_enabled" },
	[DERIVED_FLOP_PER_S] = { "flop_per_s", "FP rate", "fp_operations / elapsed seconds" },
	[DERIVED_MEMORY_BYTES_PER_S] = { "memory_bytes_per_s", "memory read rate",
					 "memory_bytes / elapsed seconds" },
	[DERIVED_CACHE_MISS_RATE] = { "cache_miss_rate", "cache miss rate",
				      "cache_misses / cache_references" },
	[DERIVED_BRANCH_MISS_RATE] = { "branch_miss_rate", "branch miss rate", "branch_misses / branches" },
	[DERIVED_CPU_EFFICIENCY] = { "cpu_efficiency", "CPU efficiency",
				     "CPU time / (elapsed time x CPUs allocated)" },
	[DERIVED_RUN_DELAY_RATE] = { "run_delay_rate", "waiting for a CPU",
				     "run_delay / (run_delay + CPU time)" },
	[DERIVED_PMU_COVERAGE] = { "pmu_coverage", "counted of the time", "pmu_running / pmu_enabled" },
	[DERIVED_JOULES_PER_INSTRUCTION] = { "joules_per_instruction", "per instruction",
					     "energy / instructions" },
	[DERIVED_IO_CACHE_RATE] = { "io_cache_rate", "read without storage",
				    "(read_bytes - storage_read_bytes) / read_bytes" },
	[DERIVED_MEMORY_MEAN] = { "memory_mean_bytes", "memory, mean",
				  "memory_kib_s x 1024 / elapsed seconds" },
	[DERIVED_PAGE_CACHE_MEAN] = { "page_cache_mean_bytes", "page cache, mean",
				      "page_cache_kib_s x 1024 / elapsed seconds" },
	[DERIVED_MEMORY_EFFICIENCY] = { "memory_efficiency", "memory, peak of allocated",
					"memory_peak_bytes / memory_allocated_bytes" },
	[DERIVED_GPU_UTILIZATION] = { "gpu_utilization", "GPU busy", "gpu_busy / gpu_held" },
	[DERIVED_GPU_NO_PROCESS_RATE] = { "gpu_no_process_rate", "GPU held without process",
					  "gpu_no_process / gpu_held" },
	[DERIVED_GPU_SM_ACTIVE_RATE] = { "gpu_sm_active_rate", "GPU SMs active", "gpu_sm_active / gpu_held" },
	[DERIVED_GPU_SM_OCCUPANCY_RATE] = { "gpu_sm_occupancy_rate", "GPU SM occupancy",
					    "gpu_sm_occupancy / gpu_held" },
	[DERIVED_GPU_TENSOR_RATE] = { "gpu_tensor_rate", "GPU tensor pipes active", "gpu_tensor / gpu_held" },
	[DERIVED_GPU_DRAM_RATE] = { "gpu_dram_rate", "GPU memory bandwidth", "gpu_dram / gpu_held" },
};

/* Whether M is a usable term of a ratio: known, and not a sum that overflowed. */
static bool has(const struct values *f, enum metric m)
{
	return values_has(f, m) && f->value[m] != UINT64_MAX;
}

/* A / B * SCALE. False: A or B is unknown, or B is 0. */
static bool derived_ratio(const struct values *f, enum metric a, enum metric b, double scale, double *ret)
{
	if (!has(f, a) || !has(f, b) || !f->value[b])
		return false;
	*ret = (double)f->value[a] / (double)f->value[b] * scale;
	return true;
}

/*
 * PART / WHOLE. False also if PART is larger: a CPU may count the references and the misses of its
 * last-level cache for different accesses.
 */
static bool share(const struct values *f, enum metric part, enum metric whole, double *ret)
{
	return derived_ratio(f, part, whole, 1, ret) && f->value[part] <= f->value[whole];
}

/* M / TIME. False: M is unknown, or TIME is 0. */
static bool rate(const struct values *f, enum metric m, double time, double *ret)
{
	if (!has(f, m) || !(time > 0))
		return false;
	*ret = (double)f->value[m] / time;
	return true;
}

/*
 * Whether the hardware counters cover nearly all CPU time. If only some steps asked for counters,
 * the counts must not be divided by time or energy of the whole job.
 */
static bool is_all_counted(const struct values *f)
{
	uint64_t wanted = f->value[METRIC_PMU_ENABLED];

	return !has(f, METRIC_PMU_ENABLED) || !has(f, METRIC_CPU_TIME) ||
	       (double)f->value[METRIC_CPU_TIME] <= 1.05 * (double)wanted + MIN_LACK_NS;
}

static bool run_delay_rate(const struct values *f, double *ret)
{
	double wait = (double)f->value[METRIC_RUN_DELAY];

	return has(f, METRIC_CPU_TIME) &&
	       rate(f, METRIC_RUN_DELAY, wait + (double)f->value[METRIC_CPU_TIME], ret);
}

/*
 * 1 - bytes from storage / bytes read. False if more came from storage than was read, by read-ahead
 * or mapped files: the ratio then says nothing about the page cache.
 */
static bool io_cache_rate(const struct values *f, double *ret)
{
	double fetched;

	if (!share(f, METRIC_STORAGE_READ_BYTES, METRIC_IO_READ_BYTES, &fetched))
		return false;
	*ret = 1 - fetched;
	return true;
}

static bool value_of(enum derived d, const struct values *f, uint64_t elapsed_ns, uint32_t cpus, double *ret)
{
	switch (d) {
	case DERIVED_IPC:
		return derived_ratio(f, METRIC_INSTRUCTIONS, METRIC_CYCLES, 1, ret);
	case DERIVED_FREQUENCY:
		return derived_ratio(f, METRIC_CYCLES, METRIC_PMU_ENABLED, NSEC_PER_SEC, ret);
	case DERIVED_FLOP_PER_S:
		return is_all_counted(f) &&
		       rate(f, METRIC_FP_OPERATIONS, (double)elapsed_ns / NSEC_PER_SEC, ret);
	case DERIVED_MEMORY_BYTES_PER_S:
		return is_all_counted(f) &&
		       rate(f, METRIC_MEMORY_BYTES, (double)elapsed_ns / NSEC_PER_SEC, ret);
	case DERIVED_CACHE_MISS_RATE:
		return share(f, METRIC_CACHE_MISSES, METRIC_CACHE_REFERENCES, ret);
	case DERIVED_BRANCH_MISS_RATE:
		return share(f, METRIC_BRANCH_MISSES, METRIC_BRANCHES, ret);
	case DERIVED_CPU_EFFICIENCY:
		return rate(f, METRIC_CPU_TIME, (double)elapsed_ns * cpus, ret);
	case DERIVED_RUN_DELAY_RATE:
		return run_delay_rate(f, ret);
	case DERIVED_PMU_COVERAGE:
		return share(f, METRIC_PMU_RUNNING, METRIC_PMU_ENABLED, ret);
	case DERIVED_JOULES_PER_INSTRUCTION:
		return is_all_counted(f) &&
		       derived_ratio(f, METRIC_ENERGY, METRIC_INSTRUCTIONS, 1 / (double)UJ_PER_J, ret);
	case DERIVED_IO_CACHE_RATE:
		return io_cache_rate(f, ret);
	case DERIVED_MEMORY_MEAN:
		return rate(f, METRIC_MEMORY_TIME, (double)elapsed_ns / NSEC_PER_SEC / BYTES_PER_KIB, ret);
	case DERIVED_PAGE_CACHE_MEAN:
		return rate(f, METRIC_CACHE_TIME, (double)elapsed_ns / NSEC_PER_SEC / BYTES_PER_KIB, ret);
	case DERIVED_MEMORY_EFFICIENCY:
		return derived_ratio(f, METRIC_MEMORY_PEAK, METRIC_MEMORY_ALLOCATED, 1, ret);
	case DERIVED_GPU_UTILIZATION:
		return share(f, METRIC_GPU_BUSY, METRIC_GPU_HELD, ret);
	case DERIVED_GPU_NO_PROCESS_RATE:
		return share(f, METRIC_GPU_NO_PROCESS, METRIC_GPU_HELD, ret);
	case DERIVED_GPU_SM_ACTIVE_RATE:
		return share(f, METRIC_GPU_SM_ACTIVE, METRIC_GPU_HELD, ret);
	case DERIVED_GPU_SM_OCCUPANCY_RATE:
		return share(f, METRIC_GPU_SM_OCCUPANCY, METRIC_GPU_HELD, ret);
	case DERIVED_GPU_TENSOR_RATE:
		return share(f, METRIC_GPU_TENSOR, METRIC_GPU_HELD, ret);
	case DERIVED_GPU_DRAM_RATE:
		return share(f, METRIC_GPU_DRAM, METRIC_GPU_HELD, ret);
	case DERIVED_N:
		break;
	}
	return false;
}

bool derived_value(enum derived d, const struct values *f, uint64_t elapsed_ns, uint32_t cpus, double *ret)
{
	double v;

	if (!value_of(d, f, elapsed_ns, cpus, &v))
		return false;
	*ret = v;
	return true;
}

/* Writes "1.43 GFLOP/s", or "12 FLOP/s": a number without prefix gets a blank. */
static void text_per_s(enum metric_unit unit, double value, const char *what, char *buf, size_t size)
{
	char number[METRIC_TEXT_MAX];

	metric_text_value(unit, value < 0x1p63 ? (uint64_t)(value + 0.5) : UINT64_MAX, number,
			  sizeof(number));
	(void)snprintf(buf, size, "%s%s%s", number,
		       isdigit((unsigned char)number[strlen(number) - 1]) ? " " : "", what);
}

const char *derived_text(enum derived d, double value, char *buf, size_t size)
{
	switch (d) {
	case DERIVED_IPC:
		(void)snprintf(buf, size, "%.2f", value);
		break;
	case DERIVED_FREQUENCY:
		(void)snprintf(buf, size, "%.2f GHz", value / 1e9);
		break;
	case DERIVED_FLOP_PER_S:
		text_per_s(UNIT_COUNT, value, "FLOP/s", buf, size);
		break;
	case DERIVED_MEMORY_BYTES_PER_S:
		text_per_s(UNIT_BYTES, value, "/s", buf, size);
		break;
	case DERIVED_JOULES_PER_INSTRUCTION:
		(void)snprintf(buf, size, "%.3g nJ", 1e9 * value);
		break;
	case DERIVED_MEMORY_MEAN:
	case DERIVED_PAGE_CACHE_MEAN:
		metric_text_value(UNIT_BYTES, value < 0x1p63 ? (uint64_t)(value + 0.5) : UINT64_MAX, buf,
				  size);
		break;
	default:
		(void)snprintf(buf, size, "%.1f %%", 100 * value);
	}
	return buf;
}
