/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rocm_api.h - declares the part of AMD's ROCm SMI library that is called here, and by the tests'
 * stand-in. Names, numbers and types are those of rocm_smi.h of ROCm 5 and 6. The library is only
 * opened with dlopen(). A device is identified by its index.
 */
#ifndef CEEMS_ROCM_API_H
#define CEEMS_ROCM_API_H

#include <stddef.h>
#include <stdint.h>

/* rsmi_status_t */
#define RSMI_STATUS_SUCCESS 0
#define RSMI_STATUS_INVALID_ARGS 1
#define RSMI_STATUS_NOT_SUPPORTED 2
#define RSMI_STATUS_PERMISSION 4
#define RSMI_STATUS_INIT_ERROR 8
#define RSMI_STATUS_BUSY 16

/* rsmi_memory_type_t */
#define RSMI_MEM_TYPE_VRAM 0

struct rocm_api {
	int (*init)(uint64_t flags);
	int (*shut_down)(void);
	int (*get_count)(uint32_t *count);
	int (*get_render_minor)(uint32_t device, uint32_t *minor); /* 128 in renderD128 */
	int (*get_unique_id)(uint32_t device, uint64_t *id);
	int (*get_name)(uint32_t device, char *name, size_t len);
	/* *count x *resolution are uJ; the time stamp is of the device's own clock */
	int (*get_energy)(uint32_t device, uint64_t *count, float *resolution, uint64_t *timestamp);
	int (*get_power_ave)(uint32_t device, uint32_t sensor, uint64_t *power_uw);
	int (*get_power)(uint32_t device, uint64_t *power_uw, int *type); /* ROCm 6 */
	int (*get_power_cap)(uint32_t device, uint32_t sensor, uint64_t *cap_uw);
	int (*get_busy)(uint32_t device, uint32_t *percent);
	int (*get_memory_total)(uint32_t device, int type, uint64_t *bytes);
	int (*get_memory_usage)(uint32_t device, int type, uint64_t *bytes);
};

#endif
