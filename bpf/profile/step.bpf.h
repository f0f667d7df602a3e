/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step.bpf.h - whether the current task is of the step that is profiled.
 */
#ifndef CEEMS_STEP_BPF_H
#define CEEMS_STEP_BPF_H

#include "../kernel.bpf.h"
#include "profile.h"

char LICENSE[] SEC("license") = "GPL";

/* The step's v2 cgroup. Empty: no task is in it. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroup SEC(".maps");

static __always_inline bool is_of_step(void)
{
	return bpf_current_task_under_cgroup(&cgroup, 0) == 1;
}

#endif
