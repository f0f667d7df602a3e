/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ROCm for ceems-gpu: what AMD's GPUs used, by their energy accumulators, or, for GPUs without one, by
 * their power over time. The unit is the number of the render node: that is the file that
 * Slurm's gres.conf names. A GPU that is partitioned (MI300X in CPX) is a device per partition, with one
 * counter, which all of them show or the first: it is read once, and its unit is its lowest render node.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/helpers/gpu/gpu.h"
#include "src/helpers/gpu/rocm_api.h"
#include "src/libutil/util.h"
#include "src/libutil/wide_math.h"

#define FIRST_RENDER_NODE 128

/* PCI domain, bus and device. A partition's number is in bits 31:28, or in the function, by firmware. */
#define SOCKET_MASK UINT64_C(0xffffffff0000fff8)

struct rocm {
	void *dl;
	struct rocm_api api;
};

#define SYMBOL(field, function)                                              \
	{                                                                    \
		.name = function, .offset = offsetof(struct rocm_api, field) \
	}
#define OPTIONAL(field, function)                                                                 \
	{                                                                                         \
		.name = function, .offset = offsetof(struct rocm_api, field), .is_optional = true \
	}

static const struct gpu_symbol symbols[] = {
	SYMBOL(init, "rsmi_init"),
	SYMBOL(shut_down, "rsmi_shut_down"),
	SYMBOL(get_count, "rsmi_num_monitor_devices"),
	SYMBOL(get_render_minor, "rsmi_dev_drm_render_minor_get"),
	SYMBOL(get_unique_id, "rsmi_dev_unique_id_get"),
	SYMBOL(get_name, "rsmi_dev_name_get"),
	OPTIONAL(get_pci_id, "rsmi_dev_pci_id_get"),
	OPTIONAL(get_energy, "rsmi_dev_energy_count_get"),
	OPTIONAL(get_power_ave, "rsmi_dev_power_ave_get"),
	OPTIONAL(get_power, "rsmi_dev_power_get"),
	OPTIONAL(get_power_cap, "rsmi_dev_power_cap_get"),
	OPTIONAL(get_busy, "rsmi_dev_busy_percent_get"),
	OPTIONAL(get_memory_total, "rsmi_dev_memory_total_get"),
	OPTIONAL(get_memory_usage, "rsmi_dev_memory_usage_get"),
};

static int rocm_errno(int status)
{
	switch (status) {
	case RSMI_STATUS_SUCCESS:
		return 0;
	case RSMI_STATUS_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case RSMI_STATUS_PERMISSION:
		return -EACCES;
	case RSMI_STATUS_INIT_ERROR:
		return -ENXIO;
	case RSMI_STATUS_BUSY:
		return -EBUSY;
	default:
		return -EIO;
	}
}

static void close_library(void *library)
{
	struct rocm *r = library;

	(void)r->api.shut_down();
	(void)dlclose(r->dl);
	free(r);
}

static int open_library(const char *path, void **ret, struct errmsg *err)
{
	_cleanup_free_ struct rocm *r = calloc(1, sizeof(*r));
	char installed[PATH_MAX];
	int rc;

	if (!r)
		return errmsg_errno(err, -ENOMEM, "library");
	rc = gpu_load(path, symbols, ARRAY_SIZE(symbols), &r->api, &r->dl, err);
	/* ROCm's packages leave it to the site to tell the dynamic linker */
	if (rc == -ELIBACC && !strchr(path, '/') &&
	    (size_t)snprintf(installed, sizeof(installed), "/opt/rocm/lib/%s", path) < sizeof(installed))
		rc = gpu_load(installed, symbols, ARRAY_SIZE(symbols), &r->api, &r->dl, err);
	if (rc < 0)
		return rc;
	rc = rocm_errno(r->api.init(0));
	if (rc < 0) {
		(void)dlclose(r->dl);
		return errmsg_errno(err, rc, "rsmi_init");
	}
	*ret = TAKE_PTR(r);
	return 0;
}

/* A handle of 0 means that there is none. */
static uint32_t index_of(const struct gpu_device *d)
{
	return (uint32_t)d->handle - 1;
}

static int read_counter(const struct rocm *r, uint32_t index, uint64_t *ret_uj)
{
	uint64_t count = 0;
	uint64_t stamp;
	float uj = 0;
	u128 total;
	int rc = r->api.get_energy ? r->api.get_energy(index, &count, &uj, &stamp) :
				     RSMI_STATUS_NOT_SUPPORTED;

	if (rc != RSMI_STATUS_SUCCESS)
		return rocm_errno(rc);
	if (!(uj > 0 && uj < 1e6F)) /* a NaN is neither */
		return -ERANGE;
	total = (u128)count * (uint64_t)(uj * 1000 + 0.5F) / 1000;
	*ret_uj = total < GPU_VALUE_UNKNOWN ? (uint64_t)total : GPU_VALUE_UNKNOWN;
	return 0;
}

/* The average of a short time where there is one; ROCm 6 has the power of now on newer GPUs. */
static int read_power(const struct rocm *r, uint32_t index, uint64_t *ret_mw)
{
	int rc = RSMI_STATUS_NOT_SUPPORTED;
	uint64_t uw = 0;
	int type;

	if (r->api.get_power_ave)
		rc = r->api.get_power_ave(index, 0, &uw);
	if (rc != RSMI_STATUS_SUCCESS && r->api.get_power)
		rc = r->api.get_power(index, &uw, &type);
	if (rc == RSMI_STATUS_SUCCESS)
		*ret_mw = uw / 1000;
	return rocm_errno(rc);
}

