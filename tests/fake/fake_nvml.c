/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stand-in for libnvidia-ml.so.1: see fake_gpu.h. A handle is the index plus one; a MIG device's has
 * its own index plus one in the bits above MIG_SHIFT.
 */
#include <stdint.h>

#include "fake_gpu.h"
#include "src/helpers/gpu/nvml_api.h"

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
EXPORTED int nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values);
EXPORTED int nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_t *info);
EXPORTED int nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int size, unsigned long *nodes,
					 int scope);
EXPORTED int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization);
EXPORTED int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
EXPORTED int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit);
EXPORTED int nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned int *mhz);
EXPORTED int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons);
EXPORTED int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int error, int counter,
					 unsigned long long *count);
EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
						     nvmlProcessInfo_t *info);
EXPORTED int nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
						      nvmlProcessInfo_t *info);
EXPORTED int nvmlEventSetCreate(nvmlEventSet_t *set);
EXPORTED int nvmlEventSetFree(nvmlEventSet_t set);
EXPORTED int nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set);
EXPORTED int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms);
EXPORTED int nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support);
EXPORTED int nvmlGpmSampleAlloc(nvmlGpmSample_t *sample);
EXPORTED int nvmlGpmSampleFree(nvmlGpmSample_t sample);
EXPORTED int nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample);
EXPORTED int nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int gi, nvmlGpmSample_t sample);
EXPORTED int nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *metrics);
EXPORTED int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending);
EXPORTED int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count);
EXPORTED int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig);
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
		(void)snprintf(name, length, "NVIDIA %sStand-in", fake_is(&g, "gh200") ? "GH200 " : "");
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
/* False: the driver does not have the field for this GPU. */
static bool field_value(const struct fake_gpu *g, const nvmlFieldValue_t *field, unsigned long long *ret)
{
	bool is_module = field->scopeId == NVML_POWER_SCOPE_MODULE && !fake_is(g, "one-scope");

	switch (field->fieldId) {
	case NVML_FI_DEV_POWER_AVERAGE:
	case NVML_FI_DEV_POWER_INSTANT:
		*ret = is_module ? fake_number(g, "module=") : g->power_mw;
		return fake_is(g, "module=");
	case NVML_FI_DEV_ENERGY:
		*ret = is_module ? g->energy : fake_number(g, "gpu-mj=");
		return fake_is(g, "gpu-mj=");
	default:
		return false;
	}
}

int nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
	unsigned long long value = 0;
	struct fake_gpu g;
	int rc = ask(device, &g);
	int i;

	for (i = 0; rc == NVML_SUCCESS && i < count; i++) {
		bool is_there = field_value(&g, &values[i], &value);

		values[i].nvmlReturn = is_there ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
		values[i].valueType = values[i].fieldId == NVML_FI_DEV_ENERGY ?
					      NVML_VALUE_TYPE_UNSIGNED_LONG_LONG :
					      NVML_VALUE_TYPE_UNSIGNED_INT;
		if (values[i].valueType == NVML_VALUE_TYPE_UNSIGNED_INT)
			values[i].value.uiVal = (unsigned int)value;
		else
			values[i].value.ullVal = value;
	}
	return rc;
}

int nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_t *info)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	info->isC2cEnabled = 1;
	return rc == NVML_SUCCESS && !fake_is(&g, "c2c") ? NVML_ERROR_NOT_SUPPORTED : rc;
}

int nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int size, unsigned long *nodes, int scope)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == NVML_SUCCESS && (!size || scope != NVML_AFFINITY_SCOPE_NODE))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (rc == NVML_SUCCESS)
		nodes[0] = fake_is(&g, "near=") ? 1UL << fake_number(&g, "near=") : 0;
	return rc;
}

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
		       NVML_SUCCESS :
		       NVML_ERROR_NOT_FOUND;
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

/* For functions that a GPU may not support. */
static int ask_use(nvmlDevice_t device, struct fake_gpu *ret)
{
	int rc = ask(device, ret);

	return rc == NVML_SUCCESS && fake_is(ret, "no-use") ? NVML_ERROR_NOT_SUPPORTED : rc;
}

int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit)
{
	struct fake_gpu g;

	*limit = 700000;
	return ask_use(device, &g);
}

int nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned int *mhz)
{
	struct fake_gpu g;

	*mhz = type == NVML_CLOCK_SM ? 1980 : 2619;
	return ask_use(device, &g);
}

int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons)
{
	struct fake_gpu g;
	int rc = ask_use(device, &g);

	if (rc == NVML_SUCCESS)
		*reasons = fake_number(&g, "reasons=");
	return rc;
}

int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int error, int counter, unsigned long long *count)
{
	struct fake_gpu g;
	int rc = ask_use(device, &g);

	if (rc == NVML_SUCCESS && (error != NVML_ECC_UNCORRECTED || counter != NVML_ECC_VOLATILE))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (rc == NVML_SUCCESS)
		*count = fake_number(&g, "ecc=");
	return rc;
}

static bool is_mig(nvmlDevice_t device)
{
	return (uintptr_t)device >> MIG_SHIFT;
}

/* Of a MIG device: its GPU instance's. */
static unsigned int mig_number(nvmlDevice_t mig)
{
	unsigned int v[5];

	return ask_mig(mig, v) == NVML_SUCCESS ? v[0] : 0;
}

