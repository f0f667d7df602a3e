/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stand-in for libnvidia-ml.so.1: see fake_gpu.h. A handle is the index plus one; a MIG device's has
 * its own index plus one in the bits above MIG_SHIFT.
 */
#include <stdint.h>

#include "fake_gpu.h"
#include "src/helpers/nvml_api.h"

#define MIG_SHIFT 8
#define MIG_DEVICES 7

static int opened;
static struct timespec opened_at;

EXPORTED int nvmlInit_v2(void);
EXPORTED int nvmlShutdown(void);
EXPORTED int nvmlDeviceGetCount_v2(unsigned int *count);
EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);
EXPORTED int nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor);
EXPORTED int nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length);
EXPORTED int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length);
EXPORTED int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy);
EXPORTED int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power);
EXPORTED int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization);
EXPORTED int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
EXPORTED int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending);
EXPORTED int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count);
EXPORTED int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
						 nvmlDevice_t *mig);
EXPORTED int nvmlDeviceGetGpuInstanceId(nvmlDevice_t mig, unsigned int *id);
EXPORTED int nvmlDeviceGetComputeInstanceId(nvmlDevice_t mig, unsigned int *id);
EXPORTED int nvmlDeviceGetAttributes_v2(nvmlDevice_t mig, nvmlDeviceAttributes_t *attributes);
EXPORTED int nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile,
						 nvmlGpuInstanceProfileInfo_t *info);

static int ask(nvmlDevice_t device, struct fake_gpu *ret)
{
	if (!opened)
		return NVML_ERROR_UNINITIALIZED;
	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!fake_gpu((unsigned int)(((uintptr_t)device & ((1 << MIG_SHIFT) - 1)) - 1), ret))
		return NVML_ERROR_UNKNOWN;
	if (fake_is(ret, "reset") && fake_is_older(&opened_at))
		return NVML_ERROR_RESET_REQUIRED;
	return fake_is(ret, "lost") ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

int nvmlInit_v2(void)
{
	struct fake_gpu all[FAKE_GPUS_MAX];

	if (fake_gpus(all) < 0)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	opened++;
	(void)clock_gettime(CLOCK_REALTIME, &opened_at);
	return NVML_SUCCESS;
}

int nvmlShutdown(void)
{
	if (!opened)
		return NVML_ERROR_UNINITIALIZED;
	opened--;
	return NVML_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	struct fake_gpu all[FAKE_GPUS_MAX];
	int n = fake_gpus(all);

	if (!opened || n < 0)
		return NVML_ERROR_UNINITIALIZED;
	*count = (unsigned int)n;
	return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	struct fake_gpu g;

	*device = (nvmlDevice_t)(uintptr_t)(index + 1);
	return ask(*device, &g);
}

int nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == NVML_SUCCESS)
		*minor = g.minor;
	return rc;
}

int nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == NVML_SUCCESS)
		(void)snprintf(name, length, "NVIDIA Stand-in");
	return rc;
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == NVML_SUCCESS)
		(void)snprintf(uuid, length, "GPU-00000000-0000-0000-0000-%012u", g.minor);
	return rc;
}

#ifndef FAKE_OLD
/* The N-th part of "mig=" behind its "+"; NULL: there are not so many. */
static const char *mig_part(const struct fake_gpu *g, unsigned int n)
{
	const char *p = strstr(g->flags, "mig=");

	for (p = p ? p + strlen("mig=") : NULL; p && n; n--) {
		p = strchr(p, '+');
		p = p ? p + 1 : NULL;
	}
	return p;
}

/* gi, ci, slices, slices of the GPU instance, MB */
static int ask_mig(nvmlDevice_t mig, unsigned int ret[5])
{
	struct fake_gpu g;
	int rc = ask(mig, &g);
	const char *part = rc == NVML_SUCCESS ? mig_part(&g, (unsigned int)((uintptr_t)mig >> MIG_SHIFT)) :
						NULL;

	if (rc != NVML_SUCCESS)
		return rc;
	return part && sscanf(part, "%u.%u.%u.%u.%u", &ret[0], &ret[1], &ret[2], &ret[3], &ret[4]) == 5 ?
		       NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == NVML_SUCCESS)
		*current = *pending = mig_part(&g, 0) != NULL;
	return rc;
}

int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
	struct fake_gpu g;

	*count = MIG_DEVICES;
	return ask(device, &g);
}

/* As the driver, with holes: the first index has no device. */
int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig)
{
	unsigned int v[5];

	*mig = (nvmlDevice_t)((uintptr_t)device | (uintptr_t)index << MIG_SHIFT);
	return index ? ask_mig(*mig, v) : NVML_ERROR_NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(nvmlDevice_t mig, unsigned int *id)
{
	unsigned int v[5];
	int rc = ask_mig(mig, v);

	if (rc == NVML_SUCCESS)
		*id = v[0];
	return rc;
}

int nvmlDeviceGetComputeInstanceId(nvmlDevice_t mig, unsigned int *id)
{
	unsigned int v[5];
	int rc = ask_mig(mig, v);

	if (rc == NVML_SUCCESS)
		*id = v[1];
	return rc;
}

int nvmlDeviceGetAttributes_v2(nvmlDevice_t mig, nvmlDeviceAttributes_t *attributes)
{
	unsigned int v[5];
	int rc = ask_mig(mig, v);

	if (rc == NVML_SUCCESS)
		*attributes = (nvmlDeviceAttributes_t){ .computeInstanceSliceCount = v[2],
							.gpuInstanceSliceCount = v[3],
							.memorySizeMB = v[4] };
	return rc;
}

/* The first profile is of one slice, the fifth of all. */
int nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile,
					nvmlGpuInstanceProfileInfo_t *info)
{
	unsigned int slices, mb;
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc != NVML_SUCCESS)
		return rc;
	if ((profile && profile != 4) || !mig_part(&g, 0) ||
	    sscanf(mig_part(&g, 0), "%u.%u", &slices, &mb) != 2)
		return NVML_ERROR_NOT_SUPPORTED;
	*info = (nvmlGpuInstanceProfileInfo_t){ .sliceCount = profile ? slices : 1,
						.memorySizeMB = profile ? mb : mb / 8 };
	return NVML_SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == NVML_SUCCESS && fake_is(&g, "no-counter"))
		return NVML_ERROR_NOT_SUPPORTED;
	if (rc == NVML_SUCCESS)
		*energy = g.energy;
	return rc;
}
#endif

int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == NVML_SUCCESS && fake_is(&g, "no-power"))
		return NVML_ERROR_NOT_SUPPORTED;
	if (rc == NVML_SUCCESS)
		*power = g.power_mw;
	return rc;
}

int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == NVML_SUCCESS && fake_is(&g, "mig"))
		return NVML_ERROR_NOT_SUPPORTED;
	if (rc == NVML_SUCCESS)
		*utilization = (nvmlUtilization_t){ .gpu = g.busy };
	return rc;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == NVML_SUCCESS)
		*memory = (nvmlMemory_t){ .total = g.total_mib << 20, .used = g.used_mib << 20 };
	return rc;
}
