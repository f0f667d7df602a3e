/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The GPUs of NVIDIA; ceems-gpu loads their library. */
#include "src/libmeter/sensor/gpu_source.h"

static int nvml_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	return gpu_source_open(SOURCE_NVML, env->nvml_library, "/proc/driver/nvidia/version", env, ret, err);
}

HELPER_SOURCE(nvml, .id = SOURCE_NVML, .gpus = helper_source_gpus, .instances = helper_source_instances,
	      .slices = helper_source_slices);
