/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * amdsmi_api.h - declares the part of the AMD SMI library that is called here, and by the tests' stand-in.
 * Names, numbers and types are those of amdsmi.h of ROCm 6.1 to 10. The library is only opened with
 * dlopen(). Its ABI is the number in libamd_smi.so.N:
 *
 *	24	ROCm 6.1 to 6.3
 *	25	ROCm 6.4
 *	26	ROCm 7
 *	27	ROCm 10; of what is declared here, nothing is among the changes that its change log lists
 *
 * Structs differ between the ABIs. So each is passed as a buffer that is larger than all of them, and its
 * members are read at the offsets of the ABI.
 */
#ifndef CEEMS_AMDSMI_API_H
#define CEEMS_AMDSMI_API_H

#include <stddef.h>
#include <stdint.h>

#define AMDSMI_ABI_FIRST 24
#define AMDSMI_ABI_LAST 27

#define AMDSMI_INIT_AMD_GPUS (1u << 1)
#define AMDSMI_MEM_TYPE_VRAM 0

/* amdsmi_status_t */
#define AMDSMI_STATUS_SUCCESS 0
#define AMDSMI_STATUS_INVAL 1
#define AMDSMI_STATUS_NOT_SUPPORTED 2
#define AMDSMI_STATUS_NOT_YET_IMPLEMENTED 3
#define AMDSMI_STATUS_NO_PERM 10
#define AMDSMI_STATUS_INIT_ERROR 18
#define AMDSMI_STATUS_BUSY 30
#define AMDSMI_STATUS_NOT_FOUND 31
#define AMDSMI_STATUS_NOT_INIT 32
#define AMDSMI_STATUS_DRIVER_NOT_LOADED 34

/*
 * The size of the buffer. The largest struct is amdsmi_asic_info_t: 0.4 kB in ABI 24, and three texts of 256
 * bytes and some numbers in the later ones.
 */
#define AMDSMI_STRUCT_MAX 8192
union amdsmi_struct {
	uint64_t align;
	uint32_t version[4];   /* amdsmi_version_t: year (not in 26 and later), major, minor, release */
	uint32_t gfx_activity; /* amdsmi_engine_usage_t: in percent; 0xffff: not known */
	uint64_t power_cap;    /* amdsmi_power_cap_info_t */
	char market_name[64];  /* amdsmi_asic_info_t: 256 bytes in later versions of ABI 24 */
	unsigned char byte[AMDSMI_STRUCT_MAX];
};

/*
 * amdsmi_power_info_t: uint32_t current_socket_power, average_socket_power; since ABI 25 a uint64_t
 * socket_power is in front of them. In W. All ones of 16 bits (ABI 24) or 32 bits: not known.
 */
#define AMDSMI_POWER_OFFSET(abi) ((abi) >= 25 ? sizeof(uint64_t) : 0)
#define AMDSMI_POWER_UNKNOWN 0xffffu

typedef void *amdsmi_handle;

struct amdsmi_api {
	int (*init)(uint64_t flags);
	int (*shut_down)(void);
	int (*get_version)(void *version); /* ABI 24: only after init() */
	/* with a NULL array, they return how many there are */
	int (*get_sockets)(uint32_t *count, amdsmi_handle *socket);
	int (*get_processors)(amdsmi_handle socket, uint32_t *count, amdsmi_handle *processor);
	/* PCI domain in the upper half; then partition (31:28), bus (15:8), device (7:3), function */
	int (*get_bdf_id)(amdsmi_handle processor, uint64_t *id);
	int (*get_asic)(amdsmi_handle processor, void *asic_info);
	/* *count x *resolution are uJ; the time stamp is of the device's own clock */
	int (*get_energy)(amdsmi_handle processor, uint64_t *count, float *resolution, uint64_t *timestamp);
	int (*get_power)(amdsmi_handle processor, void *power_info);
	int (*get_power_cap)(amdsmi_handle processor, uint32_t sensor, void *power_cap_info);
	int (*get_activity)(amdsmi_handle processor, void *engine_usage);
	int (*get_memory_total)(amdsmi_handle processor, int type, uint64_t *bytes);
	int (*get_memory_usage)(amdsmi_handle processor, int type, uint64_t *bytes);
};

#endif
