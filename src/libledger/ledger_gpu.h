/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_gpu.h - how the GPUs that a step holds were used, as sums over time. The sums are in the ledger's
 * page beside the step's energy. Only the sampler writes them (gpubook.h).
 */
#ifndef CEEMS_LEDGER_GPU_H
#define CEEMS_LEDGER_GPU_H

#include "src/libcore/gpuvalue.h"
#include "src/libcore/metric.h"

/* A whole GPU, in millionths. A share of a GPU times a time is counted in millionths x ns. */
#define LEDGER_GPU_PPM UINT64_C(1000000)

#define LEDGER_GPU_SUMS 17
struct ledger_gpu {
	uint64_t held_ns; /* GPUs held, times the time that the sums cover; 0: no reading yet */
	/* ns, bytes or errors; ledger_gpu.c lists which value each element sums */
	uint64_t sum[LEDGER_GPU_SUMS];
	uint64_t memory_peak_bytes;
	/* the step's share of the GPUs' memory; 0: this and the peak are not known */
	uint64_t memory_total_bytes;
	uint32_t known; /* bit I: sum[I] is known */
	uint32_t pad;
};

/*
 * Adds one reading VALUE of a GPU. HELD is the step's share of the GPU in millionths x ns.
 * Unknown values add nothing.
 */
void ledger_gpu_book(struct ledger_gpu *g, uint64_t held, const uint64_t value[GPU_VALUE_N]);

/* Adds N XID errors of a GPU that the step held. Whether the sum is known is decided by ledger_gpu_book(). */
void ledger_gpu_count_xids(struct ledger_gpu *g, uint64_t n);

/* Adds the known sums to the metric values VALUES. */
void ledger_gpu_add(const struct ledger_gpu *g, struct values *values);

#endif
