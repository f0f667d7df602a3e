/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvml_api.h - declares the part of NVIDIA's management library that is called here, and by the
 * tests' stand-in. Names, numbers and layouts are those of nvml.h of CUDA 12 (NVML API version 12),
 * the same since CUDA 11. The library is only opened with dlopen().
 */
#ifndef CEEMS_NVML_API_H
#define CEEMS_NVML_API_H

/* nvmlReturn_t */
#define NVML_SUCCESS 0
#define NVML_ERROR_UNINITIALIZED 1
#define NVML_ERROR_INVALID_ARGUMENT 2
#define NVML_ERROR_NOT_SUPPORTED 3
#define NVML_ERROR_NO_PERMISSION 4
#define NVML_ERROR_NOT_FOUND 6
#define NVML_ERROR_INSUFFICIENT_SIZE 7
#define NVML_ERROR_DRIVER_NOT_LOADED 9
#define NVML_ERROR_TIMEOUT 10
#define NVML_ERROR_GPU_IS_LOST 15
#define NVML_ERROR_RESET_REQUIRED 16
#define NVML_ERROR_UNKNOWN 999

#define NVML_DEVICE_UUID_BUFFER_SIZE 80
#define NVML_DEVICE_NAME_BUFFER_SIZE 64

typedef struct nvmlDevice_st *nvmlDevice_t;

/* In percent of the last sampling period, which is 1/6 s to 1 s. */
typedef struct {
	unsigned int gpu;
	unsigned int memory;
} nvmlUtilization_t;

/* In bytes; `used` includes what the driver reserves. */
typedef struct {
	unsigned long long total;
	unsigned long long free;
	unsigned long long used;
} nvmlMemory_t;

