/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare.h - which part of each GPU somebody holds, from the device files that Slurm gave him.
 * Processes are not asked: a GPU that is allocated and idle has an owner all the same.
 */
#ifndef CEEMS_GPUSHARE_H
#define CEEMS_GPUSHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libcore/domain.h"

/* One device file of the node's GRES, as gres.conf lists it. */
struct gpushare_device {
	const char *path; /* ".../nvidia0", ".../renderD128", ".../nvidia-cap21" */
	int index;	  /* of the GRES; all files of a MIG instance have the same */
	bool is_held;
};

/*
 * RET in ppm by unit. Whole GPUs are held or not. One that is cut by MIG has instances, each of
 * which counts alike, whatever its size: no file says how large it is. They belong to the GPU
 * that is listed last before them, as Slurm lists a GPU's instances one after the other. Files of
 * other devices are not looked at. Returns how many GPUs are held, in part at least.
 */
unsigned int gpushare_by_files(const struct gpushare_device *d, size_t n,
			       uint32_t ret[GPUS_MAX]);

#endif
