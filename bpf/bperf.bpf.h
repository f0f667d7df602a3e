/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bperf.bpf.h - counts hardware events per step from the counters of CPUs. The counters are read
 * only when a CPU switches from one step to another. A switch within a step, or between tasks of no
 * step, costs two compares.
 *
 * At each such switch, the counts since the last one are added to the slot of the step that ran.
 * That slot was found at the last switch by the task's cgroup. If a task is moved to another cgroup
 * while it runs, its counts on that CPU belong to no step and are counted as lost. slurmstepd moves
 * its children while they wait, so nothing is lost there. Idle tasks, kernel threads, steps that
 * did not ask, and slurmstepd itself belong to no step.
 *
 * If one event cannot be read at a switch, all counts since the last switch are dropped, because
 * half of a set would give wrong ratios. The first read on a CPU whose counters are new only sets
 * the base. Both programs run with interrupts or preemption off, so only one writes a CPU's entry
 * at a time.
 */
#ifndef CEEMS_BPERF_BPF_H
#define CEEMS_BPERF_BPF_H

#include "slot.bpf.h"

#define HW_EVENTS_MAX (PROBES_HW_EVENTS * PROBES_HW_CPUS)

/*
 * Without BPF_F_PRESERVE_ELEMS, entries are removed with the process that made them (Linux 5.10:
 * 792caccc4526).
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(map_flags, BPF_F_PRESERVE_ELEMS);
	__uint(max_entries, HW_EVENTS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} hw_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probes_hw_config);
} hw_config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBES_SLOTS + 1);
	__type(key, __u32);
	__type(value, struct probes_hw_slot);
} hw_slots SEC(".maps");

/*
 * Indexed by CPU. Not a per-CPU map, because user space maps this one; each entry has cache lines
 * of its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PROBES_HW_CPUS);
	__type(key, __u32);
	__type(value, struct probes_hw_cpu);
} hw_cpus SEC(".maps");

/* The loader sets the size: slots times shards. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBES_SLOTS + 1);
	__type(key, __u32);
	__type(value, struct probes_hw_row);
} hw_rows SEC(".maps");

/* Returns the tgid of the slurmstepd that asked for SLOT's counters; 0: none did. */
static __always_inline __u32 hw_owner(__u32 slot)
{
	struct probes_hw_slot *s;

	if (!slot)
		return 0;
	s = bpf_map_lookup_elem(&hw_slots, &slot);
	return s ? *(volatile __u32 *)&s->owner : 0;
}

static __always_inline void hw_add(const struct probes_hw_value *from, const struct probes_hw_value *to,
				   __u32 slot, __u32 cpu, __u32 count)
{
	__u32 key = slot * (shard_mask + 1) + (cpu & shard_mask);
	struct probes_hw_row *row = bpf_map_lookup_elem(&hw_rows, &key);
	__u32 i;

	/* enabled_ns did not advance: the CPU was offline meanwhile, and its counters stopped */
	if (!row || to[0].enabled_ns == from[0].enabled_ns) {
		count_lost(PROBES_HW);
		return;
	}
	for (i = 0; i < PROBES_HW_EVENTS; i++) {
		if (i >= count)
			break;
		__sync_fetch_and_add(&row->value[i], to[i].count - from[i].count);
		__sync_fetch_and_add(&row->enabled_ns[i], to[i].enabled_ns - from[i].enabled_ns);
		__sync_fetch_and_add(&row->running_ns[i], to[i].running_ns - from[i].running_ns);
	}
}

/*
 * Reads the CPU's counters, adds the difference to the slot that ran, if any, and takes the values
 * as the new base.
 */
