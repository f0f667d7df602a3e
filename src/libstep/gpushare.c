/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libstep/gpushare.h"

#include <errno.h>
#include <string.h>

static bool is_of_mig(const struct gpushare_device *d)
{
	return d->file.kind == GPUMAP_INSTANCE || d->file.kind == GPUMAP_UNKNOWN;
}

bool gpushare_has_instances(const struct gpushare_device *d, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strstr(d[i].path, "/nvidia-cap"))
			return true;
	return false;
}

/*
 * Returns true if MIG divides the GPU. Slurm lists the GPU's own file once, with the index of the
 * first instance. An instance that mig-minors does not have is assumed to be of the GPU with the
 * same index.
 */
static bool is_divided(const struct gpushare_device *gpu, const struct gpushare_device *d, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (is_of_mig(&d[i]) && (d[i].index == gpu->index || (d[i].file.kind == GPUMAP_INSTANCE &&
								      d[i].file.unit == gpu->file.unit)))
			return true;
	return false;
}

/*
 * Returns true for the file of a GPU instance that is listed together with one of its compute
 * instances; only the latter is held.
 */
static bool is_repeated(const struct gpushare_device *gi, const struct gpushare_device *d, size_t n)
{
	size_t i;

	if (gi->file.has_ci)
		return false;
	for (i = 0; i < n; i++)
		if (d[i].index == gi->index && d[i].file.kind == GPUMAP_INSTANCE && d[i].file.has_ci &&
		    d[i].file.unit == gi->file.unit && d[i].file.gi == gi->file.gi)
			return true;
	return false;
}

static void add_share(uint32_t *ppm, uint32_t share)
{
	*ppm = *ppm + share < GPUMAP_WHOLE ? *ppm + share : GPUMAP_WHOLE;
}

static void note_unknown(const struct gpushare_device *d, const char *why, struct errmsg *err)
{
	if (!err->text[0])
		(void)errmsg_set(err, -ENOENT, "%s: %s", d->path, why);
}

static void add_instance(struct gpumap *map, const struct gpu_slices *known, const struct gpushare_device *d,
			 uint32_t ret[GPUS_MAX], struct errmsg *err)
{
	uint32_t share;

	if (d->file.kind == GPUMAP_UNKNOWN) {
		note_unknown(d, gpumap_why(map), err);
		return;
	}
	share = gpumap_share(known, &d->file, d->type);
	if (share)
		add_share(&ret[d->file.unit], share);
	else
		note_unknown(d, "neither NVML nor Type in gres.conf gives the size of the instance", err);
}

static void hold_instance(const struct gpumap_file *f, uint16_t ret[GPUS_MAX])
{
	if (f->gi < GPU_INSTANCES_MAX)
		ret[f->unit] |= (uint16_t)(1u << f->gi);
}

/*
 * Adds partitions, counted first and then divided, so that all partitions together are the whole GPU. What is
 * not all of them is instances: each has values of its own.
 */
static void add_parts(const struct gpushare_device *d, size_t n, uint32_t ret[GPUS_MAX],
		      uint16_t ret_instances[GPUS_MAX])
{
	unsigned int held[GPUS_MAX] = { 0 };
	unsigned int partitions[GPUS_MAX] = { 0 };
	unsigned int u;
	size_t i;

	for (i = 0; i < n; i++) {
		if (d[i].file.kind != GPUMAP_PARTITION)
			continue;
		partitions[d[i].file.unit] = d[i].file.partitions;
		held[d[i].file.unit] += d[i].is_held;
	}
	for (u = 0; u < GPUS_MAX; u++)
		if (held[u])
			add_share(&ret[u], (uint32_t)((uint64_t)GPUMAP_WHOLE * held[u] / partitions[u]));
	for (i = 0; i < n; i++)
		if (d[i].is_held && d[i].file.kind == GPUMAP_PARTITION &&
		    held[d[i].file.unit] < d[i].file.partitions)
			hold_instance(&d[i].file, ret_instances);
}

unsigned int gpushare_by_files(struct gpumap *map, const struct gpu_slices *known, struct gpushare_device *d,
			       size_t n, uint32_t ret[GPUS_MAX], uint16_t ret_instances[GPUS_MAX],
			       struct errmsg *err)
{
	unsigned int held = 0;
	unsigned int u;
	size_t i;

	err->text[0] = '\0';
	memset(ret, 0, GPUS_MAX * sizeof(*ret));
	memset(ret_instances, 0, GPUS_MAX * sizeof(*ret_instances));
	for (i = 0; i < n; i++)
		gpumap_find(map, d[i].path, &d[i].file);
	for (i = 0; i < n; i++) {
		if (!d[i].is_held)
			continue;
		if (d[i].file.kind == GPUMAP_GPU && !is_divided(&d[i], d, n))
			ret[d[i].file.unit] = GPUMAP_WHOLE;
		else if (is_of_mig(&d[i]) && !is_repeated(&d[i], d, n)) {
			add_instance(map, known, &d[i], ret, err);
			if (d[i].file.kind == GPUMAP_INSTANCE)
				hold_instance(&d[i].file, ret_instances);
		}
	}
	add_parts(d, n, ret, ret_instances);
	for (u = 0; u < GPUS_MAX; u++)
		held += ret[u] > 0;
	return held;
}
