/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split_static.h - which share of each part of the node a line holds, for split.c and ledger_book.c only.
 */
#ifndef CEEMS_SPLIT_STATIC_H
#define CEEMS_SPLIT_STATIC_H

#include "src/libledger/split.h"

#define SPLIT_ALL_SOCKETS SOCKETS_MAX

enum split_kind {
	SPLIT_CPUS,
	SPLIT_MEMORY,
	SPLIT_GPU,
};

/* Something that is allocated. */
struct split_resource {
	enum split_kind kind;
	unsigned int unit; /* socket, SPLIT_ALL_SOCKETS or GPU */
};

/*
 * WEIGHT[0..nlines-1]: what each line holds of it, in units x ns; WEIGHT[nlines]: what nobody
 * does. WORK is of split_static_work_size() bytes. Returns by how many bits
 * all weights are shifted right, so that they fit.
 */
unsigned int split_static_weights(const struct split_input *in, struct split_resource r, void *work,
				  uint64_t *weight);
size_t split_static_work_size(size_t njobs);

/* How much of TOTAL that is spread over the sockets as the CPUs of HOLDER lies on UNIT. */
uint64_t split_on_socket(const struct split_input *in, const struct split_alloc *holder,
			 unsigned int unit, uint64_t total);

#endif
