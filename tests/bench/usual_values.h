/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usual_values.h - the values that a benchmark's record has.
 */
#ifndef CEEMS_USUAL_VALUES_H
#define CEEMS_USUAL_VALUES_H

#include <stdbool.h>

#include "src/libcore/metric.h"
#include "src/libutil/util.h"

/* Whether every job has M; the other metrics need --ceems-perf or special hardware. */
static inline bool is_usual(enum metric m)
{
	static const enum metric usual[] = {
		METRIC_ENERGY,
		METRIC_CO2E,
		METRIC_CPU_ENERGY,
		METRIC_CPU_ENERGY_STATIC,
		METRIC_DRAM_ENERGY,
		METRIC_DRAM_ENERGY_STATIC,
		METRIC_SOURCE_RAPL,
		METRIC_IO_READ_BYTES,
		METRIC_IO_WRITE_BYTES,
		METRIC_IO_READ_CALLS,
		METRIC_IO_WRITE_CALLS,
		METRIC_STORAGE_READ_BYTES,
		METRIC_STORAGE_WRITE_BYTES,
		METRIC_CPU_TIME,
		METRIC_TCP_RECEIVED_BYTES,
		METRIC_TCP_SENT_BYTES,
		METRIC_TCP_CONNECTIONS,
		METRIC_TCP_RETRANSMITTED_BYTES,
		METRIC_TASK_CLOCK,
		METRIC_CONTEXT_SWITCHES,
		METRIC_PAGE_FAULTS,
		METRIC_CPU_MIGRATIONS,
		METRIC_RUN_DELAY,
		METRIC_OFF_CPU,
		METRIC_MEMORY_PEAK,
		METRIC_MEMORY_KERNEL_PEAK,
		METRIC_MEMORY_ALLOCATED,
		METRIC_MEMORY_TIME,
		METRIC_CACHE_TIME,
		METRIC_SWAP_PEAK,
		METRIC_OOM_KILLS,
		METRIC_ENERGY_NODES,
		METRIC_CPU_TIME_NODES,
		METRIC_MEMORY_NODES,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(usual); i++)
		if (usual[i] == m)
			return true;
	return false;
}

#endif