static __always_inline void hw_book(struct probes_hw_cpu *c, __u32 cpu)
{
	__u32 zero = 0, which = c->which & 1;
	struct probes_hw_config *config;
	struct probes_hw_value *to;
	__u32 counters, count, i;

	config = bpf_map_lookup_elem(&hw_config, &zero);
	if (!config)
		return;
	counters = *(volatile __u32 *)&config->counters[cpu & (PROBES_HW_CPUS - 1)];
	count = *(volatile __u32 *)&config->count;
	if (!counters) {
		c->counters = 0;
		return;
	}
	to = c->value[which ^ 1];
	for (i = 0; i < PROBES_HW_EVENTS; i++) {
		if (i >= count)
			break;
		if (bpf_perf_event_read_value(&hw_events, i * PROBES_HW_CPUS + cpu,
					      (struct bpf_perf_event_value *)&to[i], sizeof(to[i])) < 0) {
			c->counters = 0;
			count_lost(PROBES_HW); /* the counts since the last read, or until the next */
			return;
		}
	}
	if (c->slot && c->counters == counters)
		hw_add(c->value[which], to, c->slot, cpu, count);
	c->counters = counters;
	c->which = which ^ 1;
}

/* The slot to which TASK's counts belong. 0: its step did not ask, or it has none. */
static __always_inline __u32 hw_slot_of(struct task_struct *task, __u32 *owner)
{
	__u32 slot = slot_of_task(task);

	*owner = hw_owner(slot);
	return *owner && *owner != (__u32)task->tgid ? slot : 0;
}

/*
 * Both tasks with the same css_set are in the same cgroups of all hierarchies. So if that is the
 * css_set found at the last switch, the slot stays the same, and nothing is read.
 *
 * If PREV has another css_set than found at the last switch, PREV was moved while it ran, or a
 * switch was missed: some kernels keep programs away from some tasks, or skip a program that is
 * already running on the CPU. Then nobody can tell to whom the counts since the last switch belong,
 * so they are lost.
 */
static __always_inline int hw_between(struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct probes_hw_cpu *c = bpf_map_lookup_elem(&hw_cpus, &cpu);
	__u64 set = (__u64)next->cgroups;
	__u32 generation, slot, owner;
	bool is_known;

	if (!c)
		return 0;
	generation = *(volatile __u32 *)&meta.generation;
	is_known = c->set == (__u64)prev->cgroups;
	if (is_known && c->set == set && c->generation == generation && !c->is_owner &&
	    (!c->owner || c->owner != (__u32)next->tgid))
		return 0;

	if (!is_known || c->generation != generation) {
		/*
		 * The slot may have been given to a new step, which must not get the former step's
		 * counts.
		 */
		slot = hw_slot_of(prev, &owner);
		if (slot != c->slot || !is_known) {
			if (slot || (!is_known && c->slot))
				count_lost(PROBES_HW);
			c->slot = 0;
		}
		c->generation = generation;
	}
	slot = hw_slot_of(next, &owner);
	c->set = set;
	c->owner = owner;
	c->is_owner = owner && owner == (__u32)next->tgid;
	if (c->slot != slot) {
		hw_book(c, cpu);
		/*
		 * last: a reader that finds another slot here assumes that all counts of the old
		 * one are added
		 */
		*(volatile __u32 *)&c->slot = slot;
	}
	return 0;
}

/*
 * The arguments of sched_switch are (preempt, prev, next). Commit fa2c3254d7cf (v5.18) put prev_state between
 * preempt and prev; 9c2136be0878 (v5.19) moved prev_state to the end. The loader leaves out the program that
 * does not fit this kernel.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(hw_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return hw_between(prev, next);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(hw_switch__state_first, bool preempt, unsigned int state, struct task_struct *prev,
	     struct task_struct *next)
{
	return hw_between(prev, next);
}

/*
 * Adds the counts up to now to one slot. User space runs it on a given CPU as a test run, by an
 * interrupt of the task that runs there; raw_tp is the type that allows this. It is attached to
 * nothing.
 */
SEC("raw_tp/sched_switch")
int hw_flush(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct probes_hw_cpu *c = bpf_map_lookup_elem(&hw_cpus, &cpu);
	__u32 slot = (__u32)ctx->args[0];
	__u32 generation;

	if (!c || !slot || c->slot != slot)
		return 0;
	generation = *(volatile __u32 *)&meta.generation;
	if (c->generation != generation) {
		if (slot_of_current() != slot)
			return 0; /* for the next switch to find out */
		c->generation = generation;
	}
	hw_book(c, cpu);
	return 0;
}

#endif
