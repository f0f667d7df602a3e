/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/domain.h"

const struct domain_info domain_table[DOMAIN_N] = {
	[DOMAIN_CPU] = { "cpu", "CPU", METRIC_CPU_ENERGY, METRIC_CPU_ENERGY_STATIC, METRIC_CPU_CO2E },
	[DOMAIN_DRAM] = { "dram", "DRAM", METRIC_DRAM_ENERGY, METRIC_DRAM_ENERGY_STATIC, METRIC_DRAM_CO2E },
	[DOMAIN_GPU] = { "gpu", "GPU", METRIC_GPU_ENERGY, METRIC_GPU_ENERGY_STATIC, METRIC_GPU_CO2E },
	[DOMAIN_OTHER] = { "other", "other", METRIC_OTHER_ENERGY, METRIC_OTHER_ENERGY_STATIC,
			   METRIC_OTHER_CO2E },
};

const char *domain_name(enum domain d)
{
	return (unsigned int)d < DOMAIN_N ? domain_table[d].name : "?";
}

static const struct {
	char name[12];
	enum metric metric;
} source_table[SOURCE_N] = {
	[SOURCE_EXTERNAL] = { "external", METRIC_SOURCE_EXTERNAL },
	[SOURCE_CRAY] = { "cray", METRIC_SOURCE_CRAY },
	[SOURCE_RAPL] = { "rapl", METRIC_SOURCE_RAPL },
	[SOURCE_HWMON] = { "hwmon", METRIC_SOURCE_HWMON },
	[SOURCE_NVML] = { "nvml", METRIC_SOURCE_NVML },
	[SOURCE_ROCM] = { "rocm", METRIC_SOURCE_ROCM },
	[SOURCE_REDFISH] = { "redfish", METRIC_SOURCE_REDFISH },
	[SOURCE_IPMI] = { "ipmi", METRIC_SOURCE_IPMI },
	[SOURCE_MODEL] = { "model", METRIC_SOURCE_MODEL },
};

const char *source_name(enum source_id id)
{
	return (unsigned int)id < SOURCE_N ? source_table[id].name : "?";
}

enum metric source_metric(enum source_id id)
{
	return (unsigned int)id < SOURCE_N ? source_table[id].metric : METRIC_N;
}
