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

/* -EOPNOTSUPP: the kernel has no BTF. */
int kernel_has_open(struct kernel_has **ret, struct errmsg *err) _must_check_;
void kernel_has_close(struct kernel_has *k);

/*
 * Returns true if the kernel has a struct TYPE with MEMBER, directly or in anonymous structs and
 * unions.
 */
bool kernel_has_member(const struct kernel_has *k, const char *type, const char *member);

/* Returns true if BTF has the function, which fexit needs. */
bool kernel_has_function(const struct kernel_has *k, const char *name);

/*
 * Returns the number of arguments that a tp_btf program of tracepoint NAME gets. -ENOENT: there is
 * no such tracepoint. The second function returns true if argument ARG, counted from 0, is a
 * pointer to struct TYPE.
 */
int kernel_has_tracepoint(const struct kernel_has *k, const char *name);
bool kernel_has_tracepoint_arg(const struct kernel_has *k, const char *name, unsigned int arg,
			       const char *type);

/*
 * Returns true if tasks may be preempted in programs that are attached to a tracepoint by BTF: since 7.0,
 * whose tracepoints are guarded by SRCU-fast and no longer by preemption off. False is no proof.
 */
bool kernel_has_preemptible_tracepoints(const struct kernel_has *k);

/*
 * Returns the id of the perf event of tracepoint NAME ("sched/sched_process_exit"). 0: no tracefs is mounted.
 */
__u32 kernel_has_event(const char *name);

/*
 * Return true if fexit programs can be loaded and attached; and if they can be attached again after
 * a detach (since 5.13, f3a95075549e).
 */
bool kernel_has_fexit(const struct kernel_has *k);
bool kernel_has_fexit_again(const struct kernel_has *k);

/*
 * Returns true if an iterator of this kind can be loaded. FUNCTION names it, such as
 * "bpf_iter_task". Some kernels refuse some kinds.
 */
bool kernel_has_iterator(const struct kernel_has *k, const char *function);

/* Returns true if a map of this type can be made. Not for types that need BTF (SK_STORAGE). */
bool kernel_has_map(enum bpf_map_type type, __u32 key_size, __u32 value_size, __u32 flags);

/*
 * Returns true if a v1 hierarchy has the freezer; Slurm on cgroup v1 puts each step into a folder
 * there.
 */
bool kernel_has_v1_freezer(void);

#endif
