/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_sample.h - the messages from slurmstepd to ceems-trace, the program that writes a step's
 * trace: one struct trace_start, then one struct trace_sample per interval. Both programs must be
 * of the same build; a message of another size ends the trace.
 */
#ifndef CEEMS_TRACE_SAMPLE_H
#define CEEMS_TRACE_SAMPLE_H

#include <stdint.h>

#include "src/libcore/metric.h"

#define TRACE_NODE_MAX 256
#define TRACE_UNKNOWN UINT64_MAX

struct trace_start {
	char node[TRACE_NODE_MAX];
	uint64_t mono_ns, wall_ns; /* start of the step, when its energy was 0 */
	uint32_t groups;	   /* groups of --ceems-perf: enum perf_group */
	uint32_t has_gpus;
};

struct trace_sample {
	uint64_t mono_ns, wall_ns; /* time of the tick */
	uint64_t held_bytes;	   /* working set in bytes; TRACE_UNKNOWN: unknown */
	uint64_t cache_bytes;	   /* page cache in bytes; TRACE_UNKNOWN: unknown */
	/* intervals without a sample so far: the node was too busy for a tick */
	uint64_t missed;
	uint32_t dropped; /* samples dropped so far: ceems-trace was too slow */
	uint32_t is_last;
	struct values values; /* the values that were read for this tick */
};

#endif
