/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derived.h - ratios of metric values: instructions per cycle, FLOP/s, memory bandwidth, miss
 * rates, CPU efficiency, joules per instruction. The report, the record and `ceems job` use them. A
 * ratio with an unknown term is unknown.
 */
#ifndef CEEMS_DERIVED_H
#define CEEMS_DERIVED_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libcore/metric.h"
#include "src/libutil/must_check.h"

enum derived {
	DERIVED_IPC,	   /* instructions per cycle */
	DERIVED_FREQUENCY, /* Hz, while tasks ran */
	DERIVED_FLOP_PER_S,
	DERIVED_MEMORY_BYTES_PER_S,
	DERIVED_CACHE_MISS_RATE, /* misses / references of the last-level cache, 0 to 1 */
	DERIVED_BRANCH_MISS_RATE,
	/*
	 * CPU time / (elapsed time x CPUs allocated). May exceed 1: Slurm rounds the elapsed time
	 * down to seconds.
	 */
	DERIVED_CPU_EFFICIENCY,
	DERIVED_RUN_DELAY_RATE, /* time waiting for a CPU / (waiting + running) */
	/* time counted / time wanted; below 1, the kernel shared the counters out */
	DERIVED_PMU_COVERAGE,
	DERIVED_JOULES_PER_INSTRUCTION,
	DERIVED_IO_CACHE_RATE, /* share of the bytes read that came from the page cache */
	DERIVED_MEMORY_MEAN,   /* bytes, sum of all nodes */
	DERIVED_PAGE_CACHE_MEAN,
	DERIVED_MEMORY_EFFICIENCY, /* largest peak of a node / largest allocation of a node */
	/* shares of the time in which GPUs were held and could be read */
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
	const char *label; /* for people: "instructions per cycle" */
	const char *help;  /* formula, with the names of metrics */
};
extern const struct derived_info derived_table[DERIVED_N];

/*
 * Computes ratio D of the metric values F. ELAPSED_NS is the elapsed time of the step or job, CPUS
 * its CPUs on all nodes (0: unknown). Returns false, and leaves *RET unchanged, if the ratio is
 * unknown. Causes: a term is unknown or overflowed; a divisor is 0; a part is larger than its
 * whole; or only some steps of the job were counted, so counts do not match its time and energy.
 */
bool derived_value(enum derived d, const struct values *f, uint64_t elapsed_ns, uint32_t cpus,
		   double *ret) _must_check_;

/*
 * Writes the ratio VALUE for people: "1.95", "94.0 %", "1.43 GFLOP/s", "1.5 nJ". Returns BUF, which
 * needs METRIC_TEXT_MAX bytes.
 */
const char *derived_text(enum derived d, double value, char *buf, size_t size);

#endif
