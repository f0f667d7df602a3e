/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/helpers/gpu/amdsmi.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/helpers/gpu/amdsmi_api.h"
#include "src/helpers/gpu/gpu.h"
#include "src/libutil/util.h"

#define UW_PER_W UINT64_C(1000000)

/* No GPU may use so little, so that a smaller power cap is not in uW: until ROCm 6.1 it is in W. */
#define CAP_MIN_UW (UW_PER_W / 10)

/* Eight GPUs of eight partitions are 64. */
#define PROCESSORS_MAX 256

/* The functions of ROCm SMI have no argument for it. */
static struct {
	struct amdsmi_api api;
	unsigned int abi;
	const struct kfd *kfd;
	uint32_t n;
	amdsmi_handle processor[PROCESSORS_MAX];
} smi;

#define SYMBOL(field, function)                                                \
	{                                                                      \
		.name = function, .offset = offsetof(struct amdsmi_api, field) \
	}
#define OPTIONAL(field, function)                                                                   \
	{                                                                                           \
		.name = function, .offset = offsetof(struct amdsmi_api, field), .is_optional = true \
	}

static const struct gpu_symbol symbols[] = {
	SYMBOL(init, "amdsmi_init"),
	SYMBOL(shut_down, "amdsmi_shut_down"),
	SYMBOL(get_version, "amdsmi_get_lib_version"),
	SYMBOL(get_sockets, "amdsmi_get_socket_handles"),
	SYMBOL(get_processors, "amdsmi_get_processor_handles"),
	SYMBOL(get_bdf_id, "amdsmi_get_gpu_bdf_id"),
	OPTIONAL(get_asic, "amdsmi_get_gpu_asic_info"),
	OPTIONAL(get_energy, "amdsmi_get_energy_count"),
	OPTIONAL(get_power, "amdsmi_get_power_info"),
	OPTIONAL(get_power_cap, "amdsmi_get_power_cap_info"),
	OPTIONAL(get_activity, "amdsmi_get_gpu_activity"),
	OPTIONAL(get_memory_total, "amdsmi_get_gpu_memory_total"),
	OPTIONAL(get_memory_usage, "amdsmi_get_gpu_memory_usage"),
};

static int rsmi_status(int status)
{
	switch (status) {
	case AMDSMI_STATUS_SUCCESS:
		return RSMI_STATUS_SUCCESS;
	case AMDSMI_STATUS_NOT_SUPPORTED:
	case AMDSMI_STATUS_NOT_YET_IMPLEMENTED:
		return RSMI_STATUS_NOT_SUPPORTED;
	case AMDSMI_STATUS_NO_PERM:
		return RSMI_STATUS_PERMISSION;
	case AMDSMI_STATUS_INIT_ERROR:
	case AMDSMI_STATUS_NOT_FOUND:
	case AMDSMI_STATUS_NOT_INIT:
	case AMDSMI_STATUS_DRIVER_NOT_LOADED:
		return RSMI_STATUS_INIT_ERROR;
	case AMDSMI_STATUS_BUSY:
		return RSMI_STATUS_BUSY;
	default:
		return RSMI_STATUS_INVALID_ARGS;
	}
}

/* --- the functions of ROCm SMI -------------------------------------------------------------- */

static int get_count(uint32_t *count)
{
	*count = smi.n;
	return RSMI_STATUS_SUCCESS;
}

static int find_node(uint32_t device, const struct kfd_gpu **ret)
{
	uint64_t bdf;
	int rc = rsmi_status(smi.api.get_bdf_id(smi.processor[device], &bdf));

	if (rc != RSMI_STATUS_SUCCESS)
		return rc;
	*ret = smi.kfd ? kfd_find_bdf(smi.kfd, bdf) : NULL;
	return *ret ? RSMI_STATUS_SUCCESS : RSMI_STATUS_INIT_ERROR;
}

static int get_render_minor(uint32_t device, uint32_t *minor)
{
	const struct kfd_gpu *node;
	int rc = find_node(device, &node);

	if (rc == RSMI_STATUS_SUCCESS)
		*minor = node->minor;
	return rc;
}

