/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvml.h - the NVML library when it is open: its functions, and the GPM samples of each GPU. For nvml.c and nvml_use.c.
 */
#ifndef CEEMS_NVML_H
#define CEEMS_NVML_H

#include "src/helpers/gpu.h"
#include "src/helpers/nvml_api.h"

/* GPM of one GPU, from its first reading on. */
struct nvml_gpm {
	nvmlDevice_t device;
	bool is_supported;
	bool has_sample;
	unsigned int last; /* index of the sample that the last reading took */
	nvmlGpmSample_t sample[2];
};

struct nvml {
	void *dl;
	struct nvml_api api;
	size_t ngpm;
	struct nvml_gpm gpm[GPU_DEVICES_MAX];
};

/* As read_usage() of struct gpu_library_ops. */
void nvml_read_use(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N]);

/* Frees what nvml_read_use() keeps. */
void nvml_close_use(struct nvml *n);

#endif
