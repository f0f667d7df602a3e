/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slot.bpf.h - whose is it: from a cgroup to the slot of the step. A look into a direct-mapped
 * cache, one word; a miss walks up the cgroups once per cgroup and generation. For programs of
 * all types; what differs is how they come by the cgroup.
 */
#ifndef CEEMS_SLOT_BPF_H
#define CEEMS_SLOT_BPF_H

#include "kernel.bpf.h"
#include "probes.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probes_meta);
} meta SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * PROBES_CACHE);
	__type(key, __u32);
	__type(value, __u64);
} cache SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROBES_CGROUPS);
	__type(key, struct probes_cgroup);
	__type(value, __u32);
} cgroups SEC(".maps");

static __always_inline struct probes_meta *the_meta(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&meta, &zero);
}

static __always_inline void count_lost(enum probes_group group)
{
	struct probes_meta *m = the_meta();

	if (m)
		__sync_fetch_and_add(&m->lost[group], 1);
}

/*
 * cgroup->ancestors[] is a flexible array, which BTF access refuses: go by the parents. A function of
 * its own: the verifier walks it once per caller's state, and the hot path stays short.
 */
static __noinline __u32 slot_walk(struct cgroup *cgrp, __u32 hierarchy)
{
	struct probes_cgroup key = { .hierarchy = hierarchy };
	struct cgroup_subsys_state *parent;
	__u32 *slot;
	int i;

	for (i = 0; i < PROBES_DEPTH && cgrp; i++) {
		key.id = cgrp->kn->id;
		slot = bpf_map_lookup_elem(&cgroups, &key);
		if (slot)
			return *slot;
		parent = cgrp->self.parent;
		if (!parent)
			break;
		cgrp = parent->cgroup;
	}
	return 0;
}

/*
 * The generation is read before the walk: a registration during the walk voids what is stored then.
 */
static __always_inline __u32 slot_of_cgroup(struct cgroup *cgrp, __u32 hierarchy)
{
	__u64 id = cgrp->kn->id;
	__u32 index = (id & (PROBES_CACHE - 1)) + (hierarchy == PROBES_V2 ? 0 : PROBES_CACHE);
	struct probes_meta *m = the_meta();
	__u64 *entry = bpf_map_lookup_elem(&cache, &index);
	__u64 tag, now;
	__u32 slot;

	if (!m || !entry)
		return 0;
	tag = (id >> PROBES_CACHE_BITS) << 32 |
	      (__u64)(*(volatile __u32 *)&m->generation & 0xfffff) << 12;
	now = *(volatile __u64 *)entry;
	if ((now & ~0xfffULL) == tag)
		return now & 0xfff;
	slot = slot_walk(cgrp, hierarchy) & 0xfff;
	*(volatile __u64 *)entry = tag | slot;
	return slot;
}

/*
 * Slurm on cgroup v1: its steps are known by the freezer's folder. Not so where no v1 freezer is
 * mounted, which the loader sees.
 */
const volatile bool has_v1_freezer;

static __always_inline __u32 slot_of_task(struct task_struct *task)
{
	struct css_set *set = task->cgroups;
	__u32 slot = slot_of_cgroup(set->dfl_cgrp, PROBES_V2);
	struct cgroup_subsys_state *css;

	if (slot || !has_v1_freezer ||
	    !bpf_core_enum_value_exists(enum cgroup_subsys_id, freezer_cgrp_id))
		return slot;
	css = set->subsys[bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id)];
	return slot_of_cgroup(css->cgroup, PROBES_V1_FREEZER);
}

/* A socket belongs to the v2 cgroup that made it; on v1 the step has one for that (stepgroup.h). */
static __always_inline __u32 slot_of_sock(struct sock *sk)
{
	struct cgroup *cgrp = sk->sk_cgrp_data.cgroup;

	return cgrp ? slot_of_cgroup(cgrp, PROBES_V2) : 0;
}

#endif
