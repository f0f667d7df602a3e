/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits.bpf.c - adds up the time between the scheduler's switch from a thread of the step and its switch back
 * to it, by thread and stack.
 */
#include "step.bpf.h"

struct profile_control control;

/* Set by the loader. */
const volatile bool has_user, has_kernel; /* which parts of a stack to keep */
/*
 * Device and inode of ceems-profile's pid namespace; inode 0: the initial one, whose ids tasks have anyway.
 */
const volatile __u64 pidns_dev, pidns_ino;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROFILE_THREADS);
	__type(key, __u32);
	__type(value, struct profile_begin);
} begins SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROFILE_SUMS);
	__type(key, struct profile_wait);
	__type(value, struct profile_sum);
} sums SEC(".maps");

struct stacks {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, PROFILE_STACKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, PROFILE_DEPTH * sizeof(__u64));
} stacks_even SEC(".maps"), stacks_odd SEC(".maps");

static __always_inline void count_lost(void)
{
	__sync_fetch_and_add(&control.lost, 1);
}

/* Returns the id of a part of the stack; or -errno, such as -EEXIST if another stack has its place. */
static __always_inline __s32 stack_id(void *ctx, __u32 generation, __u64 flags)
{
	return generation % 2 ? bpf_get_stackid(ctx, &stacks_odd, flags) :
				bpf_get_stackid(ctx, &stacks_even, flags);
}

/*
 * Replaces pid and tid of the current thread by those in ceems-profile's pid namespace, as the rings have
 * them. False: the thread is in a namespace below, and the kernel's helper does not know its ids in ours.
 */
static __always_inline bool use_own_ids(struct profile_begin *b)
{
	struct bpf_pidns_info ids;

	if (bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &ids, sizeof(ids)) != 0)
		return false;
	b->pid = ids.tgid;
	b->tid = ids.pid;
	return true;
}

/* A wait of PREV, the current thread, begins, if it is of the step and comes back. */
static __always_inline void wait_begin(void *ctx, struct task_struct *prev)
{
	struct profile_begin b = { 0 };
	unsigned int flags;
	__u32 tid;
	__u64 ids;

	if (!is_of_step() || bpf_core_read(&flags, sizeof(flags), &prev->flags) < 0 || flags & PF_EXITING)
		return;
	ids = bpf_get_current_pid_tgid();
	tid = (__u32)ids;
	b.pid = ids >> 32;
	b.tid = tid;
	if (pidns_ino && !use_own_ids(&b))
		return;
	b.generation = *(volatile __u32 *)&control.generation;
	b.user = has_user ? stack_id(ctx, b.generation, BPF_F_USER_STACK) : -1;
	b.kernel = has_kernel ? stack_id(ctx, b.generation, 0) : -1;
	b.mono_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&begins, &tid, &b, BPF_ANY) < 0)
		count_lost();
}

/* The wait of NEXT is over, if it has one. */
static __always_inline void wait_end(struct task_struct *next)
{
	struct profile_wait key = { 0 };
	struct profile_sum *sum, first = { .times = 1 };
	struct profile_begin *b;
	__u32 tid;

	if (bpf_core_read(&tid, sizeof(tid), &next->pid) < 0)
		return;
	b = bpf_map_lookup_elem(&begins, &tid);
	if (!b)
		return;
	key.half = control.half;
	key.pid = b->pid;
	key.tid = b->tid;
	key.user = b->user;
	key.kernel = b->kernel;
	key.generation = b->generation;
	first.ns = b->mono_ns;
	(void)bpf_map_delete_elem(&begins, &tid);
	first.ns = bpf_ktime_get_ns() - first.ns;
	sum = bpf_map_lookup_elem(&sums, &key);
	if (sum) {
		__sync_fetch_and_add(&sum->ns, first.ns);
		__sync_fetch_and_add(&sum->times, 1);
	} else if (bpf_map_update_elem(&sums, &key, &first, BPF_ANY) < 0) {
		count_lost();
	}
}

SEC("raw_tp/sched_switch")
int BPF_PROG(ceems_offcpu, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	wait_begin(ctx, prev);
	wait_end(next);
	return 0;
}
