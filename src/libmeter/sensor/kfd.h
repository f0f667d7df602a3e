/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kfd.h - finds the partitions of AMD's GPUs in the topology of the kernel driver. A partitioned
 * GPU (MI300X in CPX) is up to eight nodes of that topology, each with a render node of its own.
 * All these nodes have the PCI address of the GPU. sysfs does not show which partitions belong together,
 * because their devices have no parent.
 */
#ifndef CEEMS_KFD_H
#define CEEMS_KFD_H

#include "src/libutil/must_check.h"

struct kfd;

/* Reads the topology below ROOT. -ENODEV: it has no GPU. -ENOMEM. */
int kfd_open(const char *root, struct kfd **ret) _must_check_;
void kfd_close(struct kfd *k);

/*
 * Finds the lowest render node of the GPU that renderD<MINOR> belongs to, and how many render nodes
 * that GPU has. If the topology does not have MINOR, neither is written.
 */
void kfd_socket(const struct kfd *k, unsigned int minor, unsigned int *ret_first, unsigned int *ret_count);

#endif
