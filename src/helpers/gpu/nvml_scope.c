/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvml_scope.c - what NVML's power and energy contain. On a superchip (Grace Hopper, GB200) the total energy
 * counter is not the GPU's: on Grace Hopper it is that of the module, with CPU and memory. Since driver 535,
 * field values have a scope, GPU or module, which an older driver or firmware may ignore. So a scope is
 * trusted only if the module shows more than the GPU. Sources: nvml.h, Device Scope and NVML_FI_DEV_POWER_*;
 * Zeus (zeus/device/gpu/nvidia.py) for the counter of Grace Hopper.
 */
#include <string.h>

#include "src/helpers/gpu/nvml.h"
#include "src/libutil/util.h"

static int field_value(const struct nvml *n, nvmlDevice_t device, unsigned int field, unsigned int scope,
		       uint64_t *ret)
{
	nvmlFieldValue_t v = { .fieldId = field, .scopeId = scope, .nvmlReturn = NVML_ERROR_UNKNOWN };
	int rc = n->api.get_fields ? n->api.get_fields(device, 1, &v) : NVML_ERROR_NOT_SUPPORTED;

	if (rc != NVML_SUCCESS || v.nvmlReturn != NVML_SUCCESS)
		return rc != NVML_SUCCESS ? rc : v.nvmlReturn;
	switch (v.valueType) {
	case NVML_VALUE_TYPE_UNSIGNED_INT:
		*ret = v.value.uiVal;
		return NVML_SUCCESS;
	case NVML_VALUE_TYPE_UNSIGNED_LONG:
		*ret = v.value.ulVal;
		return NVML_SUCCESS;
	case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
		*ret = v.value.ullVal;
		return NVML_SUCCESS;
	default:
		return NVML_ERROR_UNKNOWN;
	}
}

int nvml_ask(const struct nvml *n, nvmlDevice_t device, const struct gpu_meter *m, unsigned int scope,
	     uint64_t *ret)
{
	unsigned long long mj = 0;
	unsigned int mw = 0;
	int rc;

	if (m->query)
		return field_value(n, device, m->query, scope, ret);
	if (m->kind == GPU_METER_POWER) {
		rc = n->api.get_power(device, &mw);
		*ret = mw;
		return rc;
	}
	rc = n->api.get_energy ? n->api.get_energy(device, &mj) : NVML_ERROR_NOT_SUPPORTED;
	*ret = mj;
	return rc;
}

/* Of drivers before 535, only the name says what it is. */
static bool is_named_superchip(const char *model)
{
	static const char *const names[] = { "GH200", "GB200", "GB300", "GB10", "Grace" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(model, names[i]))
			return true;
	return false;
}

/* Sets OWN and MODULE to a field whose scopes differ. False: the driver has none, or ignores the scope. */
static bool find_field(const struct nvml *n, nvmlDevice_t device, enum gpu_meter_kind kind,
		       unsigned int field, struct gpu_meter *own, struct gpu_meter *module)
{
	uint64_t of_gpu, of_module;

	if (field_value(n, device, field, NVML_POWER_SCOPE_GPU, &of_gpu) != NVML_SUCCESS ||
	    field_value(n, device, field, NVML_POWER_SCOPE_MODULE, &of_module) != NVML_SUCCESS ||
	    of_gpu >= of_module)
		return false;
	*own = *module = (struct gpu_meter){ .kind = kind, .query = field };
	return true;
}

/* The module's number is that of the NUMA node of its socket, the lowest that is near to the GPU. */
static bool find_socket(const struct nvml *n, nvmlDevice_t device, unsigned int *ret)
{
	unsigned long node[NVML_NODES_MAX / NVML_NODES_PER_WORD] = { 0 };
	unsigned int count = 0;
	unsigned int i;

	if (n->api.get_memory_affinity &&
	    n->api.get_memory_affinity(device, ARRAY_SIZE(node), node, NVML_AFFINITY_SCOPE_NODE) ==
		    NVML_SUCCESS)
		for (i = 0; i < SOCKETS_MAX; i++)
			if (node[i / NVML_NODES_PER_WORD] >> i % NVML_NODES_PER_WORD & 1) {
				*ret = i;
				return true;
			}
	*ret = 0;
	return n->api.get_count(&count) == NVML_SUCCESS && count == 1;
}

bool nvml_is_superchip(const struct nvml *n, nvmlDevice_t device, const char *model)
{
	nvmlC2cModeInfo_t c2c = { 0 };
	struct gpu_meter own, module;

	return (n->api.get_c2c_mode && n->api.get_c2c_mode(device, &c2c) == NVML_SUCCESS &&
		c2c.isC2cEnabled) ||
	       is_named_superchip(model) ||
	       find_field(n, device, GPU_METER_POWER, NVML_FI_DEV_POWER_AVERAGE, &own, &module);
}

void nvml_find_meters(const struct nvml *n, nvmlDevice_t device, struct gpu_device *d)
{
	const struct gpu_meter counter = { .kind = GPU_METER_ENERGY };
	const struct gpu_meter power = { .kind = GPU_METER_POWER };
	struct gpu_meter own = { 0 }, module = { 0 };
	uint64_t mw, mj;

	if (!find_field(n, device, GPU_METER_ENERGY, NVML_FI_DEV_ENERGY, &own, &module)) {
		if (!find_field(n, device, GPU_METER_POWER, NVML_FI_DEV_POWER_AVERAGE, &own, &module) &&
		    !find_field(n, device, GPU_METER_POWER, NVML_FI_DEV_POWER_INSTANT, &own, &module) &&
		    nvml_ask(n, device, &power, 0, &mw) != NVML_ERROR_NOT_SUPPORTED)
			own = power;
		if (strstr(d->model, "GH200") &&
		    nvml_ask(n, device, &counter, 0, &mj) != NVML_ERROR_NOT_SUPPORTED)
			module = counter;
	}
	d->own = own;
	d->of_module = module;
	d->is_placed = find_socket(n, device, &d->module);
}
