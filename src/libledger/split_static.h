/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split_static.h - which share of the CPUs, memory and GPUs a line holds. For split.c and ledger_book.c only.
 */
#ifndef CEEMS_SPLIT_STATIC_H
#define CEEMS_SPLIT_STATIC_H

#include "src/libledger/split.h"

#define SPLIT_ALL_SOCKETS SOCKETS_MAX

enum split_kind {
	SPLIT_CPUS,
	SPLIT_MEMORY,
	SPLIT_GPU,
	SPLIT_INSTANCE,
};

/* A resource that Slurm allocates. */
struct split_resource {
	enum split_kind kind;
	unsigned int unit;		       /* socket, SPLIT_ALL_SOCKETS or GPU */
	const struct split_instance *instance; /* only SPLIT_INSTANCE: the MIG instance */
};

/*
 * Writes to WEIGHT[0..nlines-1] how much of resource R each line holds in the window, and to
 * WEIGHT[nlines] how much no line holds. The unit is one of the resource (a thousandth of a CPU or MB, a
 * millionth of a GPU) for a nanosecond. Returns by how many bits all weights were shifted right to fit
 * into 64 bits; usually 0. WORK is scratch memory of split_static_work_size() bytes.
 */
unsigned int split_static_weights(const struct split_input *in, struct split_resource r, void *work,
				  uint64_t *weight);
size_t split_static_work_size(size_t njobs);

/* Returns the part of TOTAL on socket UNIT, if TOTAL is spread over the sockets like the CPUs of HOLDER. */
uint64_t split_on_socket(const struct split_input *in, const struct split_alloc *holder, unsigned int unit,
			 uint64_t total);

#endif
