/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvml_api.h - the part of NVIDIA's management library that is called here and played by the tests'
 * stand-in. Names, numbers and layouts are those of nvml.h of CUDA 12 (NVML API version 12), which
 * keeps them since CUDA 11; the library is only ever opened with dlopen().
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

/* Of a MIG device; the memory is its GPU instance's. */
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
	int (*get_utilization)(nvmlDevice_t device, nvmlUtilization_t *utilization);
	int (*get_memory)(nvmlDevice_t device, nvmlMemory_t *memory);
	/* MIG; driver 450 and later */
	int (*get_mig_mode)(nvmlDevice_t device, unsigned int *current, unsigned int *pending);
	int (*get_max_mig)(nvmlDevice_t device, unsigned int *count);
	/* NVML_ERROR_NOT_FOUND: no instance has that index */
	int (*get_mig)(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig);
	int (*get_gi)(nvmlDevice_t mig, unsigned int *id);
	int (*get_ci)(nvmlDevice_t mig, unsigned int *id);
	int (*get_attributes)(nvmlDevice_t mig, nvmlDeviceAttributes_t *attributes);
	int (*get_profile)(nvmlDevice_t device, unsigned int profile,
			   nvmlGpuInstanceProfileInfo_t *info);
};

#endif
