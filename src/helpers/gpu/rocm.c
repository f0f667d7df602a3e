/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ROCm for ceems-gpu: what AMD's GPUs used, by their energy accumulators, or, for GPUs without one, by
 * their power over time. The library is AMD SMI (ROCm 6 and later) or ROCm SMI (until ROCm 7). The unit
 * is the number of the render node: that is the file that Slurm's gres.conf names. A GPU of several parts
 * (kfd.h: an MI300X in CPX, the two dies of an MI250) is a device per part, with one counter, which all of
 * them show or the first: it is read once, and its unit is its lowest render node.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/helpers/gpu/amdsmi.h"
#include "src/helpers/gpu/gpu.h"
#include "src/helpers/gpu/rocm_api.h"
#include "src/libutil/util.h"
#include "src/libutil/wide_math.h"

#define FIRST_RENDER_NODE 128

/* Those of AMD SMI first: ROCm 10 has no ROCm SMI any more. */
static const char *const usual[] = {
	"libamd_smi.so.27", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "librocm_smi64.so",
};

struct rocm {
	void *dl;
	struct rocm_api api;
	struct kfd *kfd; /* NULL: not known */
	char name[32];	 /* "AMD SMI 26" */
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
	kfd_close(r->kfd);
	free(r);
}

static int open_rocm_smi(struct rocm *r, const char *path, struct errmsg *err)
{
	int rc = gpu_load(path, symbols, ARRAY_SIZE(symbols), &r->api, &r->dl, err);

	if (rc < 0)
		return rc;
	rc = rocm_errno(r->api.init(0));
	if (rc < 0) {
		(void)dlclose(r->dl);
		return errmsg_errno(err, rc, "rsmi_init");
	}
	(void)snprintf(r->name, sizeof(r->name), "ROCm SMI");
	return 0;
}

static int open_either(struct rocm *r, const char *path, struct errmsg *err)
{
	unsigned int abi;
	int rc = amdsmi_open(path, r->kfd, &r->api, &r->dl, &abi, err);

	if (rc == 0)
		(void)snprintf(r->name, sizeof(r->name), "AMD SMI %u", abi);
	return rc == -ENOSYS ? open_rocm_smi(r, path, err) : rc;
}

/* ROCm's packages leave it to the site to tell the dynamic linker of /opt/rocm/lib. */
static int open_usual(struct rocm *r, struct errmsg *err)
{
	struct errmsg first = { 0 };
	int why = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(usual); i++) {
		char installed[64];
		int rc = open_either(r, usual[i], err);

		(void)snprintf(installed, sizeof(installed), "/opt/rocm/lib/%s", usual[i]);
		if (rc == -ELIBACC)
			rc = open_either(r, installed, err);
		if (rc == 0)
			return 0;
		if (rc != -ELIBACC && !why) {
			why = rc;
			first = *err;
		}
	}
	if (why)
		*err = first;
	return why ? why : errmsg_set(err, -ELIBACC, "neither AMD SMI nor ROCm SMI can be loaded");
}

static int open_library(const char *path, const char *root, void **ret, struct errmsg *err)
{
	_cleanup_free_ struct rocm *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return errmsg_errno(err, -ENOMEM, "library");
	if (kfd_open(root, &r->kfd) < 0)
		r->kfd = NULL;
	rc = strchr(path, '/') ? open_either(r, path, err) : open_usual(r, err);
	if (rc < 0) {
		kfd_close(r->kfd);
		return rc;
	}
	*ret = TAKE_PTR(r);
	return 0;
}