static int get_unique_id(uint32_t device, uint64_t *id)
{
	const struct kfd_gpu *node;
	int rc = find_node(device, &node);

	if (rc != RSMI_STATUS_SUCCESS)
		return rc;
	*id = node->unique_id;
	return node->unique_id ? RSMI_STATUS_SUCCESS : RSMI_STATUS_NOT_SUPPORTED;
}

/* A GPU without a name can be measured all the same. */
static int get_name(uint32_t device, char *name, size_t len)
{
	union amdsmi_struct asic = { 0 };
	int rc = smi.api.get_asic ? smi.api.get_asic(smi.processor[device], &asic) :
				    AMDSMI_STATUS_NOT_SUPPORTED;

	if (rc == AMDSMI_STATUS_SUCCESS && asic.market_name[0])
		(void)snprintf(name, len, "%.*s", (int)sizeof(asic.market_name), asic.market_name);
	else
		(void)snprintf(name, len, "AMD GPU");
	return rc == AMDSMI_STATUS_NOT_SUPPORTED ? RSMI_STATUS_SUCCESS : rsmi_status(rc);
}

static int get_energy(uint32_t device, uint64_t *count, float *resolution, uint64_t *timestamp)
{
	return smi.api.get_energy ?
		       rsmi_status(smi.api.get_energy(smi.processor[device], count, resolution, timestamp)) :
		       RSMI_STATUS_NOT_SUPPORTED;
}

/* NTH: 0, the current power; 1, the average. */
static int read_power(uint32_t device, unsigned int nth, uint64_t *power_uw)
{
	size_t offset = AMDSMI_POWER_OFFSET(smi.abi) + nth * sizeof(uint32_t);
	union amdsmi_struct info;
	uint32_t w;
	int rc;

	memset(&info, 0xff, sizeof(info)); /* what the library does not write is not known */
	rc = smi.api.get_power ? rsmi_status(smi.api.get_power(smi.processor[device], &info)) :
				 RSMI_STATUS_NOT_SUPPORTED;
	if (rc != RSMI_STATUS_SUCCESS)
		return rc;
	memcpy(&w, info.byte + offset, sizeof(w));
	if (w >= AMDSMI_POWER_UNKNOWN)
		return RSMI_STATUS_NOT_SUPPORTED;
	*power_uw = w * UW_PER_W;
	return RSMI_STATUS_SUCCESS;
}

static int get_power_ave(uint32_t device, uint32_t sensor, uint64_t *power_uw)
{
	(void)sensor;
	return read_power(device, 1, power_uw);
}

static int get_power(uint32_t device, uint64_t *power_uw, int *type)
{
	*type = 1; /* RSMI_CURRENT_POWER */
	return read_power(device, 0, power_uw);
}

static int get_power_cap(uint32_t device, uint32_t sensor, uint64_t *cap_uw)
{
	union amdsmi_struct info = { 0 };
	int rc = smi.api.get_power_cap ?
			 rsmi_status(smi.api.get_power_cap(smi.processor[device], sensor, &info)) :
			 RSMI_STATUS_NOT_SUPPORTED;

	if (rc != RSMI_STATUS_SUCCESS)
		return rc;
	if (!info.power_cap || info.power_cap == UINT64_MAX)
		return RSMI_STATUS_NOT_SUPPORTED;
	*cap_uw = info.power_cap < CAP_MIN_UW ? info.power_cap * UW_PER_W : info.power_cap;
	return RSMI_STATUS_SUCCESS;
}

static int get_busy(uint32_t device, uint32_t *percent)
{
	union amdsmi_struct usage;
	int rc;

	memset(&usage, 0xff, sizeof(usage));
	rc = smi.api.get_activity ? rsmi_status(smi.api.get_activity(smi.processor[device], &usage)) :
				    RSMI_STATUS_NOT_SUPPORTED;
	if (rc == RSMI_STATUS_SUCCESS)
		*percent = usage.gfx_activity;
	return rc;
}

