/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_btf.h - finds the offset of a struct member in the running kernel, by its BTF type
 * information. We load small BPF programs without libbpf, which would otherwise do this.
 */
#ifndef CEEMS_KERNEL_BTF_H
#define CEEMS_KERNEL_BTF_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

struct kernel_btf;

#define KERNEL_BTF_PATH "/sys/kernel/btf/vmlinux"

/*
 * Reads BTF from PATH to *RET. Returns 0; -ENOENT: the kernel has no BTF; -EINVAL: malformed, or of
 * an unknown kind; or -errno.
 */
int kernel_btf_open(const char *path, struct kernel_btf **ret, struct errmsg *err);
void kernel_btf_close(struct kernel_btf *b);

/*
 * Sets *RET to the offset in bytes of MEMBER in struct TYPE, also if it is in an anonymous struct
 * or union there. Returns 0; -ENOENT: no such member.
 */
int kernel_btf_offset(const struct kernel_btf *b, const char *type, const char *member, uint32_t *ret);

#endif
