/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpuvalue.h - values of a GPU other than its energy. The "usage" lines of ceems-gpu use these
 * names. A share or rate is either the mean since the previous line, or one reading at the end of
 * that time.
 */
#ifndef CEEMS_GPUVALUE_H
#define CEEMS_GPUVALUE_H

#include <stdint.h>

enum gpu_value {
	GPU_VALUE_POWER_MW,
	GPU_VALUE_POWER_LIMIT_MW,
	GPU_VALUE_BUSY_PPM, /* share of the time in which a kernel ran */
	GPU_VALUE_MEM_USED_BYTES,
	GPU_VALUE_MEM_TOTAL_BYTES,
	GPU_VALUE_PROCESSES, /* processes that have a context */
	GPU_VALUE_SM_MHZ,
	GPU_VALUE_MEM_MHZ,
	/*
	 * share of the time in which clocks were held down by power, heat or a cause not reported
	 */
	GPU_VALUE_THROTTLED_PPM,
	GPU_VALUE_THROTTLED_POWER_PPM,
	GPU_VALUE_THROTTLED_HEAT_PPM,
	GPU_VALUE_ECC_ERRORS, /* uncorrected, since the driver was loaded */
	GPU_VALUE_XID_ERRORS, /* since ceems-gpu began to count, so it may fall */
	/* the values below need NVML's GPM: Hopper and later */
	GPU_VALUE_SM_PPM,	 /* share of the SMs that had a warp */
	GPU_VALUE_OCCUPANCY_PPM, /* warps present / warps that fit */
	GPU_VALUE_TENSOR_PPM,
	GPU_VALUE_FP64_PPM,
	GPU_VALUE_FP32_PPM,
	GPU_VALUE_FP16_PPM,
	GPU_VALUE_DRAM_PPM,    /* bandwidth used / largest bandwidth */
	GPU_VALUE_PCIE_RX_BPS, /* bytes per second */
	GPU_VALUE_PCIE_TX_BPS,
	GPU_VALUE_NVLINK_RX_BPS,
	GPU_VALUE_NVLINK_TX_BPS,
	GPU_VALUE_N
};

#define GPU_VALUE_UNKNOWN UINT64_MAX
void gpu_values_forget(uint64_t value[GPU_VALUE_N]); /* sets all values to GPU_VALUE_UNKNOWN */

const char *gpu_value_name(enum gpu_value v);	 /* "busy_ppm" */
enum gpu_value gpu_value_find(const char *name); /* GPU_VALUE_N: there is no such name */

#endif
