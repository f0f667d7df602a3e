/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kfd.h - finds the parts of AMD's GPUs in the topology of the kernel driver. Each part has a render node.
 *
 * A partitioned GPU (MI300X in CPX) is up to eight nodes of that topology. All these nodes have the PCI
 * address of the GPU. sysfs does not show which partitions belong together, because their devices have no
 * parent.
 *
 * An MI250 or MI250X has two dies, each with a PCI address of its own. The driver has the power and energy
 * of both dies at the first one and 0 at the second (aldebaran_is_primary() in the kernel). The dies of a
 * module are neighbours in the order of PCI addresses.
 */
#ifndef CEEMS_KFD_H
#define CEEMS_KFD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libutil/must_check.h"

struct kfd;

/* Reads the topology below ROOT. -ENODEV: it has no GPU. -ENOMEM. */
int kfd_open(const char *root, struct kfd **ret) _must_check_;
void kfd_close(struct kfd *k);

struct kfd_gpu {
	unsigned int minor;  /* 128 in renderD128 */
	uint64_t bdf;	     /* PCI domain in the upper half, then partition (31:28), bus, device, function */
	uint64_t unique_id;  /* of the GPU's chip; 0: it has none */
	uint16_t device_id;  /* of PCI */
	unsigned int first;  /* the lowest render node of the GPU that this one belongs to */
	unsigned int parts;  /* how many render nodes that GPU has */
	unsigned int part;   /* its number among these from 0, in the order of render nodes */
	bool is_one_of_dies; /* of an MI250 */
};

/* Finds renderD<MINOR>. NULL: the topology does not have it. Borrowed. */
const struct kfd_gpu *kfd_find(const struct kfd *k, unsigned int minor);

/* Finds the node by its PCI address and partition. NULL: the topology does not have it. Borrowed. */
const struct kfd_gpu *kfd_find_bdf(const struct kfd *k, uint64_t bdf);

#endif
