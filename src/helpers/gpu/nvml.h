/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvml.h - the open NVML library: its functions, and the state of each GPU. Private to nvml.c and
 * nvml_use.c.
 */
#ifndef CEEMS_NVML_H
#define CEEMS_NVML_H

#include "src/helpers/gpu/gpu.h"
#include "src/helpers/gpu/nvml_api.h"

struct nvml_gpm {
	bool is_supported;
	bool has_sample;
	unsigned int last; /* index of the sample taken by the last reading */
	nvmlGpmSample_t sample[2];
};

/*
 * A GPU instance. There are at most 7, with at most 7 compute instances in all, each of which has a
 * handle.
 */
#define NVML_INSTANCES_MAX 7
struct nvml_instance {
	unsigned int gi, slices;
	size_t nhandles;
	nvmlDevice_t handle[NVML_INSTANCES_MAX];
	struct nvml_gpm gpm;
	uint64_t xids;
};

/* The state of one GPU, from its first reading on. */
struct nvml_use {
	nvmlDevice_t device;
	struct nvml_gpm gpm;
	nvmlEventSet_t events; /* NULL: it tells none */
	uint64_t xids;
	uint64_t common_xids; /* the part of them that is of no instance */
	size_t ninstances;
	struct nvml_instance instance[NVML_INSTANCES_MAX];
};

struct nvml {
	void *dl;
	struct nvml_api api;
	size_t nused;
	struct nvml_use use[GPU_DEVICES_MAX];
};

/*
 * nvml_scope.c. Asks for the value that M describes: mJ or mW. SCOPE is used only for field values.
 * Returns an NVML error.
 */
int nvml_ask(const struct nvml *n, nvmlDevice_t device, const struct gpu_meter *m, unsigned int scope,
	     uint64_t *ret) _must_check_;
/* Returns true if the GPU shares a module with a CPU. */
bool nvml_is_superchip(const struct nvml *n, nvmlDevice_t device, const char *model);
/* Finds out how to ask for the GPU's own energy and for that of its module; sets D's own to placed. */
void nvml_find_meters(const struct nvml *n, nvmlDevice_t device, struct gpu_device *d);

/* As read_usage() of struct gpu_library_ops. */
void nvml_read_use(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N]);

/* As read_errors() of gpu.h. Errors are counted from the GPU's first reading on. */
void nvml_read_errors(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N]);

/* Adds a compute instance of GPU instance GI; called by nvml.c, which finds them. */
void nvml_keep_instance(struct nvml *n, nvmlDevice_t device, nvmlDevice_t mig, unsigned int gi,
			unsigned int slices);
/* As read_instances(). */
size_t nvml_read_instances(void *library, const struct gpu_device *d, struct gpu_instance *ret, size_t max);

/* Frees what they keep. */
void nvml_close_use(struct nvml *n);

#endif
