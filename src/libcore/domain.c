/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libcore/domain.h"

const char *domain_name(enum domain d)
{
	static const char *const names[DOMAIN_N] = { "cpu", "dram", "gpu", "other" };

	return (unsigned int)d < DOMAIN_N ? names[d] : "?";
}

const char *source_name(enum source_id id)
{
	static const char *const names[SOURCE_N] = {
		[SOURCE_EXTERNAL] = "external", [SOURCE_CRAY] = "cray",
		[SOURCE_RAPL] = "rapl",		[SOURCE_HWMON] = "hwmon",
		[SOURCE_NVML] = "nvml",		[SOURCE_ROCM] = "rocm",
		[SOURCE_REDFISH] = "redfish",	[SOURCE_IPMI] = "ipmi",
		[SOURCE_MODEL] = "model",
	};

	return (unsigned int)id < SOURCE_N ? names[id] : "?";
}
