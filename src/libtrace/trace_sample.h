/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_sample.h - the messages from slurmstepd to ceems-trace, the program that writes a step's
 * trace: one struct trace_start, then one struct trace_sample per interval. Both programs are of
 * the same build; a message of another size ends the trace.
 */
#ifndef CEEMS_TRACE_SAMPLE_H
#define CEEMS_TRACE_SAMPLE_H

#include <stdint.h>

#include "src/libcore/metric.h"

#define TRACE_NODE_MAX 256
#define TRACE_UNKNOWN UINT64_MAX

struct trace_start {
	char node[TRACE_NODE_MAX];
	uint64_t mono_ns, wall_ns; /* when the step began, with energy 0 */
	uint32_t groups;	   /* of --ceems-perf: enum perf_group */
	uint32_t has_gpus;
};

struct trace_sample {
	uint64_t mono_ns, wall_ns; /* of the tick */
	uint64_t held_bytes;	   /* the working set; for this and the next, TRACE_UNKNOWN: unknown */
	uint64_t cache_bytes;	   /* the page cache */
	uint64_t missed;	   /* intervals without a sample so far, because the node was too busy for a tick */
	uint32_t dropped;	   /* samples dropped so far, because the program was too slow */
	uint32_t is_last;
	struct values values; /* what was read anew */
};

#endif
