/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notes.bpf.c - drops samples as samples.bpf.c does, and notes those of a process that the step's user may
 * not trace (src/profiler/stacks_filter.h says why).
 */
#include "step.bpf.h"

/*
 * linux/sched/coredump.h: the low bits of mm->flags, and their value SUID_DUMP_USER: the
 * process's user may trace it
 */
#define DUMPABLE_MASK 3
#define DUMPABLE_USER 1

const volatile __u32 user; /* set by the loader */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set by the loader */
	__type(key, __u64);
	__type(value, __u64);
} foreign SEC(".maps");

/* What cannot be read is foreign, too. */
static __always_inline bool is_traceable(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct___word *word;
	struct mm_struct *mm;
	unsigned long flags;

	if (bpf_core_read(&mm, sizeof(mm), &task->mm) < 0)
		return false;
	word = (void *)mm;
	if (bpf_core_field_exists(word->flags) ?
		    bpf_core_read(&flags, sizeof(flags), &word->flags) < 0 :
		    bpf_core_read(&flags, sizeof(flags), &mm->flags.__mm_flags) < 0)
		return false;
	return (flags & DUMPABLE_MASK) == DUMPABLE_USER;
}

SEC("perf_event")
int ceems_profile(void *ctx)
{
	__u64 key;

	if (!is_of_step())
		return 0;
	if ((__u32)bpf_get_current_uid_gid() == user && is_traceable())
		return 1;
	key = bpf_ktime_get_ns() >> PROFILE_UNIT_SHIFT << PROFILE_CPU_BITS |
	      (bpf_get_smp_processor_id() & PROFILE_CPU_MASK);
	return bpf_map_update_elem(&foreign, &key, &key, BPF_ANY) == 0; /* without a note, no sample */
}
