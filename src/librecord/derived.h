/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derived.h - ratios of metric values: instructions per cycle, FLOP/s, memory bandwidth, miss
 * rates, CPU efficiency, joules per instruction. One place, for the report, the record and `ceems
 * job`. A ratio of something unknown is unknown.
 */
#ifndef CEEMS_DERIVED_H
#define CEEMS_DERIVED_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libcore/metric.h"

enum derived {
	DERIVED_IPC,			/* instructions per cycle */
	DERIVED_FREQUENCY,		/* Hz, while its tasks ran */
	DERIVED_FLOP_PER_S,
	DERIVED_MEMORY_BYTES_PER_S,
	DERIVED_CACHE_MISS_RATE,	/* misses / references of the last level, 0 to 1 */
	DERIVED_BRANCH_MISS_RATE,
	/*
	 * CPU time / (elapsed time x CPUs allocated). Above 1 where elapsed time was rounded down, as
	 * Slurm's whole seconds are.
	 */
	DERIVED_CPU_EFFICIENCY,
	DERIVED_RUN_DELAY_RATE,		/* waiting / (waiting + running) */
	DERIVED_PMU_COVERAGE,		/* counted / wanted; below 1 the counters were shared */
	DERIVED_JOULES_PER_INSTRUCTION,
	DERIVED_IO_CACHE_RATE,		/* of the bytes read, those that storage did not have to fetch */
	DERIVED_MEMORY_MEAN,		/* bytes, of all nodes together */
	DERIVED_PAGE_CACHE_MEAN,
	DERIVED_MEMORY_EFFICIENCY,	/* largest peak / largest allocation of a node */
	/* of the time in which GPUs were held and read */
	DERIVED_GPU_UTILIZATION,
	DERIVED_GPU_NO_PROCESS_RATE,
	DERIVED_GPU_SM_ACTIVE_RATE,
	DERIVED_GPU_SM_OCCUPANCY_RATE,
	DERIVED_GPU_TENSOR_RATE,
	DERIVED_GPU_DRAM_RATE,
	DERIVED_N
};

struct derived_info {
	const char *name;  /* JSON, SQL: "instructions_per_cycle" */
	const char *label; /* for people */
	const char *help;  /* the formula, in names of metrics */
};
extern const struct derived_info derived_table[DERIVED_N];

/*
 * ELAPSED_NS is that of the step or job, CPUS the CPUs allocated to it on all nodes of VALUES. 0:
 * not known. False: the ratio is unknown, and *RET stays unchanged. A term is not known or
 * overflowed, a divisor is 0, a part is larger than its whole, or counters of some steps stand
 * against time or energy of all.
 */
bool derived_value(enum derived d, const struct values *f, uint64_t elapsed_ns, uint32_t cpus,
		   double *ret);

/* As people read it: "1.95", "94.0 %", "1.43 GFLOP/s", "1.5 nJ". Returns BUF (METRIC_TEXT_MAX bytes do). */
const char *derived_text(enum derived d, double value, char *buf, size_t size);

#endif
