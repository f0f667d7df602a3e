/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/gpuvalue.h"

#include <string.h>

static const char name[GPU_VALUE_N][20] = {
	[GPU_VALUE_POWER_MW] = "power_mw",
	[GPU_VALUE_POWER_LIMIT_MW] = "limit_mw",
	[GPU_VALUE_BUSY_PPM] = "busy_ppm",
	[GPU_VALUE_MEM_USED_BYTES] = "used_bytes",
	[GPU_VALUE_MEM_TOTAL_BYTES] = "total_bytes",
	[GPU_VALUE_PROCESSES] = "processes",
	[GPU_VALUE_SM_MHZ] = "sm_mhz",
	[GPU_VALUE_MEM_MHZ] = "mem_mhz",
	[GPU_VALUE_THROTTLED_PPM] = "throttled_ppm",
	[GPU_VALUE_THROTTLED_POWER_PPM] = "power_cap_ppm",
	[GPU_VALUE_THROTTLED_HEAT_PPM] = "heat_ppm",
	[GPU_VALUE_ECC_ERRORS] = "ecc_errors",
	[GPU_VALUE_XID_ERRORS] = "xid_errors",
	[GPU_VALUE_SM_PPM] = "sm_ppm",
	[GPU_VALUE_OCCUPANCY_PPM] = "occupancy_ppm",
	[GPU_VALUE_TENSOR_PPM] = "tensor_ppm",
	[GPU_VALUE_FP64_PPM] = "fp64_ppm",
	[GPU_VALUE_FP32_PPM] = "fp32_ppm",
	[GPU_VALUE_FP16_PPM] = "fp16_ppm",
	[GPU_VALUE_DRAM_PPM] = "dram_ppm",
	[GPU_VALUE_PCIE_RX_BPS] = "pcie_rx_bps",
	[GPU_VALUE_PCIE_TX_BPS] = "pcie_tx_bps",
	[GPU_VALUE_NVLINK_RX_BPS] = "nvlink_rx_bps",
	[GPU_VALUE_NVLINK_TX_BPS] = "nvlink_tx_bps",
};

void gpu_values_forget(uint64_t value[GPU_VALUE_N])
{
	unsigned int v;

	for (v = 0; v < GPU_VALUE_N; v++)
		value[v] = GPU_VALUE_UNKNOWN;
}

const char *gpu_value_name(enum gpu_value v)
{
	return (unsigned int)v < GPU_VALUE_N ? name[v] : "?";
}

enum gpu_value gpu_value_find(const char *wanted)
{
	unsigned int v;

	for (v = 0; v < GPU_VALUE_N; v++)
		if (!strcmp(name[v], wanted))
			break;
	return (enum gpu_value)v;
}
