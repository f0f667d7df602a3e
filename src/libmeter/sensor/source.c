/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libmeter/sensor/source.h"

#include "src/libutil/util.h"

const struct source_ops *const source_builtin[] = {
	&source_external, &source_cray,	   &source_rapl, &source_hwmon, &source_nvml,
	&source_rocm,	  &source_redfish, &source_ipmi, &source_model,
};
const size_t source_nbuiltin = ARRAY_SIZE(source_builtin);
