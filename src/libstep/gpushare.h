/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare.h - which part of each GPU a job or step holds, from the device files that Slurm
 * allocated to it. Running processes do not matter: an allocated GPU that is idle has an owner,
 * too.
 */
#ifndef CEEMS_GPUSHARE_H
#define CEEMS_GPUSHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libmeter/sensor/gpumap.h"

/* One device file of the node's GRES, as gres.conf lists it. */
struct gpushare_device {
	const char *path; /* ".../nvidia0", ".../renderD128", ".../nvidia-cap21" */
	const char *type; /* of the GRES; NULL: not known */
	int index;	  /* GRES index; the files of one MIG instance have the same */
	bool is_held;
	struct gpumap_file file; /* filled in by gpushare_by_files() */
};

/* Returns true if one of the files is a MIG instance's, so that its share depends on its size. */
bool gpushare_has_instances(const struct gpushare_device *d, size_t n);

/*
 * Computes the shares held of each GPU: RET[unit] in ppm, by the rules of gpumap.h. With MIG, Slurm
 * marks a GPU's own file, too, for each holder of an instance; that file is ignored. A held file
 * adds no share if its GPU or size is unknown; ERR then names the first such file and the reason,
 * else it is empty. In RET_INSTANCES[unit], bit N is set if GPU instance N is held, even if its
 * size is unknown. Returns how many GPUs are held, whole or in part.
 */
unsigned int gpushare_by_files(struct gpumap *map, const struct gpu_slices *known, struct gpushare_device *d,
			       size_t n, uint32_t ret[GPUS_MAX], uint16_t ret_instances[GPUS_MAX],
			       struct errmsg *err);

#endif
