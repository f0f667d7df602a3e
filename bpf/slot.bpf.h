/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slot.bpf.h - finds the slot of the step to which a cgroup belongs. A look-up reads one word of a
 * direct-mapped cache. After a miss it walks up the cgroups, once per cgroup and generation. Programs of all
 * types use it; they differ in how they find the cgroup.
 */
#ifndef CEEMS_SLOT_BPF_H
#define CEEMS_SLOT_BPF_H

#include "kernel.bpf.h"
#include "probes.h"

/*
 * Global variables. Each is in a section, and so in a map, of its own. The map is an array of one
 * element that user space can map. Programs read the variable without a map look-up. The loader
 * pins each map under the name of its variable.
 */
struct probes_meta meta SEC(".data.meta");
/*
 * The cache; see probes.h for its entries and for who clears it. It is all of .bss, since libbpf
 * 1.1 knows no other section without content.
 */
__u64 cache[PROBES_CACHE];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROBES_CGROUPS);
	__type(key, struct probes_cgroup);
	__type(value, __u32);
} cgroups SEC(".maps");

/* Here and not in tasks.bpf.h, because its `owner` is the slurmstepd that no group counts. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBES_SLOTS + 1);
	__type(key, __u32);
	__type(value, struct probes_task_row);
} task_rows SEC(".maps");

/* Set by the loader. The verifier takes them as constants and drops code that they exclude. */
const volatile bool has_v1_freezer; /* a v1 freezer is mounted; Slurm on cgroup v1 puts steps there */
const volatile __u32 shard_mask;    /* meta.shards - 1 */

static __always_inline void count_lost(enum probes_group group)
{
	__sync_fetch_and_add(&meta.lost[group], 1);
}

/*
 * Finds the step's slot by walking up the parents of CGRP. The list cgroup->ancestors[] would be
 * shorter, but it is a flexible array, and the verifier refuses access to one through BTF. The
 * function is not inline: so the verifier checks it once per state of the caller, and the usual path
 * stays short.
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
 * The part of a cache entry besides the slot. Cgroups are known by their serial number: it is
 * unique over all hierarchies, never used again, and needs one load less than the kernfs id that
 * user space uses.
 */
static __always_inline __u64 slot_tag(__u64 serial)
{
	__u64 generation;

	serial >>= PROBES_CACHE_BITS;
	asm volatile("" : "+r"(serial)); /* two shifts are less than what clang makes of them */
	generation = *(volatile __u32 *)&meta.generation;
	return serial << PROBES_SLOT_BITS | generation << 44;
}

/*
 * Returns HIERARCHY, computed so that it depends on TAG. So a CPU with weak memory ordering (arm64)
 * cannot do the look-up before it has read the generation.
 */
static __always_inline __u32 slot_after(__u64 tag, __u32 hierarchy)
{
	asm volatile("%0 ^= %0" : "+r"(tag)); /* 0, as clang must not find out */
	return hierarchy + (__u32)tag;
}

static __noinline __u32 slot_find(struct cgroup *cgrp, __u32 hierarchy, __u64 *entry, __u64 tag)
{
	__u32 slot = slot_walk(cgrp, slot_after(tag, hierarchy)) % (1u << PROBES_SLOT_BITS);

	*(volatile __u64 *)entry = tag | slot;
	return slot;
}

/*
 * Returns the slot of CGRP, from the cache or by a walk. The generation is read before the walk, so
 * a registration during the walk voids the stored entry.
 */
static __always_inline __u32 slot_of_cgroup(struct cgroup *cgrp, __u32 hierarchy)
{
	__u64 serial = cgrp->self.serial_nr;
	__u64 *entry = &cache[serial % PROBES_CACHE];
	__u64 tag = slot_tag(serial);
	__u64 slot = *(volatile __u64 *)entry ^ tag;

	if (slot >> PROBES_SLOT_BITS == 0)
		return slot;
	return slot_find(cgrp, hierarchy, entry, tag);
}

static __noinline __u32 slot_of_task_slow(struct task_struct *task)
{
	struct css_set *set = task->cgroups;
	__u32 slot = slot_of_cgroup(set->dfl_cgrp, PROBES_V2);
	struct cgroup_subsys_state *css;

	if (slot || !has_v1_freezer || !bpf_core_enum_value_exists(enum cgroup_subsys_id, freezer_cgrp_id))
		return slot;
	css = set->subsys[bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id)];
	return slot_of_cgroup(css->cgroup, PROBES_V1_FREEZER);
}

/*
 * Returns the slot of TASK. The two common cases, a step on v2 and no step, need no function call.
 */
static __always_inline __u32 slot_of_task(struct task_struct *task)
{
	__u64 serial = task->cgroups->dfl_cgrp->self.serial_nr;
	__u64 slot = *(volatile __u64 *)&cache[serial % PROBES_CACHE] ^ slot_tag(serial);

	if (__builtin_expect(slot - 1 < (1u << PROBES_SLOT_BITS) - 1, 1))
		return slot;
	if (!slot && !has_v1_freezer)
		return 0;
	return slot_of_task_slow(task);
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
	__u64 serial = BPF_CORE_READ(cgrp, self.serial_nr);
	__u64 *entry = &cache[serial % PROBES_CACHE];
	__u64 tag = slot_tag(serial);
	__u64 slot = *(volatile __u64 *)entry ^ tag;

	if (slot >> PROBES_SLOT_BITS == 0)
		return slot;
	slot = slot_walk_read(cgrp, slot_after(tag, hierarchy)) % (1u << PROBES_SLOT_BITS);
	*(volatile __u64 *)entry = tag | slot;
	return slot;
}

static __noinline __u32 slot_of_current_read(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	__u32 slot = slot_of_cgroup_read(BPF_CORE_READ(set, dfl_cgrp), PROBES_V2);
	struct cgroup_subsys_state *css, **all;

	if (slot || !has_v1_freezer || !bpf_core_enum_value_exists(enum cgroup_subsys_id, freezer_cgrp_id))
		return slot;
	all = (void *)set + bpf_core_field_offset(set->subsys);
	if (bpf_probe_read_kernel(&css, sizeof(css),
				  all + bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id)) < 0)
		return 0;
	return slot_of_cgroup_read(BPF_CORE_READ(css, cgroup), PROBES_V1_FREEZER);
}

/*
 * Whether the kernel has bpf_get_current_task_btf() (5.11). A macro, since a variable would cost a
 * load at each event.
 */
#define HAS_TASK_BTF bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)

/*
 * The slot of the current task. It may be slurmstepd's, which the caller must leave out (`owner` of
 * the row).
 */
static __always_inline __u32 slot_of_current(void)
{
	return HAS_TASK_BTF ? slot_of_task(bpf_get_current_task_btf()) : slot_of_current_read();
}

/*
 * The slot of a socket: that of the v2 cgroup in which it was made. With cgroup v1, the step has
 * one for this purpose (stepgroup.h).
 */
static __always_inline __u32 slot_of_sock(struct sock *sk)
{
	struct sock_cgroup_data___tagged *tagged = (void *)&sk->sk_cgrp_data;
	struct cgroup *cgrp;
	__u64 word;

	if (bpf_core_field_exists(sk->sk_cgrp_data.cgroup)) {
		cgrp = sk->sk_cgrp_data.cgroup;
		return cgrp ? slot_of_cgroup(cgrp, PROBES_V2) : 0;
	}
	word = tagged->val; /* tagged: of the root cgroup, or used by v1's net_cls and net_prio */
	return word && !(word & 3) ? slot_of_cgroup_read((void *)word, PROBES_V2) : 0;
}

#endif
