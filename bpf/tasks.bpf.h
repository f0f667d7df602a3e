/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks.bpf.h - adds the kernel's counters of a task to its step's row when the task exits, and
 * lists the living tasks. An I/O call or a switch costs nothing; an exit costs one look into the
 * cache of slot.bpf.h.
 *
 * Since 7.0, a task may be preempted within a program that is attached by BTF (tp_btf), and the kernel skips
 * that program on that CPU until the task runs again. Programs of a tracepoint's perf event run with
 * preemption off, so no exit is skipped. The loader takes the one or the other (probe_tasks()).
 *
 * When the exit tracepoint runs, PF_EXITING is set, and stays set until the task is gone. The
 * iterator skips such tasks, because their counts were added to a row, or soon will be. A reader
 * that reads the row first and the list second counts no task twice. It misses at most the tasks
 * that exit in between, and is exact if no task is left.
 */
#ifndef CEEMS_TASKS_BPF_H
#define CEEMS_TASKS_BPF_H

#include "slot.bpf.h"

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} KERNEL;

/*
 * Reads the task's own counters. Not signal->ioac, which includes ended threads and children, so
 * that a sum over tasks would count them twice.
 */
static __always_inline void task_take(struct task_struct *task, struct probes_task_counters *c)
{
	__u64 now = bpf_ktime_get_ns(); /* CLOCK_MONOTONIC, as start_time is since 3.17 */

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
	if (bpf_core_field_exists(task->sched_info.run_delay))
		c->delay_ns = task->sched_info.run_delay;
	c->life_ns = now > task->start_time ? now - task->start_time : 0;
	c->voluntary = task->nvcsw;
	c->involuntary = task->nivcsw;
	c->minor_faults = task->min_flt;
	c->major_faults = task->maj_flt;
	c->migrations = task->se.nr_migrations;
	c->tasks = 1;
}

/* TASK is the current task. */
static __always_inline int task_end(struct task_struct *task)
{
	struct probes_task_counters c = { 0 };
	struct probes_task_row *r;
	__u32 slot = slot_of_task(task);
	__u64 *to, *from;
	unsigned int i;

	if (!slot)
		return 0;
	r = bpf_map_lookup_elem(&task_rows, &slot);
	if (!r || r->owner == (__u32)task->tgid)
		return 0;
	task_take(task, &c);
	to = (__u64 *)&r->ended;
	from = (__u64 *)&c;
#pragma unroll
	for (i = 0; i < sizeof(c) / sizeof(*to); i++)
		__sync_fetch_and_add(&to[i], from[i]);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(task_exit, struct task_struct *task)
{
	return task_end(task);
}

SEC("tp/sched/sched_process_exit")
int task_exit__event(void *ctx)
{
	(void)ctx;
	return task_end(bpf_get_current_task_btf());
}

SEC("iter/task")
int living(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct probes_living out = { 0 };
	struct probes_task_row *r;
	__u32 slot;

	if (!task || task->flags & (PF_EXITING | PF_KTHREAD))
		return 0;
	slot = slot_of_task(task);
	if (!slot)
		return 0;
	r = bpf_map_lookup_elem(&task_rows, &slot);
	if (!r || r->owner == (__u32)task->tgid)
		return 0;
	out.slot = slot;
	out.tid = task->pid;
	task_take(task, &out.c);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}

/*
 * Returns the caller's pid in the initial pid namespace, as programs see it. User space runs it as
 * a test run; it is attached to nothing. raw_tp is a type that runs in the caller's context.
 */
SEC("raw_tp/sched_process_exit")
int task_self(struct bpf_raw_tracepoint_args *ctx)
{
	(void)ctx;
	return (int)(bpf_get_current_pid_tgid() >> 32);
}

#endif
