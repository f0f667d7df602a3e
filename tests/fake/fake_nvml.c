/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stand-in for libnvidia-ml.so.1: see fake_gpu.h. A handle is the index plus one. */
#include <stdint.h>

#include "fake_gpu.h"
#include "src/helpers/nvml_api.h"

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

static int ask(nvmlDevice_t device, struct fake_gpu *ret)
{
	if (!opened)
		return NVML_ERROR_UNINITIALIZED;
	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!fake_gpu((unsigned int)((uintptr_t)device - 1), ret))
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