static bool is_same_socket(const struct rocm *r, uint32_t a, uint32_t b)
{
	uint64_t id[2];

	return r->api.get_pci_id && r->api.get_pci_id(a, &id[0]) == RSMI_STATUS_SUCCESS &&
	       r->api.get_pci_id(b, &id[1]) == RSMI_STATUS_SUCCESS &&
	       (id[0] & SOCKET_MASK) == (id[1] & SOCKET_MASK);
}

static bool shows_anything(const struct rocm *r, uint32_t index)
{
	uint64_t value;

	return read_counter(r, index, &value) != -EOPNOTSUPP || read_power(r, index, &value) != -EOPNOTSUPP;
}

/* An earlier partition of the same GPU counts for all of it. */
static bool is_counted(const struct rocm *r, uint32_t index)
{
	uint32_t i;

	for (i = 0; i < index; i++)
		if (is_same_socket(r, i, index) && shows_anything(r, i))
			return true;
	return false;
}

/* That of its partitions, of which there are as many as the GPU has render nodes. */
static uint32_t lowest_minor(const struct rocm *r, uint32_t index, uint32_t minor)
{
	uint32_t count = 0;
	uint32_t other;
	uint32_t i;

	(void)r->api.get_count(&count);
	for (i = 0; i < count; i++)
		if (r->api.get_render_minor(i, &other) == RSMI_STATUS_SUCCESS && other >= FIRST_RENDER_NODE &&
		    other < minor && is_same_socket(r, i, index))
			minor = other;
	return minor;
}

static int rocm_identify(void *library, unsigned int index, struct gpu_device *ret)
{
	const struct rocm *r = library;
	uint32_t minor, unit;
	uint64_t uj;
	uint64_t mw;
	uint64_t id;
	int rc = r->api.get_render_minor(index, &minor);

	if (rc == RSMI_STATUS_SUCCESS && minor < FIRST_RENDER_NODE)
		return -EOPNOTSUPP; /* without a render node nobody can use it */
	if (rc == RSMI_STATUS_SUCCESS && is_counted(r, index))
		return -EALREADY;
	if (rc == RSMI_STATUS_SUCCESS)
		rc = r->api.get_name(index, ret->model, sizeof(ret->model));
	if (rc != RSMI_STATUS_SUCCESS)
		return rocm_errno(rc);
	ret->model[sizeof(ret->model) - 1] = '\0';
	ret->handle = (uintptr_t)index + 1;
	unit = lowest_minor(r, index, minor) - FIRST_RENDER_NODE;
	minor -= FIRST_RENDER_NODE;
	ret->unit = unit < GPUS_MAX ? unit : GPUS_MAX - 1;
	/* consumer cards have no unique id; the parts of a partitioned GPU share one */
	if (r->api.get_unique_id(index, &id) == RSMI_STATUS_SUCCESS)
		(void)snprintf(ret->id, sizeof(ret->id), "AMD-%016" PRIx64 "-%" PRIu32, id, minor);
	else
		(void)snprintf(ret->id, sizeof(ret->id), "AMD-renderD%" PRIu32, minor + FIRST_RENDER_NODE);
	ret->has_counter = read_counter(r, index, &uj) != -EOPNOTSUPP;
	if (!ret->has_counter && read_power(r, index, &mw) == -EOPNOTSUPP)
		return -EOPNOTSUPP;
	return 0;
}

static int count_devices(void *library, struct errmsg *err)
{
	const struct rocm *r = library;
	uint32_t count = 0;
	int rc = rocm_errno(r->api.get_count(&count));

	return rc < 0 ? errmsg_errno(err, rc, "rsmi_num_monitor_devices") : (int)count;
}

static int read_energy(void *library, const struct gpu_device *d, struct gpu_sample *ret)
{
	const struct rocm *r = library;
	int rc = read_power(r, index_of(d), &ret->power_mw);

	return d->has_counter ? read_counter(r, index_of(d), &ret->energy_uj) : rc;
}

static void read_usage(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N])
{
	const struct rocm *r = library;
	uint32_t index = index_of(d);
	uint64_t total;
	uint64_t used;
	uint64_t cap_uw;
	uint32_t busy;

	if (r->api.get_busy && r->api.get_busy(index, &busy) == RSMI_STATUS_SUCCESS && busy <= 100)
		value[GPU_VALUE_BUSY_PPM] = busy * UINT64_C(10000);
	if (r->api.get_power_cap && r->api.get_power_cap(index, 0, &cap_uw) == RSMI_STATUS_SUCCESS)
		value[GPU_VALUE_POWER_LIMIT_MW] = cap_uw / 1000;
	if (r->api.get_memory_total && r->api.get_memory_usage &&
	    r->api.get_memory_total(index, RSMI_MEM_TYPE_VRAM, &total) == RSMI_STATUS_SUCCESS &&
	    r->api.get_memory_usage(index, RSMI_MEM_TYPE_VRAM, &used) == RSMI_STATUS_SUCCESS &&
	    used <= total) {
		value[GPU_VALUE_MEM_USED_BYTES] = used;
		value[GPU_VALUE_MEM_TOTAL_BYTES] = total;
	}
}

const struct gpu_library_ops gpu_library_rocm = {
	.name = "rocm",
	.open = open_library,
	.count = count_devices,
	.identify = rocm_identify,
	.read_energy = read_energy,
	.read_usage = read_usage,
	.close = close_library,
};
