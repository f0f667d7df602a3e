/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/stacks_filter.h"

#include <errno.h>
#include <string.h>

#include "src/profiler/bpfinsn.h"
#include "src/libmeter/activity/bpfsys.h"
#include "src/profiler/kernel_btf.h"
#include "src/libutil/util.h"

/*
 * A note's key is the time in units of 2^20 ns (1.05 ms), and the CPU in the low 12 bits. Samples of
 * one CPU that are closer than a unit share a note, so a note is kept until a later one is found.
 */
#define UNIT_SHIFT 20
#define UNITS_MAX 1024 /* about a second: how far from a sample its note is looked for, as a virtual machine may stand still in between */
#define CPU_BITS 12
#define CPU_MASK ((1u << CPU_BITS) - 1)

/*
 * linux/sched/coredump.h: the low bits of mm->flags, and their value SUID_DUMP_USER: the process's
 * user may trace it
 */
#define DUMPABLE_MASK 3
#define DUMPABLE_USER 1

static int open_cgroup(int cgroup_fd, struct stacks_filter *f)
{
	*f = (struct stacks_filter){ -1, -1, -1 };
	return bpfsys_create_cgroup_map(cgroup_fd, &f->cgroup);
}

#define PROGRAM_MAX 64

/*
 * Loads a program that begins with "if (bpf_current_task_under_cgroup(map, 0) != 1) return 0;", so that the kernel drops
 * samples of other tasks. REST[N] follows, with 1 in BPF_REG_0.
 */
static int load_filter(struct stacks_filter *f, const struct bpf_insn *rest, size_t n)
{
	const struct bpf_insn begin[] = {
		LD_MAP(BPF_REG_1, f->cgroup),
		SET(BPF_REG_2, 0),
		CALL(BPF_FUNC_current_task_under_cgroup),
		JUMP(BPF_JEQ, BPF_REG_0, 1, 2),
		SET(BPF_REG_0, 0),
		EXIT,
	};
	struct bpf_insn program[PROGRAM_MAX];

	if (n > PROGRAM_MAX - ARRAY_SIZE(begin))
		return -E2BIG;
	memcpy(program, begin, sizeof(begin));
	memcpy(program + ARRAY_SIZE(begin), rest, n * sizeof(*rest));
	return bpfsys_load(BPF_PROG_TYPE_PERF_EVENT, "ceems_profile", program, (uint32_t)(ARRAY_SIZE(begin) + n), &f->program);
}

int stacks_filter_open(int cgroup_fd, struct stacks_filter *f, struct errmsg *err)
{
	static const struct bpf_insn keep[] = { EXIT };
	int rc = open_cgroup(cgroup_fd, f);

	if (rc == 0)
		rc = load_filter(f, keep, ARRAY_SIZE(keep));
	return rc < 0 ? errmsg_errno(err, rc, "cannot load a BPF program for samples") : 0;
}

/*
 * Loads a program that goes on so:
 *
 * if ((uid_t)bpf_get_current_uid_gid() == uid && (current->mm->flags & DUMPABLE_MASK) == DUMPABLE_USER)
 *	return 1;
 * key = bpf_ktime_get_ns() >> UNIT_SHIFT << CPU_BITS | (bpf_get_smp_processor_id() & CPU_MASK);
 * return bpf_map_update_elem(foreign, &key, &key, BPF_ANY) == 0;
 */
