/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stand-in for libamd_smi.so.FAKE_ABI: see fake_gpu.h. MINOR 0 is renderD128. The structs are those of
 * the ABI's amdsmi.h, as far as the product reads them, with their sizes. A socket has all its partitions.
 */
#include "fake_gpu.h"
#include "src/helpers/gpu/amdsmi_api.h"

struct version {
#if FAKE_ABI < 26
	uint32_t year;
#endif
	uint32_t major, minor, release;
	const char *build;
};

struct power_info {
#if FAKE_ABI >= 25
	uint64_t socket_power;
#endif
	uint32_t current_socket_power;
	uint32_t average_socket_power;
#if FAKE_ABI >= 26
	uint64_t voltage[3];
	uint32_t power_limit;
	uint64_t reserved[18];
#else
	uint32_t voltage[3];
	uint32_t power_limit;
	uint32_t reserved[FAKE_ABI == 25 ? 2 : 11];
#endif
};
#define UNKNOWN (FAKE_ABI == 24 ? 0xffffu : UINT32_MAX)

struct power_cap_info {
	uint64_t power_cap, default_power_cap, dpm_cap, min_power_cap, max_power_cap;
	uint64_t reserved[3];
};
#define CAP (FAKE_ABI == 24 ? 560 : 560000000) /* in W until ROCm 6.1, then in uW */

struct engine_usage {
	uint32_t gfx_activity, umc_activity, mm_activity;
	uint32_t reserved[13];
};

struct asic_info {
	char market_name[FAKE_ABI == 24 ? 64 : 256];
	uint32_t vendor_id;
	char vendor_name[FAKE_ABI == 24 ? 64 : 256];
	uint32_t subvendor_id;
	uint64_t device_id;
	uint32_t rev_id;
	char asic_serial[FAKE_ABI == 24 ? 32 : 256];
	uint32_t rest[24];
};

EXPORTED int amdsmi_init(uint64_t flags);
EXPORTED int amdsmi_shut_down(void);
EXPORTED int amdsmi_get_lib_version(struct version *version);
EXPORTED int amdsmi_get_socket_handles(uint32_t *count, amdsmi_handle *socket);
EXPORTED int amdsmi_get_processor_handles(amdsmi_handle socket, uint32_t *count, amdsmi_handle *processor);
EXPORTED int amdsmi_get_gpu_bdf_id(amdsmi_handle processor, uint64_t *id);
EXPORTED int amdsmi_get_gpu_asic_info(amdsmi_handle processor, struct asic_info *info);
EXPORTED int amdsmi_get_energy_count(amdsmi_handle processor, uint64_t *count, float *resolution,
				     uint64_t *timestamp);
EXPORTED int amdsmi_get_power_info(amdsmi_handle processor, struct power_info *info);
EXPORTED int amdsmi_get_power_cap_info(amdsmi_handle processor, uint32_t sensor, struct power_cap_info *info);
EXPORTED int amdsmi_get_gpu_activity(amdsmi_handle processor, struct engine_usage *info);
EXPORTED int amdsmi_get_gpu_memory_total(amdsmi_handle processor, int type, uint64_t *bytes);
EXPORTED int amdsmi_get_gpu_memory_usage(amdsmi_handle processor, int type, uint64_t *bytes);

/* A handle is the index plus 1. */
static int ask(amdsmi_handle processor, struct fake_gpu *ret)
{
	if (!processor || !fake_gpu((unsigned int)(uintptr_t)processor - 1, ret))
		return AMDSMI_STATUS_NOT_FOUND;
	return fake_is(ret, "lost") ? AMDSMI_STATUS_INIT_ERROR : AMDSMI_STATUS_SUCCESS;
}

int amdsmi_init(uint64_t flags)
{
	struct fake_gpu all[FAKE_GPUS_MAX];

	if (flags != AMDSMI_INIT_AMD_GPUS)
		return AMDSMI_STATUS_INVAL;
	return fake_gpus(all) < 0 ? AMDSMI_STATUS_DRIVER_NOT_LOADED : AMDSMI_STATUS_SUCCESS;
}

int amdsmi_shut_down(void)
{
	return AMDSMI_STATUS_SUCCESS;
}

int amdsmi_get_lib_version(struct version *version)
{
	*version = (struct version)
	{
#if FAKE_ABI == 24
		.year = 24, .major = 6, .minor = 3,
#elif FAKE_ABI == 25
		.year = 24, .major = 25, .minor = 4,
#else
		.major = FAKE_ABI, .minor = 2,
#endif
		.build = "stand-in",
	};
	return AMDSMI_STATUS_SUCCESS;
}

/* The first GPU on a socket is the socket's handle. */
static bool is_first(const struct fake_gpu *all, int i)
{
	int k;

	for (k = 0; k < i; k++)
		if ((fake_bdf(&all[k]) & 0xffff) == (fake_bdf(&all[i]) & 0xffff))
			return false;
	return true;
}

