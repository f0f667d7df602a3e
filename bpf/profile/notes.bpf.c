/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notes.bpf.c - drops samples as samples.bpf.c does, and notes those of a process that the step's user may
 * not trace (src/profiler/stacks_filter.h says why).
 */
#include "step.bpf.h"

/*
 * The process's user may trace it: SUID_DUMP_USER in the low bits of mm->flags (linux/sched/coredump.h), or
 * TASK_DUMPABLE_OWNER in the task's exec_state.
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

static __always_inline int read_mm_flags(struct task_struct *task, unsigned long *ret)
{
	struct mm_struct___word *word;
	struct mm_struct *mm;

	if (bpf_core_read(&mm, sizeof(mm), &task->mm) < 0)
		return -1;
	word = (void *)mm;
	if (bpf_core_field_exists(word->flags))
		return bpf_core_read(ret, sizeof(*ret), &word->flags) < 0 ? -1 : 0;
	return bpf_core_read(ret, sizeof(*ret), &mm->flags.__mm_flags) < 0 ? -1 : 0;
}

static __always_inline int read_exec_state(struct task_struct___exec *task, unsigned long *ret)
{
	struct task_exec_state *state;
	enum task_dumpable dumpable;

	if (bpf_core_read(&state, sizeof(state), &task->exec_state) < 0 ||
	    bpf_core_read(&dumpable, sizeof(dumpable), &state->dumpable) < 0)
		return -1;
	*ret = dumpable;
	return 0;
}

/*
 * What cannot be read is foreign, too. On a kernel that has none of the fields, the program does not load.
 */
static __always_inline bool is_traceable(void)
{
	struct task_struct___exec *exec = (void *)bpf_get_current_task();
	unsigned long flags;
	int rc;

	if (bpf_core_field_exists(exec->exec_state))
		rc = read_exec_state(exec, &flags);
	else
		rc = read_mm_flags((void *)exec, &flags);
	return rc == 0 && (flags & DUMPABLE_MASK) == DUMPABLE_USER;
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