static int load_noting(struct stacks_filter *f, uid_t uid, uint32_t mm, uint32_t flags)
{
	const struct bpf_insn note[] = {
		CALL(BPF_FUNC_get_current_uid_gid),
		JUMP32_NE(BPF_REG_0, uid, 20), /* to the note */

		CALL(BPF_FUNC_get_current_task),
		MOV(BPF_REG_3, BPF_REG_0),
		OP(BPF_ADD, BPF_REG_3, (int32_t)mm),
		MOV(BPF_REG_1, BPF_REG_10),
		OP(BPF_ADD, BPF_REG_1, -8),
		SET(BPF_REG_2, 8),
		CALL(BPF_FUNC_probe_read_kernel),
		JUMP(BPF_JNE, BPF_REG_0, 0, 12), /* cannot read task->mm: to the note */
		LOAD(BPF_REG_3, -8),
		OP(BPF_ADD, BPF_REG_3, (int32_t)flags),
		MOV(BPF_REG_1, BPF_REG_10),
		OP(BPF_ADD, BPF_REG_1, -8),
		SET(BPF_REG_2, 8),
		CALL(BPF_FUNC_probe_read_kernel),
		JUMP(BPF_JNE, BPF_REG_0, 0, 5), /* to the note */
		LOAD(BPF_REG_1, -8),
		OP(BPF_AND, BPF_REG_1, DUMPABLE_MASK),
		JUMP(BPF_JNE, BPF_REG_1, DUMPABLE_USER, 2), /* to the note */
		SET(BPF_REG_0, 1),
		EXIT,

		CALL(BPF_FUNC_ktime_get_ns),
		OP(BPF_RSH, BPF_REG_0, UNIT_SHIFT),
		OP(BPF_LSH, BPF_REG_0, CPU_BITS),
		MOV(BPF_REG_6, BPF_REG_0),
		CALL(BPF_FUNC_get_smp_processor_id),
		MOV32(BPF_REG_0, BPF_REG_0),
		OP(BPF_AND, BPF_REG_0, CPU_MASK),
		OR(BPF_REG_6, BPF_REG_0),
		STORE(-8, BPF_REG_6),
		LD_MAP(BPF_REG_1, f->foreign),
		MOV(BPF_REG_2, BPF_REG_10),
		OP(BPF_ADD, BPF_REG_2, -8),
		MOV(BPF_REG_3, BPF_REG_2),
		SET(BPF_REG_4, BPF_ANY),
		CALL(BPF_FUNC_map_update_elem),
		MOV(BPF_REG_1, BPF_REG_0),
		SET(BPF_REG_0, 1),
		JUMP(BPF_JEQ, BPF_REG_1, 0, 1),
		SET(BPF_REG_0, 0),
		EXIT,
	};

	return load_filter(f, note, ARRAY_SIZE(note));
}

int stacks_filter_open_noting(int cgroup_fd, uid_t uid, uint32_t samples_max, struct stacks_filter *f, struct errmsg *err)
{
	struct kernel_btf *btf = NULL;
	uint32_t mm = 0, flags = 0;
	int rc = open_cgroup(cgroup_fd, f);

	if (rc < 0)
		return errmsg_errno(err, rc, "cannot load a BPF program for samples");
	rc = kernel_btf_open(KERNEL_BTF_PATH, &btf, err);
	if (rc < 0)
		return rc;
	rc = kernel_btf_offset(btf, "task_struct", "mm", &mm);
	if (rc == 0)
		rc = kernel_btf_offset(btf, "mm_struct", "flags", &flags);
	kernel_btf_close(btf);
	if (rc < 0)
		return errmsg_errno(err, rc, KERNEL_BTF_PATH ": mm_struct.flags");
	rc = bpfsys_create_map(BPF_MAP_TYPE_LRU_HASH, sizeof(uint64_t), sizeof(uint64_t), samples_max, &f->foreign);
	if (rc == 0)
		rc = load_noting(f, uid, mm, flags);
	return rc < 0 ? errmsg_errno(err, rc, "cannot load a BPF program for samples") : 0;
}

void stacks_filter_close(struct stacks_filter *f)
{
	util_closep(&f->program);
	util_closep(&f->foreign);
	util_closep(&f->cgroup);
	*f = (struct stacks_filter){ -1, -1, -1 };
}

bool stacks_filter_has_foreign(const struct stacks_filter *f)
{
	uint64_t key;

	return f->foreign >= 0 && bpfsys_next_key(f->foreign, NULL, &key) == 0;
}

/* Looks for the note KEY, and deletes the one that this CPU's last foreign sample had. */
static bool find_note(const struct stacks_filter *f, uint64_t key, uint64_t *last)
{
	uint64_t value;

	if (key == *last)
		return true;
	if (bpfsys_lookup(f->foreign, &key, &value) < 0)
		return false;
	if (*last)
		(void)bpfsys_delete(f->foreign, last);
	*last = key;
	return true;
}

bool stacks_filter_is_foreign(const struct stacks_filter *f, uint32_t cpu, const struct stacks_neighbours *at,
			      uint64_t *last)
{
	const uint64_t middle = at->mono_ns >> UNIT_SHIFT;
	uint64_t first = at->before_ns >> UNIT_SHIFT, unit = at->after_ns >> UNIT_SHIFT;

	if (middle - first > UNITS_MAX)
		first = middle - UNITS_MAX;
	if (unit - middle > UNITS_MAX)
		unit = middle + UNITS_MAX;
	if (*last && *last >> CPU_BITS < first) { /* no later sample can have it */
		(void)bpfsys_delete(f->foreign, last);
		*last = 0;
	}
	while (!find_note(f, unit << CPU_BITS | (cpu & CPU_MASK), last))
		if (unit-- == first)
			return false;
	return true;
}
