/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The GPUs of AMD; ceems-gpu loads their library. */
#include "src/libmeter/sensor/gpu_source.h"

static int rocm_open(const struct source_env *env, struct source **ret, struct errmsg *err)
{
	return gpu_source_open(SOURCE_ROCM, env->rocm_library, "/sys/class/kfd/kfd/topology/generation_id",
			       env, ret, err);
}

HELPER_SOURCE(rocm, .id = SOURCE_ROCM, .gpus = helper_source_gpus, .instances = helper_source_instances);