/* The count only, which is all that the NVML source asks for: INFO must be NULL. */
static int count_processes(nvmlDevice_t device, const char *flag, unsigned int *count, const void *info)
{
	struct fake_gpu g;
	int rc = ask_use(device, &g);

	if (rc != NVML_SUCCESS)
		return rc;
	if (*count || info)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = is_mig(device) ? mig_number(device) : (unsigned int)fake_number(&g, flag);
	return *count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *info)
{
	return count_processes(device, "processes=", count, info);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
					     nvmlProcessInfo_t *info)
{
	if (is_mig(device))
		return NVML_SUCCESS; /* it does not draw */
	return count_processes(device, "drawing=", count, info);
}

/* The XID events of one GPU, from its registration on. */
struct nvmlEventSet_st {
	nvmlDevice_t device;
	unsigned long long seen;
};

int nvmlEventSetCreate(nvmlEventSet_t *set)
{
	*set = calloc(1, sizeof(**set));
	return *set ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

int nvmlEventSetFree(nvmlEventSet_t set)
{
	free(set);
	return NVML_SUCCESS;
}

int nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	struct fake_gpu g;
	int rc = ask_use(device, &g);

	if (types != NVML_EVENT_XID || set->device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (rc == NVML_SUCCESS)
		*set = (struct nvmlEventSet_st){ .device = device, .seen = fake_number(&g, "xid=") };
	return rc;
}

int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
	struct fake_gpu g;
	int rc = ask(set->device, &g);

	if (timeout_ms)
		return NVML_ERROR_INVALID_ARGUMENT; /* the NVML source must not wait here */
	if (rc != NVML_SUCCESS && rc != NVML_ERROR_GPU_IS_LOST)
		return rc;
	if (fake_number(&g, "xid=") <= set->seen)
		return NVML_ERROR_TIMEOUT;
	set->seen++;
	*data = (nvmlEventData_t){ .device = set->device,
				   .eventType = NVML_EVENT_XID,
				   .eventData = 79,
				   .gpuInstanceId = fake_is(&g, "xidgi=") ?
							    (unsigned int)fake_number(&g, "xidgi=") :
							    UINT32_MAX,
				   .computeInstanceId = UINT32_MAX };
	return NVML_SUCCESS;
}

/* A sample is a copy of the GPU's line; metrics between two samples are those of the later one. */
struct nvmlGpmSample_st {
	struct fake_gpu gpu;
	unsigned int gi;       /* 0: of the whole GPU; the stand-in has no instance of that number */
	struct timespec taken; /* 0: not yet */
};

int nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
	struct fake_gpu g;
	int rc = ask_use(device, &g);

	if (support->version != NVML_GPM_SUPPORT_VERSION)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (rc == NVML_SUCCESS)
		support->isSupportedDevice = fake_is(&g, "gpm=");
	return rc;
}

int nvmlGpmSampleAlloc(nvmlGpmSample_t *sample)
{
	*sample = calloc(1, sizeof(**sample));
	return *sample ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

int nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
	free(sample);
	return NVML_SUCCESS;
}

int nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample)
{
	int rc = ask(device, &sample->gpu);

	(void)clock_gettime(CLOCK_MONOTONIC, &sample->taken);
	sample->gi = 0;
	return rc == NVML_SUCCESS && mig_part(&sample->gpu, 0) ? NVML_ERROR_NOT_SUPPORTED : rc;
}

int nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int gi, nvmlGpmSample_t sample)
{
	int rc = ask(device, &sample->gpu);

	(void)clock_gettime(CLOCK_MONOTONIC, &sample->taken);
	sample->gi = gi;
	return rc == NVML_SUCCESS && !mig_part(&sample->gpu, 0) ? NVML_ERROR_NOT_SUPPORTED : rc;
}

static int gpm_value(const struct fake_gpu *g, unsigned int id, double *ret)
{
	const char *p = strstr(g->flags, "gpm=");
	unsigned int at;
	int len;

	for (p = p ? p + strlen("gpm=") : ""; sscanf(p, "%u.%lf%n", &at, ret, &len) == 2; p += len + 1)
		if (at == id)
			return NVML_SUCCESS;
		else if (p[len] != '+')
			break;
	return NVML_ERROR_NOT_SUPPORTED;
}

int nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *metrics)
{
	const struct timespec *a = &metrics->sample1->taken;
	const struct timespec *b = &metrics->sample2->taken;
	unsigned int i;

	if (metrics->version != NVML_GPM_METRICS_GET_VERSION || !a->tv_sec ||
	    (b->tv_sec - a->tv_sec) * 1000 + (b->tv_nsec - a->tv_nsec) / 1000000 < 100)
		return NVML_ERROR_INVALID_ARGUMENT; /* too close, or the wrong way round */
	for (i = 0; i < metrics->numMetrics; i++) {
		metrics->metrics[i].nvmlReturn = gpm_value(&metrics->sample2->gpu,
							   metrics->metrics[i].metricId,
							   &metrics->metrics[i].value);
		if (metrics->sample2->gi && metrics->metrics[i].metricId == NVML_GPM_SM_UTIL)
			metrics->metrics[i].value = metrics->sample2->gi * 10;
		if (metrics->sample2->gi &&
		    fake_number(&metrics->sample2->gpu, "idlegi=") == metrics->sample2->gi)
			metrics->metrics[i].value = 0;
	}
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

#ifndef FAKE_OLD
	unsigned int v[5];

	if (rc == NVML_SUCCESS && is_mig(device)) {
		rc = ask_mig(device, v);
		if (rc == NVML_SUCCESS)
			*memory = (nvmlMemory_t){ .total = (unsigned long long)v[4] << 20,
						  .used = (v[0] * 100ULL) << 20 };
		return rc;
	}
#endif
	if (rc == NVML_SUCCESS)
		*memory = (nvmlMemory_t){ .total = g.total_mib << 20, .used = g.used_mib << 20 };
	return rc;
}