static const char *library_name(const void *library)
{
	return ((const struct rocm *)library)->name;
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

static bool shows_anything(const struct rocm *r, uint32_t index)
{
	uint64_t value;

	return read_counter(r, index, &value) != -EOPNOTSUPP || read_power(r, index, &value) != -EOPNOTSUPP;
}

/* The second die of an MI250 shows a counter that stays 0, and a power of 0 or none. */
static bool is_second_die(const struct rocm *r, uint32_t index, const struct kfd_gpu *node)
{
	uint64_t uj = 0, mw = 0;
	int rc;

	if (!node || !node->is_one_of_dies)
		return false;
	rc = read_counter(r, index, &uj);
	if (rc < 0 ? rc != -EOPNOTSUPP : uj > 0)
		return false;
	rc = read_power(r, index, &mw);
	return rc < 0 ? rc == -EOPNOTSUPP : !mw;
}

static const struct kfd_gpu *node_of(const struct rocm *r, uint32_t index)
{
	uint32_t minor;

	if (!r->kfd || r->api.get_render_minor(index, &minor) != RSMI_STATUS_SUCCESS)
		return NULL;
	return kfd_find(r->kfd, minor);
}

/* An earlier part of the same GPU counts for all of it. */
static bool is_counted(const struct rocm *r, uint32_t index, const struct kfd_gpu *node)
{
	uint32_t i;

	for (i = 0; node && node->parts > 1 && i < index; i++) {
		const struct kfd_gpu *other = node_of(r, i);

		if (other && other->first == node->first && shows_anything(r, i) &&
		    !is_second_die(r, i, other))
			return true;
	}
	return false;
}

static int rocm_identify(void *library, unsigned int index, struct gpu_device *ret)
{
	const struct rocm *r = library;
	const struct kfd_gpu *node = node_of(r, index);
	uint32_t minor, unit;
	uint64_t uj;
	uint64_t mw;
	uint64_t id;
	int rc = r->api.get_render_minor(index, &minor);

	if (rc == RSMI_STATUS_SUCCESS && minor < FIRST_RENDER_NODE)
		return -EOPNOTSUPP; /* without a render node nobody can use it */
	if (rc == RSMI_STATUS_SUCCESS && is_second_die(r, index, node))
		return node->parts > 1 ? -EALREADY : -EOPNOTSUPP;
	if (rc == RSMI_STATUS_SUCCESS && is_counted(r, index, node))
		return -EALREADY;
	if (rc == RSMI_STATUS_SUCCESS)
		rc = r->api.get_name(index, ret->model, sizeof(ret->model));
	if (rc != RSMI_STATUS_SUCCESS)
		return rocm_errno(rc);
	ret->model[sizeof(ret->model) - 1] = '\0';
	ret->handle = (uintptr_t)index + 1;
	unit = (node ? node->first : minor) - FIRST_RENDER_NODE;
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

static void read_part_usage(const struct rocm *r, uint32_t index, uint64_t value[GPU_VALUE_N])
{
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

static void join_dies(uint64_t *value, uint64_t other, unsigned int divisor)
{
	*value = *value == GPU_VALUE_UNKNOWN || other == GPU_VALUE_UNKNOWN ? GPU_VALUE_UNKNOWN :
									     (*value + other) / divisor;
}

/* Of a GPU of two dies: the mean of how busy they are, and the memory of both. */
static void read_usage(void *library, const struct gpu_device *d, uint64_t value[GPU_VALUE_N])
{
	const struct rocm *r = library;
	const struct kfd_gpu *node = node_of(r, index_of(d));
	uint32_t count = 0;
	uint32_t i;

	read_part_usage(r, index_of(d), value);
	if (node && node->is_one_of_dies && node->parts > 1)
		(void)r->api.get_count(&count);
	for (i = 0; i < count; i++) {
		const struct kfd_gpu *other = node_of(r, i);
		uint64_t die[GPU_VALUE_N];

		if (i == index_of(d) || !other || other->first != node->first)
			continue;
		gpu_values_forget(die);
		read_part_usage(r, i, die);
		join_dies(&value[GPU_VALUE_BUSY_PPM], die[GPU_VALUE_BUSY_PPM], 2);
		join_dies(&value[GPU_VALUE_MEM_USED_BYTES], die[GPU_VALUE_MEM_USED_BYTES], 1);
		join_dies(&value[GPU_VALUE_MEM_TOTAL_BYTES], die[GPU_VALUE_MEM_TOTAL_BYTES], 1);
	}
}

/*
 * The parts of a GPU. Of the memory of a partition nobody knows whether others have the same (NPS1), so only
 * a die has it.
 */
static size_t read_parts(void *library, const struct gpu_device *d, struct gpu_instance *ret, size_t max)
{
	const struct rocm *r = library;
	const struct kfd_gpu *node = node_of(r, index_of(d));
	uint32_t count = 0;
	size_t n = 0;
	uint32_t i;

	if (node && node->parts > 1)
		(void)r->api.get_count(&count);
	for (i = 0; i < count && n < max; i++) {
		const struct kfd_gpu *part = node_of(r, i);

		if (!part || part->first != node->first)
			continue;
		ret[n] = (struct gpu_instance){ .gi = part->part, .slices = 1 };
		gpu_values_forget(ret[n].value);
		read_part_usage(r, i, ret[n].value);
		if (!part->is_one_of_dies)
			ret[n].value[GPU_VALUE_MEM_USED_BYTES] = ret[n].value[GPU_VALUE_MEM_TOTAL_BYTES] =
				GPU_VALUE_UNKNOWN;
		n++;
	}
	return n;
}

const struct gpu_library_ops gpu_library_rocm = {
	.name = "rocm",
	.open = open_library,
	.library_name = library_name,
	.count = count_devices,
	.identify = rocm_identify,
	.read_energy = read_energy,
	.read_usage = read_usage,
	.read_instances = read_parts,
	.close = close_library,
};
