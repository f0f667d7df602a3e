/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stand-in for librocm_smi64.so: see fake_gpu.h. MINOR 0 is renderD128. */
#include "fake_gpu.h"
#include "src/helpers/gpu/rocm_api.h"

EXPORTED int rsmi_init(uint64_t flags);
EXPORTED int rsmi_shut_down(void);
EXPORTED int rsmi_num_monitor_devices(uint32_t *count);
EXPORTED int rsmi_dev_drm_render_minor_get(uint32_t device, uint32_t *minor);
EXPORTED int rsmi_dev_unique_id_get(uint32_t device, uint64_t *id);
EXPORTED int rsmi_dev_name_get(uint32_t device, char *name, size_t len);
EXPORTED int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *resolution,
				       uint64_t *timestamp);
EXPORTED int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *power_uw);
EXPORTED int rsmi_dev_power_get(uint32_t device, uint64_t *power_uw, int *type);
EXPORTED int rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *cap_uw);
EXPORTED int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent);
EXPORTED int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t *bytes);
EXPORTED int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t *bytes);

static int ask(uint32_t device, struct fake_gpu *ret)
{
	if (!fake_gpu(device, ret))
		return RSMI_STATUS_INVALID_ARGS;
	return fake_is(ret, "lost") ? RSMI_STATUS_INIT_ERROR : RSMI_STATUS_SUCCESS;
}

int rsmi_init(uint64_t flags)
{
	struct fake_gpu all[FAKE_GPUS_MAX];

	(void)flags;
	return fake_gpus(all) < 0 ? RSMI_STATUS_INIT_ERROR : RSMI_STATUS_SUCCESS;
}

int rsmi_shut_down(void)
{
	return RSMI_STATUS_SUCCESS;
}

int rsmi_num_monitor_devices(uint32_t *count)
{
	struct fake_gpu all[FAKE_GPUS_MAX];
	int n = fake_gpus(all);

	if (n < 0)
		return RSMI_STATUS_INIT_ERROR;
	*count = (uint32_t)n;
	return RSMI_STATUS_SUCCESS;
}

int rsmi_dev_drm_render_minor_get(uint32_t device, uint32_t *minor)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == RSMI_STATUS_SUCCESS)
		*minor = 128 + g.minor;
	return rc;
}

int rsmi_dev_unique_id_get(uint32_t device, uint64_t *id)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == RSMI_STATUS_SUCCESS && fake_is(&g, "no-id"))
		return RSMI_STATUS_NOT_SUPPORTED;
	if (rc == RSMI_STATUS_SUCCESS)
		*id = FAKE_AMD_ID + g.minor;
	return rc;
}

int rsmi_dev_name_get(uint32_t device, char *name, size_t len)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == RSMI_STATUS_SUCCESS)
		(void)snprintf(name, len, "AMD Stand-in");
	return rc;
}

int rsmi_dev_energy_count_get(uint32_t device, uint64_t *count, float *resolution, uint64_t *timestamp)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == RSMI_STATUS_SUCCESS && fake_is(&g, "no-counter"))
		return RSMI_STATUS_NOT_SUPPORTED;
	if (rc == RSMI_STATUS_SUCCESS) {
		*count = g.energy;
		*resolution = fake_is(&g, "no-resolution") ? 0 : FAKE_AMD_RESOLUTION;
		*timestamp = 0;
	}
	return rc;
}

int rsmi_dev_power_ave_get(uint32_t device, uint32_t sensor, uint64_t *power_uw)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == RSMI_STATUS_SUCCESS && (sensor || fake_is(&g, "no-average") || fake_is(&g, "no-power")))
		return RSMI_STATUS_NOT_SUPPORTED;
	if (rc == RSMI_STATUS_SUCCESS)
		*power_uw = g.power_mw * 1000ULL;
	return rc;
}

int rsmi_dev_power_get(uint32_t device, uint64_t *power_uw, int *type)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == RSMI_STATUS_SUCCESS && fake_is(&g, "no-power"))
		return RSMI_STATUS_NOT_SUPPORTED;
	if (rc == RSMI_STATUS_SUCCESS) {
		*power_uw = g.power_mw * 1000ULL;
		*type = 1; /* RSMI_CURRENT_POWER */
	}
	return rc;
}

int rsmi_dev_power_cap_get(uint32_t device, uint32_t sensor, uint64_t *cap_uw)
{
	struct fake_gpu g;

	*cap_uw = 560000000;
	return sensor ? RSMI_STATUS_NOT_SUPPORTED : ask(device, &g);
}

int rsmi_dev_busy_percent_get(uint32_t device, uint32_t *percent)
{
	struct fake_gpu g;
	int rc = ask(device, &g);

	if (rc == RSMI_STATUS_SUCCESS)
		*percent = g.busy;
	return rc;
}

int rsmi_dev_memory_total_get(uint32_t device, int type, uint64_t *bytes)
{
	struct fake_gpu g;
	int rc = type == RSMI_MEM_TYPE_VRAM ? ask(device, &g) : RSMI_STATUS_NOT_SUPPORTED;

	if (rc == RSMI_STATUS_SUCCESS)
		*bytes = g.total_mib << 20;
	return rc;
}

int rsmi_dev_memory_usage_get(uint32_t device, int type, uint64_t *bytes)
{
	struct fake_gpu g;
	int rc = type == RSMI_MEM_TYPE_VRAM ? ask(device, &g) : RSMI_STATUS_NOT_SUPPORTED;

	if (rc == RSMI_STATUS_SUCCESS)
		*bytes = g.used_mib << 20;
	return rc;
}
