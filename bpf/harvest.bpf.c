/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * harvest.bpf.c - takes the counters of a task when it exits, lists those of the living. Costs
 * nothing per I/O; per exit a walk up the task's cgroups, a fraction of a microsecond.
 *
 * At the moment of the exit tracepoint PF_EXITING is set, and it stays set until the task is
 * gone. So the iterator leaves such tasks out: what has been or is about to be added to a row
 * is not listed too. A reader that takes the row first and the list second never counts a task
 * twice, misses at most those that exit in between, and is exact when none is left.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "harvest.h"

char LICENSE[] SEC("license") = "GPL";

#define PF_EXITING 0x00000004 /* include/linux/sched.h, unchanged since 2.6 */
#define PF_KTHREAD 0x00200000

/* Just the kernel's fields in use; CO-RE finds where they are. */
#define KERNEL __attribute__((preserve_access_index))

struct kernfs_node {
	__u64 id;
} KERNEL;

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} KERNEL;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
} KERNEL;

enum cgroup_subsys_id {
	freezer_cgrp_id = 0, /* the running kernel's value is relocated in */
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
} KERNEL;

struct task_io_accounting {
	__u64 rchar, wchar, syscr, syscw;
	__u64 read_bytes, write_bytes;
} KERNEL;

struct sched_entity {
	__u64 sum_exec_runtime;
} KERNEL;

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	struct css_set *cgroups;
	struct sched_entity se;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
	struct task_io_accounting ioac;
} KERNEL;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} KERNEL;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct harvest_meta);
} meta SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HARVEST_ROWS + 1);
	__type(key, __u32);
	__type(value, struct harvest_row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HARVEST_CGROUPS);
	__type(key, struct harvest_cgroup);
	__type(value, __u32);
} cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HARVEST_ROWS);
	__type(key, __u32);
	__type(value, struct harvest_owner);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HARVEST_USERS);
	__type(key, __u32);
	__type(value, struct harvest_user);
} users SEC(".maps");

/* cgroup->ancestors[] is a flexible array, which BTF access refuses: go by the parents. */
static __always_inline __u32 *find_upwards(struct cgroup *cgrp, __u32 hierarchy)
{
	struct harvest_cgroup key = { .hierarchy = hierarchy };
	struct cgroup_subsys_state *parent;
	__u32 *row;
	int i;

	for (i = 0; i < HARVEST_DEPTH && cgrp; i++) {
		key.id = cgrp->kn->id;
		row = bpf_map_lookup_elem(&cgroups, &key);
		if (row)
			return row;
		parent = cgrp->self.parent;
		if (!parent)
			break;
		cgrp = parent->cgroup;
	}
	return NULL;
}

static __always_inline __u32 *find_row(struct task_struct *task)
{
	struct css_set *set = task->cgroups;
	struct cgroup_subsys_state *css;
	__u32 *row;

	row = find_upwards(set->dfl_cgrp, HARVEST_V2);
	if (row)
		return row;
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, freezer_cgrp_id))
		return NULL;
	css = set->subsys[bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id)];
	return find_upwards(css->cgroup, HARVEST_V1_FREEZER);
}

/* The task's own: signal->ioac has what its reaped threads and children left, too. */
static __always_inline void take(struct task_struct *task, struct harvest_counters *c)
{
	if (bpf_core_field_exists(task->ioac.rchar)) {
		c->rchar = task->ioac.rchar;
		c->wchar = task->ioac.wchar;
		c->syscr = task->ioac.syscr;
		c->syscw = task->ioac.syscw;
	}
	if (bpf_core_field_exists(task->ioac.read_bytes)) {
		c->read_bytes = task->ioac.read_bytes;
		c->write_bytes = task->ioac.write_bytes;
	}
	c->run_ns = task->se.sum_exec_runtime;
	c->switches = task->nvcsw + task->nivcsw;
	c->faults = task->min_flt + task->maj_flt;
	c->tasks = 1;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ceems_exit, struct task_struct *task)
{
	struct harvest_counters c = { 0 };
	struct harvest_row *r;
	__u32 *row = find_row(task);

	if (!row)
		return 0;
	r = bpf_map_lookup_elem(&rows, row);
	if (!r || r->owner == (__u32)task->tgid)
		return 0;
	take(task, &c);
	__sync_fetch_and_add(&r->ended.rchar, c.rchar);
	__sync_fetch_and_add(&r->ended.wchar, c.wchar);
	__sync_fetch_and_add(&r->ended.syscr, c.syscr);
	__sync_fetch_and_add(&r->ended.syscw, c.syscw);
	__sync_fetch_and_add(&r->ended.read_bytes, c.read_bytes);
	__sync_fetch_and_add(&r->ended.write_bytes, c.write_bytes);
	__sync_fetch_and_add(&r->ended.run_ns, c.run_ns);
	__sync_fetch_and_add(&r->ended.switches, c.switches);
	__sync_fetch_and_add(&r->ended.faults, c.faults);
	__sync_fetch_and_add(&r->ended.tasks, c.tasks);
	return 0;
}

SEC("iter/task")
int ceems_living(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct harvest_living out = { 0 };
	struct harvest_row *r;
	__u32 *row;

	if (!task || task->flags & (PF_EXITING | PF_KTHREAD))
		return 0;
	row = find_row(task);
	if (!row)
		return 0;
	r = bpf_map_lookup_elem(&rows, row);
	if (!r || r->owner == (__u32)task->tgid)
		return 0;
	out.row = *row;
	out.tid = task->pid;
	take(task, &out.c);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}
