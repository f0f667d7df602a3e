/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpuvalue.h - what is read of a GPU beside its energy. ceems-gpu's "usage" lines use these names.
 * A share or rate is either a mean since the line before, or one reading at the end of that time.
 */
#ifndef CEEMS_GPUVALUE_H
#define CEEMS_GPUVALUE_H

#include <stdint.h>

enum gpu_value {
	GPU_VALUE_POWER_MW,
	GPU_VALUE_POWER_LIMIT_MW,
	GPU_VALUE_BUSY_PPM, /* of the time in which a kernel ran */
	GPU_VALUE_MEM_USED_BYTES,
	GPU_VALUE_MEM_TOTAL_BYTES,
	GPU_VALUE_PROCESSES, /* that have a context */
	GPU_VALUE_SM_MHZ,
	GPU_VALUE_MEM_MHZ,
	GPU_VALUE_THROTTLED_PPM, /* clocks are held down, by power, heat, or a cause that is not told */
	GPU_VALUE_THROTTLED_POWER_PPM,
	GPU_VALUE_THROTTLED_HEAT_PPM,
	GPU_VALUE_ECC_ERRORS, /* uncorrected, since the driver was loaded */
	GPU_VALUE_XID_ERRORS, /* since ceems-gpu began to count: it may fall */
	/* NVML's GPM: Hopper and later */
	GPU_VALUE_SM_PPM,	 /* SMs that had a warp */
	GPU_VALUE_OCCUPANCY_PPM, /* warps, of those that there is room for */
	GPU_VALUE_TENSOR_PPM,
	GPU_VALUE_FP64_PPM,
	GPU_VALUE_FP32_PPM,
	GPU_VALUE_FP16_PPM,
	GPU_VALUE_DRAM_PPM, /* bandwidth, of the largest there is */
	GPU_VALUE_PCIE_RX_BPS, /* bytes per second */
	GPU_VALUE_PCIE_TX_BPS,
	GPU_VALUE_NVLINK_RX_BPS,
	GPU_VALUE_NVLINK_TX_BPS,
	GPU_VALUE_N
};

#define GPU_VALUE_UNKNOWN UINT64_MAX
void gpu_values_forget(uint64_t value[GPU_VALUE_N]); /* makes all of them unknown */

const char *gpu_value_name(enum gpu_value v); /* "busy_ppm" */
enum gpu_value gpu_value_find(const char *name); /* GPU_VALUE_N: none */

#endif
