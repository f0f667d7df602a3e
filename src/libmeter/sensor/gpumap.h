/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpumap.h - which GPU a device file belongs to, and which share of that GPU.
 *
 *	/dev/nvidia3			  GPU 3
 *	/dev/nvidia-caps/nvidia-cap21	  an instance of MIG: /proc/driver/nvidia-caps/mig-minors names
 *					  GPU, GPU instance and compute instance
 *	/dev/dri/renderD130		  GPU 2, or a part of an AMD GPU (kfd.h): a partition (DPX, QPX,
 *					  CPX), or a die of an MI250
 *	/dev/dri/card1			  the GPU of Intel whose render node has the same device, as
 *					  Slurm's AutoDetect=oneapi names it
 *
 * The share of an instance is the mean of its share of the GPU's compute slices and its share of the
 * GPU's memory. Both are shares of all that the hardware has. The energy of slices without an instance
 * is unallocated. Memory counts in eighths of the GPU's memory, as the hardware divides it. Compute
 * instances of one GPU instance share its memory by their compute slices. A 1g.5gb of an A100 (7 slices,
 * 40 GB) has the share (1/7 + 1/8) / 2. Partitions of an AMD GPU have equal shares, and so have its dies.
 */
#ifndef CEEMS_GPUMAP_H
#define CEEMS_GPUMAP_H

#include "src/libcore/domain.h"
#include "src/libmeter/sensor/source.h"
#include "src/libutil/must_check.h"

#define GPUMAP_WHOLE 1000000

enum gpumap_kind {
	GPUMAP_OTHER,	  /* the file does not belong to one GPU: nvidiactl, config and monitor of MIG */
	GPUMAP_GPU,	  /* a whole GPU */
	GPUMAP_PARTITION, /* an AMD GPU can be divided into equal partitions, or have two dies */
	GPUMAP_INSTANCE,  /* a GPU instance of MIG with all its compute instances, or one of these */
	GPUMAP_UNKNOWN,	  /* the file is of MIG, but its GPU is not known */
};

struct gpumap_file {
	enum gpumap_kind kind;
	unsigned int unit;
	unsigned int partitions;
	unsigned int gi; /* of a partition: its number, kfd_gpu.part */
	bool has_ci;
	unsigned int ci;
};

struct gpumap;

/* Makes the object; reads nothing yet. ROOT is SysRoot, borrowed. NULL: out of memory. */
struct gpumap *gpumap_create(const char *root);
void gpumap_destroy(struct gpumap *m);

/* Finds the GPU and kind of the device file PATH. */
void gpumap_find(struct gpumap *m, const char *path, struct gpumap_file *ret);

/* Returns why the last file was GPUMAP_UNKNOWN. */
const char *gpumap_why(const struct gpumap *m);

/* Shares of a GPU that a MIG instance has, in ppm. */
struct gpumap_size {
	uint32_t compute_ppm;
	uint32_t memory_ppm;
};

/*
 * Gives the size of the MIG instance F; false: it is not known. The size of F is taken from KNOWN, the sizes
 * by the driver. If F is not in KNOWN, the size is taken from TYPE, the name of its GRES type ("1g.5gb",
 * "a100_3g.20gb", "1c.3g.20gb"; NULL: no type). If the GPU is not in KNOWN, it is assumed to have 7 slices,
 * and F the same share of its memory as of its slices.
 */
bool gpumap_find_size(const struct gpu_slices *known, const struct gpumap_file *f, const char *type,
		      struct gpumap_size *ret) _must_check_;
/* Returns the share of F of its GPU, in ppm: the mean of its size. 0: not known. */
uint32_t gpumap_share(const struct gpu_slices *known, const struct gpumap_file *f, const char *type);

#endif
