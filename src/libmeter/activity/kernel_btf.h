/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_btf.h - where the running kernel has a member of a struct, by its BTF (/sys/kernel/btf/vmlinux). For programs of a
 * few instructions that are loaded without libbpf.
 */
#ifndef CEEMS_KERNEL_BTF_H
#define CEEMS_KERNEL_BTF_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

struct kernel_btf;

#define KERNEL_BTF_PATH "/sys/kernel/btf/vmlinux"

/* -ENOENT: the kernel was built without; -EINVAL: it is not as expected. */
int kernel_btf_open(const char *path, struct kernel_btf **ret, struct errmsg *err);
void kernel_btf_close(struct kernel_btf *b);

/* The offset in bytes of MEMBER in struct TYPE, directly or in anonymous structs and unions. -ENOENT: there is none. */
int kernel_btf_offset(const struct kernel_btf *b, const char *type, const char *member, uint32_t *ret);

#endif