static int get_memory_total(uint32_t device, int type, uint64_t *bytes)
{
	return smi.api.get_memory_total ?
		       rsmi_status(smi.api.get_memory_total(smi.processor[device], type, bytes)) :
		       RSMI_STATUS_NOT_SUPPORTED;
}

static int get_memory_usage(uint32_t device, int type, uint64_t *bytes)
{
	return smi.api.get_memory_usage ?
		       rsmi_status(smi.api.get_memory_usage(smi.processor[device], type, bytes)) :
		       RSMI_STATUS_NOT_SUPPORTED;
}

static int shut_down(void)
{
	return rsmi_status(smi.api.shut_down());
}

/* --- open ----------------------------------------------------------------------------------- */

/* ABI 24 and 25 have the year in front, which is the ABI in 24 and may be in 25. */
static int read_abi(unsigned int *ret, struct errmsg *err)
{
	union amdsmi_struct v = { 0 };
	int status = smi.api.get_version(&v);

	if (status != AMDSMI_STATUS_SUCCESS)
		return errmsg_set(err, -ENXIO, "amdsmi_get_lib_version: status %d", status);
	*ret = v.version[1] > AMDSMI_ABI_FIRST && v.version[1] <= AMDSMI_ABI_LAST ? v.version[1] :
										    v.version[0];
	if (*ret < AMDSMI_ABI_FIRST || *ret > AMDSMI_ABI_LAST)
		return errmsg_set(err, -ENXIO, "ABI %u of AMD SMI is not known; those from %u to %u are",
				  *ret, AMDSMI_ABI_FIRST, AMDSMI_ABI_LAST);
	return 0;
}

static int list_processors(struct errmsg *err)
{
	amdsmi_handle socket[PROCESSORS_MAX];
	uint32_t nsockets = PROCESSORS_MAX;
	int status = smi.api.get_sockets(&nsockets, socket);
	uint32_t i;

	smi.n = 0;
	for (i = 0; status == AMDSMI_STATUS_SUCCESS && i < nsockets && smi.n < PROCESSORS_MAX; i++) {
		uint32_t n = PROCESSORS_MAX - smi.n;

		status = smi.api.get_processors(socket[i], &n, smi.processor + smi.n);
		if (status == AMDSMI_STATUS_SUCCESS)
			smi.n += n;
	}
	return status == AMDSMI_STATUS_SUCCESS ?
		       0 :
		       errmsg_set(err, -EIO, "AMD SMI's list of GPUs: status %d", status);
}

int amdsmi_open(const char *path, const struct kfd *kfd, struct rocm_api *ret, void **ret_dl,
		unsigned int *ret_abi, struct errmsg *err)
{
	void *dl;
	int status;
	int rc;

	memset(&smi, 0, sizeof(smi));
	smi.kfd = kfd;
	rc = gpu_load(path, symbols, ARRAY_SIZE(symbols), &smi.api, &dl, err);
	if (rc < 0)
		return rc;
	status = smi.api.init(AMDSMI_INIT_AMD_GPUS);
	if (status != AMDSMI_STATUS_SUCCESS) {
		(void)dlclose(dl);
		return errmsg_set(err, -ENXIO, "amdsmi_init: status %d", status);
	}
	rc = read_abi(&smi.abi, err);
	if (rc == 0)
		rc = list_processors(err);
	if (rc < 0) {
		(void)smi.api.shut_down();
		(void)dlclose(dl);
		return rc;
	}
	*ret = (struct rocm_api){
		.shut_down = shut_down,
		.get_count = get_count,
		.get_render_minor = get_render_minor,
		.get_unique_id = get_unique_id,
		.get_name = get_name,
		.get_energy = get_energy,
		.get_power_ave = get_power_ave,
		.get_power = get_power,
		.get_power_cap = get_power_cap,
		.get_busy = get_busy,
		.get_memory_total = get_memory_total,
		.get_memory_usage = get_memory_usage,
	};
	*ret_dl = dl;
	*ret_abi = smi.abi;
	return 0;
}
