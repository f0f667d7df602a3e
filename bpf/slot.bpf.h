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

/* Mappable: who registers empties it now and then, see probes.h. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
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

/* Here and not in tasks.bpf.h, because it also says whom all groups leave out. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBES_SLOTS + 1);
	__type(key, __u32);
	__type(value, struct probes_task_row);
} task_rows SEC(".maps");

/* Set by the loader; the verifier takes them for constants and drops what they exclude. */
const volatile bool has_v1_freezer; /* one is mounted: Slurm on cgroup v1 knows its steps by it */
const volatile bool has_task_btf;   /* bpf_get_current_task_btf(), since 5.11 */
const volatile __u32 shard_mask;    /* of fs_rows and hw_rows: meta.shards - 1 */

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

static __always_inline __u64 slot_tag(__u64 id, struct probes_meta *m)
{
	return (id >> PROBES_CACHE_BITS) << 32 |
	       (__u64)(*(volatile __u32 *)&m->generation & PROBES_GENERATION_MASK) << 12;
}

static __always_inline __u64 *slot_entry(__u64 id, __u32 hierarchy)
{
	__u32 index = (id & (PROBES_CACHE - 1)) + (hierarchy == PROBES_V2 ? 0 : PROBES_CACHE);

	return bpf_map_lookup_elem(&cache, &index);
}

/*
 * The generation is read before the walk: a registration during the walk voids what is stored then.
 */
static __always_inline __u32 slot_of_cgroup(struct cgroup *cgrp, __u32 hierarchy)
{
	__u64 id = cgrp->kn->id;
	struct probes_meta *m = the_meta();
	__u64 *entry = slot_entry(id, hierarchy);
	__u64 tag, now;
	__u32 slot;

	if (!m || !entry)
		return 0;
	tag = slot_tag(id, m);
	now = *(volatile __u64 *)entry;
	if ((now & ~0xfffULL) == tag)
		return now & 0xfff;
	slot = slot_walk(cgrp, hierarchy) & 0xfff;
	*(volatile __u64 *)entry = tag | slot;
	return slot;
}

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

/* --- the same before 5.11, where the current task is only a number ------------------------- */

static __noinline __u32 slot_walk_read(struct cgroup *cgrp, __u32 hierarchy)
{
	struct probes_cgroup key = { .hierarchy = hierarchy };
	struct cgroup_subsys_state *parent;
	__u32 *slot;
	int i;

	for (i = 0; i < PROBES_DEPTH && cgrp; i++) {
		key.id = BPF_CORE_READ(cgrp, kn, id);
		slot = bpf_map_lookup_elem(&cgroups, &key);
		if (slot)
			return *slot;
		parent = BPF_CORE_READ(cgrp, self.parent);
		if (!parent)
			break;
		cgrp = BPF_CORE_READ(parent, cgroup);
	}
	return 0;
}

static __noinline __u32 slot_of_cgroup_read(struct cgroup *cgrp, __u32 hierarchy)
{
	__u64 id = BPF_CORE_READ(cgrp, kn, id);
	struct probes_meta *m = the_meta();
	__u64 *entry = slot_entry(id, hierarchy);
	__u64 tag, now;
	__u32 slot;

	if (!m || !entry)
		return 0;
	tag = slot_tag(id, m);
	now = *(volatile __u64 *)entry;
	if ((now & ~0xfffULL) == tag)
		return now & 0xfff;
	slot = slot_walk_read(cgrp, hierarchy) & 0xfff;
	*(volatile __u64 *)entry = tag | slot;
	return slot;
}

static __always_inline __u32 slot_of_current_read(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	__u32 slot = slot_of_cgroup_read(BPF_CORE_READ(set, dfl_cgrp), PROBES_V2);
	struct cgroup_subsys_state *css, **all;

	if (slot || !has_v1_freezer ||
	    !bpf_core_enum_value_exists(enum cgroup_subsys_id, freezer_cgrp_id))
		return slot;
	all = (void *)set + bpf_core_field_offset(set->subsys);
	if (bpf_probe_read_kernel(
		    &css, sizeof(css),
		    all + bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id)) < 0)
		return 0;
	return slot_of_cgroup_read(BPF_CORE_READ(css, cgroup), PROBES_V1_FREEZER);
}

/* Slot of whoever runs here. It may be slurmstepd: see is_owner(). */
static __always_inline __u32 slot_of_current(void)
{
	return has_task_btf ? slot_of_task(bpf_get_current_task_btf()) : slot_of_current_read();
}

/* slurmstepd may sit in the step's cgroup; what it does is not the step's. */
static __always_inline bool is_owner(__u32 slot, __u32 tgid)
{
	struct probes_task_row *r = bpf_map_lookup_elem(&task_rows, &slot);

	return !r || r->owner == tgid;
}

/* A socket belongs to the v2 cgroup that made it; on v1 the step has one for that (stepgroup.h). */
static __always_inline __u32 slot_of_sock(struct sock *sk)
{
	struct sock_cgroup_data___tagged *tagged = (void *)&sk->sk_cgrp_data;
	struct cgroup *cgrp;
	__u64 word;

	if (bpf_core_field_exists(sk->sk_cgrp_data.cgroup)) {
		cgrp = sk->sk_cgrp_data.cgroup;
		return cgrp ? slot_of_cgroup(cgrp, PROBES_V2) : 0;
	}
	word = tagged->val; /* tagged: the root's, or net_cls and net_prio of v1 have the place */
	return word && !(word & 3) ? slot_of_cgroup_read((void *)word, PROBES_V2) : 0;
}

#endif