/* For a MIG device; the memory is that of its GPU instance. */
typedef struct {
	unsigned int multiprocessorCount;
	unsigned int sharedCopyEngineCount;
	unsigned int sharedDecoderCount;
	unsigned int sharedEncoderCount;
	unsigned int sharedJpegCount;
	unsigned int sharedOfaCount;
	unsigned int gpuInstanceSliceCount;
	unsigned int computeInstanceSliceCount;
	unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

/* Profiles have numbers from 0: those of 1 to 4, 7, 8, 6 slices, and then variants of these. */
#define NVML_GPU_INSTANCE_PROFILES 8
typedef struct {
	unsigned int id;
	unsigned int isP2pSupported;
	unsigned int sliceCount;
	unsigned int instanceCount;
	unsigned int multiprocessorCount;
	unsigned int copyEngineCount;
	unsigned int decoderCount;
	unsigned int encoderCount;
	unsigned int jpegCount;
	unsigned int ofaCount;
	unsigned long long memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;

/*
 * Field values. The power fields and NVML_FI_DEV_ENERGY need a scope; driver 535 and later. Energy in mJ
 * since the driver was loaded, power in mW; average: over a second.
 */
#define NVML_FI_DEV_POWER_AVERAGE 185
#define NVML_FI_DEV_POWER_INSTANT 186
#define NVML_FI_DEV_ENERGY 191
#define NVML_POWER_SCOPE_GPU 0
#define NVML_POWER_SCOPE_MODULE 1 /* with an NVIDIA CPU (Grace); not supported elsewhere */
#define NVML_VALUE_TYPE_UNSIGNED_INT 1
#define NVML_VALUE_TYPE_UNSIGNED_LONG 2
#define NVML_VALUE_TYPE_UNSIGNED_LONG_LONG 3
typedef struct {
	unsigned int fieldId; /* in */
	unsigned int scopeId; /* in */
	long long timestamp;
	long long latencyUsec;
	int valueType;
	int nvmlReturn;
	union {
		double dVal;
		unsigned int uiVal;
		unsigned long ulVal;
		unsigned long long ullVal;
	} value;
} nvmlFieldValue_t;

typedef struct {
	unsigned int isC2cEnabled; /* the link to the CPU on the same module */
} nvmlC2cModeInfo_t;

/* nvmlAffinityScope_t; a set of NUMA nodes has a bit for each */
#define NVML_AFFINITY_SCOPE_NODE 0
#define NVML_NODES_MAX 1024
#define NVML_NODES_PER_WORD (8 * sizeof(unsigned long))

/* nvmlClockType_t, in MHz */
#define NVML_CLOCK_SM 1
#define NVML_CLOCK_MEM 2

/* nvmlMemoryErrorType_t and nvmlEccCounterType_t; volatile: since the driver was loaded */
#define NVML_ECC_UNCORRECTED 1
#define NVML_ECC_VOLATILE 0

/*
 * nvmlClocksEventReasons (ThrottleReasons before CUDA 12.2). NVML sets HW_SLOWDOWN
 * beside its cause, or alone.
 */
#define NVML_REASON_SW_POWER_CAP 0x04ULL
#define NVML_REASON_HW_SLOWDOWN 0x08ULL
#define NVML_REASON_SW_HEAT 0x20ULL
#define NVML_REASON_HW_HEAT 0x40ULL
#define NVML_REASON_HW_POWER_BRAKE 0x80ULL
#define NVML_REASONS_POWER (NVML_REASON_SW_POWER_CAP | NVML_REASON_HW_POWER_BRAKE)
#define NVML_REASONS_HEAT (NVML_REASON_SW_HEAT | NVML_REASON_HW_HEAT)

/* For _v2 and _v3. Only the count is asked for, so no entry is filled in. */
typedef struct {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId;
	unsigned int computeInstanceId;
} nvmlProcessInfo_t;

/* nvmlGpmMetricId_t: percent, traffic in MiB/s */
#define NVML_GPM_GRAPHICS_UTIL 1
#define NVML_GPM_SM_UTIL 2
#define NVML_GPM_SM_OCCUPANCY 3
#define NVML_GPM_ANY_TENSOR_UTIL 5
#define NVML_GPM_DRAM_BW_UTIL 10
#define NVML_GPM_FP64_UTIL 11
#define NVML_GPM_FP32_UTIL 12
#define NVML_GPM_FP16_UTIL 13
#define NVML_GPM_PCIE_TX_PER_SEC 20
#define NVML_GPM_PCIE_RX_PER_SEC 21
#define NVML_GPM_NVLINK_TOTAL_RX_PER_SEC 60
#define NVML_GPM_NVLINK_TOTAL_TX_PER_SEC 61

typedef struct nvmlGpmSample_st *nvmlGpmSample_t;

typedef struct {
	unsigned int metricId; /* in */
	int nvmlReturn;
	double value;
	struct {
		char *shortName;
		char *longName;
		char *unit;
	} metricInfo;
} nvmlGpmMetric_t;

/*
 * NVML reads and writes the first numMetrics entries. nvml.h makes the array longer in each
 * version, 333 in CUDA 13's.
 */
#define NVML_GPM_METRICS_GET_VERSION 1
#define NVML_GPM_METRIC_MAX 333
typedef struct {
	unsigned int version; /* in, as all but the metrics' values */
	unsigned int numMetrics;
	nvmlGpmSample_t sample1; /* the earlier one */
	nvmlGpmSample_t sample2;
	nvmlGpmMetric_t metrics[NVML_GPM_METRIC_MAX];
} nvmlGpmMetricsGet_t;

#define NVML_GPM_SUPPORT_VERSION 1
typedef struct {
	unsigned int version; /* in */
	unsigned int isSupportedDevice;
} nvmlGpmSupport_t;

/* nvmlEventData_t of _v2; the first version has only the first three members. */
#define NVML_EVENT_XID 0x8ULL
typedef struct nvmlEventSet_st *nvmlEventSet_t;
typedef struct {
	nvmlDevice_t device;
	unsigned long long eventType;
	unsigned long long eventData; /* the XID */
	unsigned int gpuInstanceId;   /* UINT_MAX: it is of no instance */
	unsigned int computeInstanceId;
} nvmlEventData_t;

struct nvml_api {
	int (*init)(void);
	int (*shutdown)(void);
	int (*get_count)(unsigned int *count);
	int (*get_handle)(unsigned int index, nvmlDevice_t *device);
	int (*get_minor)(nvmlDevice_t device, unsigned int *minor);
	int (*get_name)(nvmlDevice_t device, char *name, unsigned int length);
	int (*get_uuid)(nvmlDevice_t device, char *uuid, unsigned int length);
	/* mJ since the driver was loaded; Volta and later */
	int (*get_energy)(nvmlDevice_t device, unsigned long long *energy);
	int (*get_power)(nvmlDevice_t device, unsigned int *power); /* mW */
	int (*get_fields)(nvmlDevice_t device, int count, nvmlFieldValue_t *values);
	int (*get_c2c_mode)(nvmlDevice_t device, nvmlC2cModeInfo_t *info); /* driver 535 and later */
	/* SIZE is the number of words */
	int (*get_memory_affinity)(nvmlDevice_t device, unsigned int size, unsigned long *nodes, int scope);
	int (*get_utilization)(nvmlDevice_t device, nvmlUtilization_t *utilization);
	int (*get_memory)(nvmlDevice_t device, nvmlMemory_t *memory);
	int (*get_power_limit)(nvmlDevice_t device, unsigned int *limit); /* mW, the lowest in force */
	int (*get_clock)(nvmlDevice_t device, int type, unsigned int *mhz);
	int (*get_event_reasons)(nvmlDevice_t device, unsigned long long *reasons);
	int (*get_throttle_reasons)(nvmlDevice_t device, unsigned long long *reasons);
	int (*get_ecc_errors)(nvmlDevice_t device, int error, int counter, unsigned long long *count);
	/* NVML_ERROR_INSUFFICIENT_SIZE: *COUNT is how many there are */
	int (*get_compute_v3)(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *info);
	int (*get_compute_v2)(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *info);
	int (*get_graphics_v3)(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *info);
	int (*get_graphics_v2)(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *info);
	/* Hopper and later; driver 525 and later. Two samples must be 100 ms apart. */
	int (*gpm_query)(nvmlDevice_t device, nvmlGpmSupport_t *support);
	int (*gpm_alloc)(nvmlGpmSample_t *sample);
	int (*gpm_free)(nvmlGpmSample_t sample);
	int (*gpm_sample)(nvmlDevice_t device, nvmlGpmSample_t sample);
	/* the metrics are then shares of the instance */
	int (*gpm_mig_sample)(nvmlDevice_t device, unsigned int gpu_instance, nvmlGpmSample_t sample);
	int (*gpm_metrics)(nvmlGpmMetricsGet_t *metrics);
	/* Linux; one event per call, NVML_ERROR_TIMEOUT: there is none */
	int (*events_create)(nvmlEventSet_t *set);
	int (*events_free)(nvmlEventSet_t set);
	int (*events_register)(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set);
	int (*events_wait)(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms);
	/* MIG; driver 450 and later */
	int (*get_mig_mode)(nvmlDevice_t device, unsigned int *current, unsigned int *pending);
	int (*get_max_mig)(nvmlDevice_t device, unsigned int *count);
	/* NVML_ERROR_NOT_FOUND: no instance has that index */
	int (*get_mig)(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig);
	int (*get_gi)(nvmlDevice_t mig, unsigned int *id);
	int (*get_ci)(nvmlDevice_t mig, unsigned int *id);
	int (*get_attributes)(nvmlDevice_t mig, nvmlDeviceAttributes_t *attributes);
	int (*get_profile)(nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_t *info);
};

#endif
