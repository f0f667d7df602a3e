/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpuweights.h - the activity of MIG instances, by which the dynamic energy of their GPU is split. A GPU has
 * one energy counter for all of them, and NVML's GPM (Hopper and later) shows the activity of each.
 */
#ifndef CEEMS_GPUWEIGHTS_H
#define CEEMS_GPUWEIGHTS_H

#include "src/libnode/tick.h"

/* Zeroed: no tick yet. For the sampler's thread only. */
struct gpuweights {
	uint16_t held[GPUS_MAX]; /* the instances that jobs held at the end of the last tick */
	uint64_t left_ns[GPUS_MAX][GPU_INSTANCES_MAX]; /* when a job was seen to have left it; 0: none has */
	struct split_instance instance[GPU_SLICES_MAX];
};

/*
 * Has the activity of the instances booked (struct book_tick) in the unit of one millionth of a GPU:
 *
 *	2/3 x SM activity x share of the compute slices + 1/3 x DRAM activity x share of the memory
 *
 * The last reading of a GPU is used, which ended about when this tick began: a reading comes behind the
 * answer with the energy (ceems-gpu). A GPU is left out if
 *	- the size, the SM or the DRAM activity of one of its instances is not known,
 *	- a job holds an instance that has no reading, or a part of the GPU that is no instance,
 *	- a job came to or left an instance after the reading began,
 *	- or the reading is too old, or too short for this tick.
 * Borrowed by T until the next call.
 */
void gpuweights_fill(struct gpuweights *w, struct tick *t);

#endif
