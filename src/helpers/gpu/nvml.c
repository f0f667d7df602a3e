/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NVML for ceems-gpu: what NVIDIA's GPUs used, by their own energy counters, or, for a GPU before
 * Volta, by its power over time. With MIG, a GPU still has one counter: its slices are told apart
 * where the energy is split. NVML is asked how many
 * processes use a GPU, never which: Slurm knows whose job holds it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/helpers/gpu/nvml.h"
#include "src/libutil/util.h"

#define SYMBOL(field, function)                                              \
	{                                                                    \
		.name = function, .offset = offsetof(struct nvml_api, field) \
	}
#define OPTIONAL(field, function)                                                                 \
	{                                                                                         \
		.name = function, .offset = offsetof(struct nvml_api, field), .is_optional = true \
	}

static const struct gpu_symbol symbols[] = {
	SYMBOL(init, "nvmlInit_v2"),
	SYMBOL(shutdown, "nvmlShutdown"),
	SYMBOL(get_count, "nvmlDeviceGetCount_v2"),
	SYMBOL(get_handle, "nvmlDeviceGetHandleByIndex_v2"),
	SYMBOL(get_minor, "nvmlDeviceGetMinorNumber"),
	SYMBOL(get_name, "nvmlDeviceGetName"),
	SYMBOL(get_uuid, "nvmlDeviceGetUUID"),
	SYMBOL(get_power, "nvmlDeviceGetPowerUsage"),
	OPTIONAL(get_energy, "nvmlDeviceGetTotalEnergyConsumption"), /* driver 396 and later */
	OPTIONAL(get_fields, "nvmlDeviceGetFieldValues"),
	OPTIONAL(get_c2c_mode, "nvmlDeviceGetC2cModeInfoV"),
	OPTIONAL(get_memory_affinity, "nvmlDeviceGetMemoryAffinity"),
	OPTIONAL(get_utilization, "nvmlDeviceGetUtilizationRates"),
	OPTIONAL(get_memory, "nvmlDeviceGetMemoryInfo"),
	OPTIONAL(get_power_limit, "nvmlDeviceGetEnforcedPowerLimit"),
	OPTIONAL(get_clock, "nvmlDeviceGetClockInfo"),
	OPTIONAL(get_event_reasons, "nvmlDeviceGetCurrentClocksEventReasons"),
	OPTIONAL(get_throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"),
	OPTIONAL(get_ecc_errors, "nvmlDeviceGetTotalEccErrors"),
	OPTIONAL(get_compute_v3, "nvmlDeviceGetComputeRunningProcesses_v3"),
	OPTIONAL(get_compute_v2, "nvmlDeviceGetComputeRunningProcesses_v2"),
	OPTIONAL(get_graphics_v3, "nvmlDeviceGetGraphicsRunningProcesses_v3"),
	OPTIONAL(get_graphics_v2, "nvmlDeviceGetGraphicsRunningProcesses_v2"),
	OPTIONAL(gpm_query, "nvmlGpmQueryDeviceSupport"),
	OPTIONAL(gpm_alloc, "nvmlGpmSampleAlloc"),
	OPTIONAL(gpm_free, "nvmlGpmSampleFree"),
	OPTIONAL(gpm_sample, "nvmlGpmSampleGet"),
	OPTIONAL(gpm_mig_sample, "nvmlGpmMigSampleGet"),
	OPTIONAL(gpm_metrics, "nvmlGpmMetricsGet"),
	OPTIONAL(events_create, "nvmlEventSetCreate"),
	OPTIONAL(events_free, "nvmlEventSetFree"),
	OPTIONAL(events_register, "nvmlDeviceRegisterEvents"),
	OPTIONAL(events_wait, "nvmlEventSetWait_v2"),
	OPTIONAL(get_mig_mode, "nvmlDeviceGetMigMode"),
	OPTIONAL(get_max_mig, "nvmlDeviceGetMaxMigDeviceCount"),
	OPTIONAL(get_mig, "nvmlDeviceGetMigDeviceHandleByIndex"),
	OPTIONAL(get_gi, "nvmlDeviceGetGpuInstanceId"),
	OPTIONAL(get_ci, "nvmlDeviceGetComputeInstanceId"),
	OPTIONAL(get_attributes, "nvmlDeviceGetAttributes_v2"),
	OPTIONAL(get_profile, "nvmlDeviceGetGpuInstanceProfileInfo"),
};

static int nvml_errno(int nvml_rc)
{
	switch (nvml_rc) {
	case NVML_SUCCESS:
		return 0;
	case NVML_ERROR_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case NVML_ERROR_NO_PERMISSION:
		return -EACCES;
	case NVML_ERROR_UNINITIALIZED:
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return -ENXIO;
	case NVML_ERROR_TIMEOUT:
		return -ETIMEDOUT;
	case NVML_ERROR_GPU_IS_LOST:
		return -ENODEV;
	default:
		return -EIO;
	}
}

static void close_library(void *library)
{
	struct nvml *n = library;

	nvml_close_use(n);
	(void)n->api.shutdown();
	(void)dlclose(n->dl);
	free(n);
}

static int open_library(const char *path, const char *root, void **ret, struct errmsg *err)
{
	_cleanup_free_ struct nvml *n = calloc(1, sizeof(*n));
	int rc;

	(void)root;
	if (!n)
		return errmsg_errno(err, -ENOMEM, "library");
	rc = gpu_load(path, symbols, ARRAY_SIZE(symbols), &n->api, &n->dl, err);
	if (rc < 0)
		return rc;
	rc = nvml_errno(n->api.init());
	if (rc < 0) {
		(void)dlclose(n->dl);
		return errmsg_errno(err, rc, "nvmlInit");
	}
	*ret = TAKE_PTR(n);
	return 0;
}

static int nvml_identify(void *library, unsigned int index, struct gpu_device *ret)
{
	const struct nvml *n = library;
	char uuid[NVML_DEVICE_UUID_BUFFER_SIZE] = "";
	unsigned long long energy_mj;
	nvmlDevice_t device;
	unsigned int power_mw;
	unsigned int minor;
	int rc;

	rc = n->api.get_handle(index, &device);
	if (rc == NVML_SUCCESS)
		rc = n->api.get_minor(device, &minor);
	if (rc == NVML_SUCCESS)
		rc = n->api.get_uuid(device, uuid, sizeof(uuid));
	if (rc == NVML_SUCCESS)
		rc = n->api.get_name(device, ret->model, sizeof(ret->model));
	if (rc != NVML_SUCCESS)
		return nvml_errno(rc);
	ret->model[sizeof(ret->model) - 1] = '\0';
	ret->handle = (uintptr_t)device;
	ret->unit = minor < GPUS_MAX ? minor : GPUS_MAX - 1;
	uuid[sizeof(uuid) - 1] = '\0';
	(void)snprintf(ret->id, sizeof(ret->id), "%.*s", (int)sizeof(ret->id) - 1, uuid);
	ret->is_superchip = nvml_is_superchip(n, device, ret->model);
	if (ret->is_superchip) {
		nvml_find_meters(n, device, ret);
		ret->has_counter = ret->own.kind == GPU_METER_ENERGY;
		return ret->own.kind || (ret->of_module.kind && ret->is_placed) ? 0 : -EOPNOTSUPP;
	}
	ret->has_counter = n->api.get_energy &&
			   n->api.get_energy(device, &energy_mj) != NVML_ERROR_NOT_SUPPORTED;
	/* a virtual GPU, or one for a screen */
	if (!ret->has_counter && n->api.get_power(device, &power_mw) == NVML_ERROR_NOT_SUPPORTED)
		return -EOPNOTSUPP;
	return 0;
}

static int count_devices(void *library, struct errmsg *err)
{
	const struct nvml *n = library;
	unsigned int count = 0;
	int rc = nvml_errno(n->api.get_count(&count));

	return rc < 0 ? errmsg_errno(err, rc, "nvmlDeviceGetCount") : (int)count;
}

static uint64_t uj_of(uint64_t mj)
{
	return mj <= UINT64_MAX / 1000 ? mj * 1000 : GPU_VALUE_UNKNOWN; /* absurd, and so unknown */
}

static int read_module(void *library, const struct gpu_device *d, uint64_t *ret)
{
	const struct nvml *n = library;
	int rc = nvml_ask(n, (nvmlDevice_t)d->handle, &d->of_module, NVML_POWER_SCOPE_MODULE, ret);

	if (rc == NVML_SUCCESS && d->of_module.kind == GPU_METER_ENERGY)
		*ret = uj_of(*ret);
	return nvml_errno(rc);
}

/* The GPU's own value. The power of a GPU that counts is only shown. */
static int read_superchip(const struct nvml *n, const struct gpu_device *d, struct gpu_sample *ret)
{
	const struct gpu_meter power = {
		.kind = GPU_METER_POWER,
		.query = d->has_counter ? NVML_FI_DEV_POWER_AVERAGE : d->own.query,
	};
	nvmlDevice_t device = (nvmlDevice_t)d->handle;
	uint64_t value = 0;
	int rc = nvml_ask(n, device, &power, NVML_POWER_SCOPE_GPU, &value);

	if (rc == NVML_SUCCESS)
		ret->power_mw = value;
	if (!d->has_counter)
		return nvml_errno(rc);
	rc = nvml_ask(n, device, &d->own, NVML_POWER_SCOPE_GPU, &value);
	if (rc == NVML_SUCCESS)
		ret->energy_uj = uj_of(value);
	return nvml_errno(rc);
}

static int read_energy(void *library, const struct gpu_device *d, struct gpu_sample *ret)
{
	const struct nvml *n = library;
	nvmlDevice_t device = (nvmlDevice_t)d->handle;
	unsigned long long energy_mj = 0;
	unsigned int power_mw = 0;
	int power_rc;
	int rc;

	if (d->is_superchip)
		return read_superchip(n, d, ret);
	power_rc = n->api.get_power(device, &power_mw);
	if (power_rc == NVML_SUCCESS)
		ret->power_mw = power_mw;
	if (!d->has_counter)
		return nvml_errno(power_rc);
	rc = n->api.get_energy(device, &energy_mj);
	if (rc != NVML_SUCCESS)
		return nvml_errno(rc);
	ret->energy_uj = uj_of(energy_mj);
	return 0;
}

/* The whole GPU is its largest profile: the driver keeps some memory for itself. */
static bool whole_slice(const struct nvml *n, nvmlDevice_t device, struct gpu_slice *ret)
{
	nvmlGpuInstanceProfileInfo_t info;
	unsigned int i;

	*ret = (struct gpu_slice){ .gi = GPU_SLICE_WHOLE };
	for (i = 0; n->api.get_profile && i < NVML_GPU_INSTANCE_PROFILES; i++) {
		if (n->api.get_profile(device, i, &info) != NVML_SUCCESS || info.sliceCount <= ret->slices ||
		    info.sliceCount > UINT8_MAX || info.memorySizeMB > UINT32_MAX)
			continue;
		ret->slices = ret->gi_slices = (uint8_t)info.sliceCount;
		ret->mem_mb = (uint32_t)info.memorySizeMB;
	}
	return ret->slices > 0;
}

static bool instance_slice(struct nvml *n, nvmlDevice_t device, unsigned int index, struct gpu_slice *ret)
{
	nvmlDeviceAttributes_t a;
	unsigned int gi, ci;
	nvmlDevice_t mig;

	if (n->api.get_mig(device, index, &mig) != NVML_SUCCESS || n->api.get_gi(mig, &gi) != NVML_SUCCESS ||
	    n->api.get_ci(mig, &ci) != NVML_SUCCESS || n->api.get_attributes(mig, &a) != NVML_SUCCESS ||
	    gi >= GPU_SLICE_WHOLE || ci > UINT8_MAX || a.gpuInstanceSliceCount > UINT8_MAX ||
	    a.computeInstanceSliceCount > a.gpuInstanceSliceCount || a.memorySizeMB > UINT32_MAX)
		return false;
	*ret = (struct gpu_slice){
		.gi = (uint8_t)gi,
		.ci = (uint8_t)ci,
		.slices = (uint8_t)a.computeInstanceSliceCount,
		.gi_slices = (uint8_t)a.gpuInstanceSliceCount,
		.mem_mb = (uint32_t)a.memorySizeMB,
	};
	nvml_keep_instance(n, device, mig, gi, a.gpuInstanceSliceCount);
	return true;
}

static size_t nvml_slices(void *library, const struct gpu_device *d, struct gpu_slice *ret, size_t max)
{
	struct nvml *n = library;
	nvmlDevice_t device = (nvmlDevice_t)d->handle;
	unsigned int is_on = 0, pending, count = 0;
	size_t used = 0;
	unsigned int i;

	if (!n->api.get_mig_mode || n->api.get_mig_mode(device, &is_on, &pending) != NVML_SUCCESS || !is_on ||
	    !max)
		return 0;
	used += whole_slice(n, device, &ret[used]);
	if (!n->api.get_max_mig || !n->api.get_mig || !n->api.get_gi || !n->api.get_ci ||
	    !n->api.get_attributes || n->api.get_max_mig(device, &count) != NVML_SUCCESS)
		return used;
	for (i = 0; i < count && used < max; i++)
		used += instance_slice(n, device, i, &ret[used]);
	return used;
}

const struct gpu_library_ops gpu_library_nvml = {
	.name = "nvml",
	.open = open_library,
	.count = count_devices,
	.identify = nvml_identify,
	.read_energy = read_energy,
	.read_module = read_module,
	.read_usage = nvml_read_use,
	.read_errors = nvml_read_errors,
	.slices = nvml_slices,
	.read_instances = nvml_read_instances,
	.close = close_library,
};
