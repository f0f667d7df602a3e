/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libledger/ledger_gpu.h"

#include "src/libutil/clock.h"
#include "src/libutil/muldiv.h"
#include "src/libutil/util.h"

/* How a value is summed over time. */
enum how {
	SHARE,	/* the value is a share of the GPU's time, in ppm; the sum is ns */
	RATE,	/* the value is bytes per second; the sum is bytes */
	VACANT, /* while the value is 0, the time is added */
	EVENT,	/* ledger_gpu_count_xids() adds each event when it happens */
};

/* Element I says which value ledger_gpu.sum[I] sums. */
static const struct {
	enum gpu_value value;
	enum how how;
	enum metric metric;
} sums[LEDGER_GPU_SUMS] = {
	{ GPU_VALUE_BUSY_PPM, SHARE, METRIC_GPU_BUSY },
	{ GPU_VALUE_PROCESSES, VACANT, METRIC_GPU_NO_PROCESS },
	{ GPU_VALUE_THROTTLED_PPM, SHARE, METRIC_GPU_THROTTLED },
	{ GPU_VALUE_THROTTLED_POWER_PPM, SHARE, METRIC_GPU_THROTTLED_POWER },
	{ GPU_VALUE_THROTTLED_HEAT_PPM, SHARE, METRIC_GPU_THROTTLED_HEAT },
	{ GPU_VALUE_SM_PPM, SHARE, METRIC_GPU_SM_ACTIVE },
	{ GPU_VALUE_OCCUPANCY_PPM, SHARE, METRIC_GPU_SM_OCCUPANCY },
	{ GPU_VALUE_TENSOR_PPM, SHARE, METRIC_GPU_TENSOR },
	{ GPU_VALUE_DRAM_PPM, SHARE, METRIC_GPU_DRAM },
	{ GPU_VALUE_FP64_PPM, SHARE, METRIC_GPU_FP64 },
	{ GPU_VALUE_FP32_PPM, SHARE, METRIC_GPU_FP32 },
	{ GPU_VALUE_FP16_PPM, SHARE, METRIC_GPU_FP16 },
	{ GPU_VALUE_PCIE_RX_BPS, RATE, METRIC_GPU_PCIE_RECEIVED },
	{ GPU_VALUE_PCIE_TX_BPS, RATE, METRIC_GPU_PCIE_SENT },
	{ GPU_VALUE_NVLINK_RX_BPS, RATE, METRIC_GPU_NVLINK_RECEIVED },
	{ GPU_VALUE_NVLINK_TX_BPS, RATE, METRIC_GPU_NVLINK_SENT },
	{ GPU_VALUE_XID_ERRORS, EVENT, METRIC_GPU_XID_ERRORS },
};
_Static_assert(LEDGER_GPU_SUMS <= 32, "ledger_gpu.known has 32 bits");

static uint64_t part_of(enum how how, uint64_t held, uint64_t value)
{
	switch (how) {
	case SHARE:
		return muldiv(held, value, LEDGER_GPU_PPM * LEDGER_GPU_PPM);
	case RATE:
		return muldiv(held, value, LEDGER_GPU_PPM * NSEC_PER_SEC);
	case VACANT:
		return value ? 0 : held / LEDGER_GPU_PPM;
	case EVENT:
		break;
	}
	return 0;
}

void ledger_gpu_book(struct ledger_gpu *g, uint64_t held, const uint64_t value[GPU_VALUE_N])
{
	size_t i;

	g->held_ns += held / LEDGER_GPU_PPM;
	for (i = 0; i < ARRAY_SIZE(sums); i++) {
		uint64_t v = value[sums[i].value];

		if (v == GPU_VALUE_UNKNOWN)
			continue;
		g->sum[i] += part_of(sums[i].how, held, v);
		g->known |= UINT32_C(1) << i;
	}
}

void ledger_gpu_count_xids(struct ledger_gpu *g, uint64_t n)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sums); i++)
		if (sums[i].how == EVENT)
			g->sum[i] += n;
}

void ledger_gpu_add(const struct ledger_gpu *g, struct values *values)
{
	struct values f;
	size_t i;

	if (!g->held_ns)
		return;
	values_init(&f);
	values_set(&f, METRIC_GPU_HELD, g->held_ns);
	for (i = 0; i < ARRAY_SIZE(sums); i++)
		if (g->known & UINT32_C(1) << i)
			values_set(&f, sums[i].metric, g->sum[i]);
	if (g->memory_total_bytes) {
		values_set(&f, METRIC_GPU_MEMORY_PEAK, g->memory_peak_bytes);
		values_set(&f, METRIC_GPU_MEMORY_ALLOCATED, g->memory_total_bytes);
	}
	values_fold(values, &f);
}
