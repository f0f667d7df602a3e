/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_has.h - finds out what the running kernel has, from its BTF and by trial loads. The version is
 * never used, because it says little about a distribution's kernel.
 */
#ifndef CEEMS_KERNEL_HAS_H
#define CEEMS_KERNEL_HAS_H

#include <linux/bpf.h>
#include <stdbool.h>

#include "src/libutil/errmsg.h"

struct kernel_has;

/* -EOPNOTSUPP: the kernel does not describe itself. */
int kernel_has_open(struct kernel_has **ret, struct errmsg *err);
void kernel_has_close(struct kernel_has *k);

/* A struct of that name with such a member, which may be in anonymous structs and unions in it. */
bool kernel_has_member(const struct kernel_has *k, const char *type, const char *member);

/* A function that has type information, which is a condition of hooking into it. */
bool kernel_has_function(const struct kernel_has *k, const char *name);

/*
 * What a tp_btf program of tracepoint NAME gets: how many arguments; -ENOENT: there is no such
 * tracepoint. And whether argument ARG, from 0, is a pointer to struct TYPE.
 */
int kernel_has_tracepoint(const struct kernel_has *k, const char *name);
bool kernel_has_tracepoint_arg(const struct kernel_has *k, const char *name, unsigned int arg,
			       const char *type);

/*
 * Function hooks: fexit programs load and can be attached. From 5.13 on (f3a95075549e) they can
 * also be attached again after a detach.
 */
bool kernel_has_fexit(const struct kernel_has *k);
bool kernel_has_fexit_again(const struct kernel_has *k);

/* An iterator, by the function that stands for it ("bpf_iter_task"), loads. Some kernels refuse single ones. */
bool kernel_has_iterator(const struct kernel_has *k, const char *function);

/* Such a map can be made; not for types that need BTF (SK_STORAGE). */
bool kernel_has_map(enum bpf_map_type type, __u32 key_size, __u32 value_size, __u32 flags);

/* The freezer is in a v1 hierarchy: Slurm on cgroup v1 knows its steps by it. */
bool kernel_has_v1_freezer(void);

#endif
