/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare.h - which part of each GPU a job or step holds, from the device files that Slurm gave to it.
 * Processes do not matter: a GPU that is allocated and idle also has an owner.
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
	int index;	  /* of the GRES; all files of a MIG instance have the same */
	bool is_held;
	struct gpumap_file file; /* filled in by gpushare_by_files() */
};

/* Whether shares depend on the sizes of MIG's instances. */
bool gpushare_has_instances(const struct gpushare_device *d, size_t n);

/*
 * RET in ppm by unit: gpumap.h has the rules. With MIG, Slurm also marks the GPU's own file for
 * each holder of an instance. That file is not counted. A file that is held and whose GPU or size
 * is unknown adds no share: ERR then names the first such file and the reason, else it is empty.
 * RET_INSTANCES[u] has bit N for GPU instance N of unit u that is held, also where its size is
 * unknown. Returns how many GPUs are held, whole or in part.
 */
unsigned int gpushare_by_files(struct gpumap *map, const struct gpu_slices *known,
			       struct gpushare_device *d, size_t n, uint32_t ret[GPUS_MAX],
			       uint16_t ret_instances[GPUS_MAX], struct errmsg *err);

#endif