static int give(uint32_t *count, amdsmi_handle *ret, const uintptr_t *handle, uint32_t n)
{
	uint32_t i;

	if (ret && n > *count)
		n = *count;
	for (i = 0; ret && i < n; i++)
		ret[i] = (amdsmi_handle)handle[i]; // NOLINT(performance-no-int-to-ptr)
	*count = n;
	return AMDSMI_STATUS_SUCCESS;
}

int amdsmi_get_socket_handles(uint32_t *count, amdsmi_handle *socket)
{
	struct fake_gpu all[FAKE_GPUS_MAX];
	uintptr_t handle[FAKE_GPUS_MAX];
	int ngpus = fake_gpus(all);
	uint32_t n = 0;
	int i;

	for (i = 0; i < ngpus; i++)
		if (is_first(all, i))
			handle[n++] = (uintptr_t)i + 1;
	return give(count, socket, handle, n);
}

int amdsmi_get_processor_handles(amdsmi_handle socket, uint32_t *count, amdsmi_handle *processor)
{
	struct fake_gpu all[FAKE_GPUS_MAX];
	uintptr_t handle[FAKE_GPUS_MAX];
	int ngpus = fake_gpus(all);
	int first = (int)(uintptr_t)socket - 1;
	uint32_t n = 0;
	int i;

	for (i = 0; i < ngpus; i++)
		if ((fake_bdf(&all[i]) & 0xffff) == (fake_bdf(&all[first]) & 0xffff))
			handle[n++] = (uintptr_t)i + 1;
	return give(count, processor, handle, n);
}

int amdsmi_get_gpu_bdf_id(amdsmi_handle processor, uint64_t *id)
{
	struct fake_gpu g;
	int rc = ask(processor, &g);

	if (rc == AMDSMI_STATUS_SUCCESS)
		*id = fake_bdf(&g);
	return rc;
}

int amdsmi_get_gpu_asic_info(amdsmi_handle processor, struct asic_info *info)
{
	struct fake_gpu g;
	int rc = ask(processor, &g);

	memset(info, 0xff, sizeof(*info));
	if (rc == AMDSMI_STATUS_SUCCESS)
		(void)snprintf(info->market_name, sizeof(info->market_name), "AMD Stand-in");
	return rc;
}

int amdsmi_get_energy_count(amdsmi_handle processor, uint64_t *count, float *resolution, uint64_t *timestamp)
{
	struct fake_gpu g;
	int rc = ask(processor, &g);

	if (rc == AMDSMI_STATUS_SUCCESS && fake_is(&g, "no-counter"))
		return AMDSMI_STATUS_NOT_SUPPORTED;
	if (rc == AMDSMI_STATUS_SUCCESS) {
		*count = g.energy;
		*resolution = fake_is(&g, "no-resolution") ? 0 : FAKE_AMD_RESOLUTION;
		*timestamp = 0;
	}
	return rc;
}

int amdsmi_get_power_info(amdsmi_handle processor, struct power_info *info)
{
	struct fake_gpu g;
	int rc = ask(processor, &g);

	memset(info, 0xff, sizeof(*info));
	info->current_socket_power = info->average_socket_power = UNKNOWN;
	if (rc == AMDSMI_STATUS_SUCCESS && !fake_is(&g, "no-power")) {
		info->current_socket_power = g.power_mw / 1000;
		if (!fake_is(&g, "no-average"))
			info->average_socket_power = g.power_mw / 1000;
	}
	return rc;
}

int amdsmi_get_power_cap_info(amdsmi_handle processor, uint32_t sensor, struct power_cap_info *info)
{
	struct fake_gpu g;

	memset(info, 0, sizeof(*info));
	info->power_cap = CAP;
	return sensor ? AMDSMI_STATUS_NOT_SUPPORTED : ask(processor, &g);
}

int amdsmi_get_gpu_activity(amdsmi_handle processor, struct engine_usage *info)
{
	struct fake_gpu g;
	int rc = ask(processor, &g);

	memset(info, 0xff, sizeof(*info));
	if (rc == AMDSMI_STATUS_SUCCESS)
		info->gfx_activity = g.busy;
	return rc;
}

static int memory(amdsmi_handle processor, int type, bool is_total, uint64_t *bytes)
{
	struct fake_gpu g;
	int rc = type == AMDSMI_MEM_TYPE_VRAM ? ask(processor, &g) : AMDSMI_STATUS_NOT_SUPPORTED;

	if (rc == AMDSMI_STATUS_SUCCESS)
		*bytes = (is_total ? g.total_mib : g.used_mib) << 20;
	return rc;
}

int amdsmi_get_gpu_memory_total(amdsmi_handle processor, int type, uint64_t *bytes)
{
	return memory(processor, type, /* is_total= */ true, bytes);
}

int amdsmi_get_gpu_memory_usage(amdsmi_handle processor, int type, uint64_t *bytes)
{
	return memory(processor, type, /* is_total= */ false, bytes);
}
