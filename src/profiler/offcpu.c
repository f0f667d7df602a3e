/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/profiler/offcpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/profiler/bpfinsn.h"
#include "src/libmeter/activity/bpfsys.h"
#include "src/profiler/kernel_btf.h"
#include "src/profiler/offcpu_stacks.h"
#include "src/libutil/clock.h"
#include "src/libutil/util.h"

#define THREADS_MAX 16384u /* threads that wait at once */
#define SUMS_MAX 32768u	   /* pairs of thread and stack between two calls of offcpu_drain() */
/* linux/proc_ns.h: PROC_PID_INIT_INO, the inode of the first pid namespace */
#define INITIAL_PID_NS UINT64_C(0xeffffffc)
#define PF_EXITING 4	   /* linux/sched.h: the thread does not come back */

/* Elements of the map `control`. */
enum { CONTROL_HALF, CONTROL_LOST, CONTROL_GENERATION, CONTROL_N };

/* Value of the map `begin`, by tid. A stack id below 0: that part of the stack is not known. */
struct wait_begin {
	uint64_t mono_ns;
	uint32_t pid, tid;
	int32_t user, kernel;
	uint32_t generation; /* of the stacks */
	uint32_t pad;
};

/* Key of the map `sum`. */
struct wait_key {
	uint32_t half; /* 0 or 1; offcpu_drain() reads the half that the program does not add to */
	uint32_t pid, tid;
	int32_t user, kernel;
	uint32_t generation;
};

struct wait_sum {
	uint64_t ns, times;
};

_Static_assert(sizeof(struct wait_begin) == 32 && sizeof(struct wait_key) == 24, "the program has these sizes");

struct offcpu {
	int cgroup, control, begin, sum, program, link;
	struct offcpu_stacks stacks;
	uint64_t half, lost;
	uint64_t user[OFFCPU_DEPTH_MAX], kernel[OFFCPU_DEPTH_MAX];
};

/* --- the program ---------------------------------------------------------------------------- */

/* Where the program keeps its variables, from its frame pointer. */
#define AT_KEY (-8)    /* u32: tid, or index in `control` */
#define AT_BEGIN (-40) /* struct wait_begin */
#define AT_SUM_KEY (-64)
#define AT_SUM (-80)
#define AT_FLAGS (-88)
#define AT_IDS (-96) /* struct bpf_pidns_info: tid, pid */

#define ADDRESS(reg, at) MOV(reg, BPF_REG_10), OP(BPF_ADD, reg, at)
#define LOAD_FROM(size, reg, base, at) { .code = BPF_LDX | (size) | BPF_MEM, .dst_reg = (reg), .src_reg = (base), .off = (at) }
#define STORE32(at, reg) { .code = BPF_STX | BPF_W | BPF_MEM, .dst_reg = BPF_REG_10, .src_reg = (reg), .off = (at) }
#define PUT32(at, value) { .code = BPF_ST | BPF_W | BPF_MEM, .dst_reg = BPF_REG_10, .off = (at), .imm = (value) }
#define SUBTRACT(reg, from) { .code = BPF_ALU64 | BPF_SUB | BPF_X, .dst_reg = (reg), .src_reg = (from) }
#define COPY32(to, base, from) LOAD_FROM(BPF_W, BPF_REG_1, base, from), STORE32(to, BPF_REG_1)
#define ADD_AT(base, at, reg) { .code = BPF_STX | BPF_XADD | BPF_DW, .dst_reg = (base), .src_reg = (reg), .off = (at) }

enum code_label { TO_NEXT, TO_NEW, TO_END, CODE_LABELS };

/* A program that is being made. TO[i]: instruction i jumps to label TO[i] - 1; 0: it has no label. */
struct code {
	struct bpf_insn insn[192];
	uint8_t to[192];
	uint32_t n, label[CODE_LABELS];
};

static void code_add(struct code *c, const struct bpf_insn *insn, size_t n)
{
	memcpy(&c->insn[c->n], insn, n * sizeof(*insn));
	c->n += (uint32_t)n;
}

#define CODE(c, ...) \
	code_add(c, (const struct bpf_insn[]){ __VA_ARGS__ }, \
		 sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))

static void code_jump(struct code *c, uint8_t op, uint8_t reg, int32_t value, enum code_label to)
{
	c->to[c->n] = (uint8_t)(to + 1);
	CODE(c, JUMP(op, reg, value, 0));
}

static void code_label(struct code *c, enum code_label label)
{
	c->label[label] = c->n;
}

static void code_finish(struct code *c)
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		if (c->to[i])
			c->insn[i].off = (int16_t)(c->label[c->to[i] - 1] - i - 1);
}

/* Adds 1 to control[INDEX], then goes on at TO. */
static void code_count(struct code *c, const struct offcpu *o, int32_t index, enum code_label to)
{
	CODE(c, PUT32(AT_KEY, index), LD_MAP(BPF_REG_1, o->control), ADDRESS(BPF_REG_2, AT_KEY),
	     CALL(BPF_FUNC_map_lookup_elem));
	code_jump(c, BPF_JEQ, BPF_REG_0, 0, to);
	CODE(c, SET(BPF_REG_1, 1), ADD_AT(BPF_REG_0, 0, BPF_REG_1));
}

/*
 * Stores the id of a part of the stack in the map of the generation, which is in BPF_REG_7. Stores -1 if that part is not
 * asked for, or -errno, such as -EEXIST if another stack has its place.
 */
static void code_stack(struct code *c, const struct offcpu *o, bool is_wanted, int32_t flags, int16_t at)
{
	if (is_wanted)
		CODE(c, MOV(BPF_REG_1, BPF_REG_6), JUMP(BPF_JSET, BPF_REG_7, 1, 3), LD_MAP(BPF_REG_2, o->stacks.map[0]),
		     JUMP(BPF_JA, 0, 0, 2), LD_MAP(BPF_REG_2, o->stacks.map[1]), SET(BPF_REG_3, flags),
		     CALL(BPF_FUNC_get_stackid), STORE32(at, BPF_REG_0));
	else
		CODE(c, PUT32(at, -1));
}

/*
 * In a pid namespace, replaces pid and tid by those that the namespace has, as the rings have them. A thread of a
 * namespace below ours is left out, because the kernel's helper does not know its ids in ours.
 */
static void code_own_ids(struct code *c)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == INITIAL_PID_NS)
		return;
	CODE(c, SET(BPF_REG_1, (int32_t)st.st_dev), MOV32(BPF_REG_1, BPF_REG_1), SET(BPF_REG_2, (int32_t)st.st_ino),
	     MOV32(BPF_REG_2, BPF_REG_2), ADDRESS(BPF_REG_3, AT_IDS), SET(BPF_REG_4, 8), CALL(BPF_FUNC_get_ns_current_pid_tgid));
	code_jump(c, BPF_JNE, BPF_REG_0, 0, TO_NEXT);
	CODE(c, COPY32(AT_BEGIN + 12, BPF_REG_10, AT_IDS), COPY32(AT_BEGIN + 8, BPF_REG_10, AT_IDS + 4));
}

/* begin[tid] = { time, pid, tid, stacks } of the current thread, if it is of the step and comes back. */
static void code_switch_from(struct code *c, const struct offcpu *o, const struct offcpu_setup *setup, uint32_t flags)
{
	CODE(c, MOV(BPF_REG_6, BPF_REG_1), LD_MAP(BPF_REG_1, o->cgroup), SET(BPF_REG_2, 0),
	     CALL(BPF_FUNC_current_task_under_cgroup));
	code_jump(c, BPF_JNE, BPF_REG_0, 1, TO_NEXT);
	CODE(c, LOAD_FROM(BPF_DW, BPF_REG_3, BPF_REG_6, 8), OP(BPF_ADD, BPF_REG_3, (int32_t)flags),
	     ADDRESS(BPF_REG_1, AT_FLAGS), SET(BPF_REG_2, 4), CALL(BPF_FUNC_probe_read_kernel));
	code_jump(c, BPF_JNE, BPF_REG_0, 0, TO_NEXT);
	CODE(c, LOAD_FROM(BPF_W, BPF_REG_1, BPF_REG_10, AT_FLAGS), OP(BPF_AND, BPF_REG_1, PF_EXITING));
	code_jump(c, BPF_JNE, BPF_REG_1, 0, TO_NEXT);
	CODE(c, CALL(BPF_FUNC_get_current_pid_tgid), STORE32(AT_KEY, BPF_REG_0), STORE32(AT_BEGIN + 12, BPF_REG_0),
	     OP(BPF_RSH, BPF_REG_0, 32), STORE32(AT_BEGIN + 8, BPF_REG_0));
	code_own_ids(c);
	CODE(c, PUT32(AT_SUM, CONTROL_GENERATION), LD_MAP(BPF_REG_1, o->control), ADDRESS(BPF_REG_2, AT_SUM),
	     CALL(BPF_FUNC_map_lookup_elem));
	code_jump(c, BPF_JEQ, BPF_REG_0, 0, TO_NEXT);
	CODE(c, LOAD_FROM(BPF_W, BPF_REG_7, BPF_REG_0, 0), STORE32(AT_BEGIN + 24, BPF_REG_7), PUT32(AT_BEGIN + 28, 0));
	code_stack(c, o, setup->has_user, BPF_F_USER_STACK, AT_BEGIN + 16);
	code_stack(c, o, setup->has_kernel, 0, AT_BEGIN + 20);
	CODE(c, CALL(BPF_FUNC_ktime_get_ns), STORE(AT_BEGIN, BPF_REG_0), LD_MAP(BPF_REG_1, o->begin),
	     ADDRESS(BPF_REG_2, AT_KEY), ADDRESS(BPF_REG_3, AT_BEGIN), SET(BPF_REG_4, BPF_ANY),
	     CALL(BPF_FUNC_map_update_elem));
	code_jump(c, BPF_JEQ, BPF_REG_0, 0, TO_NEXT);
	code_count(c, o, CONTROL_LOST, TO_NEXT);
}

/* sum[half, pid, tid, stacks] += { time since begin[tid], 1 } of the next thread, if it has a begin. */
static void code_switch_to(struct code *c, const struct offcpu *o, uint32_t pid)
{
	CODE(c, LOAD_FROM(BPF_DW, BPF_REG_3, BPF_REG_6, 16), OP(BPF_ADD, BPF_REG_3, (int32_t)pid),
	     ADDRESS(BPF_REG_1, AT_KEY), SET(BPF_REG_2, 4), CALL(BPF_FUNC_probe_read_kernel));
	code_jump(c, BPF_JNE, BPF_REG_0, 0, TO_END);
	CODE(c, LD_MAP(BPF_REG_1, o->begin), ADDRESS(BPF_REG_2, AT_KEY), CALL(BPF_FUNC_map_lookup_elem));
	code_jump(c, BPF_JEQ, BPF_REG_0, 0, TO_END);
	CODE(c, COPY32(AT_SUM_KEY + 4, BPF_REG_0, 8), COPY32(AT_SUM_KEY + 8, BPF_REG_0, 12),
	     COPY32(AT_SUM_KEY + 12, BPF_REG_0, 16), COPY32(AT_SUM_KEY + 16, BPF_REG_0, 20), COPY32(AT_SUM_KEY + 20, BPF_REG_0, 24),
	     LOAD_FROM(BPF_DW, BPF_REG_8, BPF_REG_0, 0), LD_MAP(BPF_REG_1, o->begin), ADDRESS(BPF_REG_2, AT_KEY),
	     CALL(BPF_FUNC_map_delete_elem), CALL(BPF_FUNC_ktime_get_ns), SUBTRACT(BPF_REG_0, BPF_REG_8),
	     STORE(AT_SUM, BPF_REG_0), SET(BPF_REG_1, 1), STORE(AT_SUM + 8, BPF_REG_1), PUT32(AT_KEY, CONTROL_HALF),
	     LD_MAP(BPF_REG_1, o->control), ADDRESS(BPF_REG_2, AT_KEY), CALL(BPF_FUNC_map_lookup_elem));
	code_jump(c, BPF_JEQ, BPF_REG_0, 0, TO_END);
	CODE(c, COPY32(AT_SUM_KEY, BPF_REG_0, 0), LD_MAP(BPF_REG_1, o->sum), ADDRESS(BPF_REG_2, AT_SUM_KEY),
	     CALL(BPF_FUNC_map_lookup_elem));
	code_jump(c, BPF_JEQ, BPF_REG_0, 0, TO_NEW);
	CODE(c, LOAD(BPF_REG_1, AT_SUM), ADD_AT(BPF_REG_0, 0, BPF_REG_1), SET(BPF_REG_1, 1), ADD_AT(BPF_REG_0, 8, BPF_REG_1));
	CODE(c, SET(BPF_REG_0, 0), EXIT);
	code_label(c, TO_NEW);
	CODE(c, LD_MAP(BPF_REG_1, o->sum), ADDRESS(BPF_REG_2, AT_SUM_KEY), ADDRESS(BPF_REG_3, AT_SUM), SET(BPF_REG_4, BPF_ANY),
	     CALL(BPF_FUNC_map_update_elem));
	code_jump(c, BPF_JEQ, BPF_REG_0, 0, TO_END);
	code_count(c, o, CONTROL_LOST, TO_END);
}

/*
 * Loads the program for the raw tracepoint sched_switch(preempt, previous, next, ...), which the kernel calls in the
 * previous thread. FLAGS and PID are offsets in task_struct.
 */
static int offcpu_load(struct offcpu *o, const struct offcpu_setup *setup, uint32_t flags, uint32_t pid)
{
	struct code c = { .n = 0 };

	code_switch_from(&c, o, setup, flags);
	code_label(&c, TO_NEXT);
	code_switch_to(&c, o, pid);
	code_label(&c, TO_END);
	CODE(&c, SET(BPF_REG_0, 0), EXIT);
	code_finish(&c);
	return bpfsys_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "ceems_offcpu", c.insn, c.n, &o->program);
}

/* --- open and close ------------------------------------------------------------------------- */

static int offcpu_maps(struct offcpu *o, int cgroup_fd)
{
	int rc = bpfsys_create_cgroup_map(cgroup_fd, &o->cgroup);

	if (rc == 0)
		rc = bpfsys_create_map(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(uint64_t), CONTROL_N, &o->control);
	if (rc == 0)
		rc = bpfsys_create_map(BPF_MAP_TYPE_HASH, sizeof(uint32_t), sizeof(struct wait_begin), THREADS_MAX, &o->begin);
	if (rc == 0)
		rc = bpfsys_create_map(BPF_MAP_TYPE_HASH, sizeof(struct wait_key), sizeof(struct wait_sum), SUMS_MAX, &o->sum);
	if (rc == 0)
		rc = offcpu_stacks_open(&o->stacks);
	return rc;
}

static int offcpu_offsets(uint32_t *ret_flags, uint32_t *ret_pid, struct errmsg *err)
{
	struct kernel_btf *btf = NULL;
	int rc = kernel_btf_open(KERNEL_BTF_PATH, &btf, err);

	if (rc < 0)
		return rc;
	rc = kernel_btf_offset(btf, "task_struct", "flags", ret_flags);
	if (rc == 0)
		rc = kernel_btf_offset(btf, "task_struct", "pid", ret_pid);
	kernel_btf_close(btf);
	return rc < 0 ? errmsg_errno(err, rc, KERNEL_BTF_PATH ": task_struct") : 0;
}

int offcpu_open(const struct offcpu_setup *setup, struct offcpu **ret, struct errmsg *err)
{
	struct offcpu *o = calloc(1, sizeof(*o));
	uint32_t flags = 0, pid = 0;
	int rc;

	if (!o)
		return errmsg_errno(err, -ENOMEM, "waits");
	o->cgroup = o->control = o->begin = o->sum = o->program = o->link = -1;
	o->stacks = (struct offcpu_stacks){ .map = { -1, -1 } };
	rc = offcpu_offsets(&flags, &pid, err);
	if (rc == 0) {
		rc = offcpu_maps(o, setup->cgroup_fd);
		if (rc == 0)
			rc = offcpu_load(o, setup, flags, pid);
		if (rc == 0)
			rc = bpfsys_attach_raw(o->program, "sched_switch", &o->link);
		if (rc < 0)
			(void)errmsg_errno(err, rc, "cannot load a BPF program for waits");
	}
	if (rc < 0) {
		offcpu_close(o);
		return rc;
	}
	*ret = o;
	return 0;
}

void offcpu_close(struct offcpu *o)
{
	if (!o)
		return;
	util_closep(&o->link);
	util_closep(&o->program);
	offcpu_stacks_close(&o->stacks);
	util_closep(&o->sum);
	util_closep(&o->begin);
	util_closep(&o->control);
	util_closep(&o->cgroup);
	free(o);
}

/* --- what was counted ----------------------------------------------------------------------- */

static void pass_sum(struct offcpu *o, const struct wait_key *key, const struct wait_sum *sum, uint64_t now_ns, stacks_fn *fn,
		     void *ctx)
{
	const struct offcpu_stack user = { key->generation, key->user }, kernel = { key->generation, key->kernel };
	struct stacks_record r = {
		.kind = STACKS_WAIT,
		.pid = key->pid,
		.tid = key->tid,
		.mono_ns = now_ns,
		.wait_ns = sum->ns,
		.user = o->user,
		.kernel = o->kernel,
	};

	r.nuser = offcpu_stacks_read(&o->stacks, &user, o->user);
	r.nkernel = offcpu_stacks_read(&o->stacks, &kernel, o->kernel);
	r.is_cut = r.nuser == OFFCPU_DEPTH_MAX;
	fn(ctx, &r);
}

static void pass_lost(struct offcpu *o, uint64_t now_ns, stacks_fn *fn, void *ctx)
{
	const uint32_t key = CONTROL_LOST;
	struct stacks_record r = { .kind = STACKS_LOST, .mono_ns = now_ns };
	uint64_t lost;

	if (bpfsys_lookup(o->control, &key, &lost) < 0 || lost == o->lost)
		return;
	r.lost = lost - o->lost;
	o->lost = lost;
	fn(ctx, &r);
}

/* Adds the stacks that each wait of the map `begin` or `sum` has to USED. Returns how many they are. */
static size_t find_used(const struct offcpu *o, struct offcpu_stack *used, size_t max)
{
	size_t n = 0;
	struct wait_begin wait;
	struct wait_key key;
	uint32_t tid;
	int rc;

	/* a wait that ends meanwhile is deleted from `begin` before it is added to `sum` */
	for (rc = bpfsys_next_key(o->begin, NULL, &tid); rc == 0 && n + 2 <= max; rc = bpfsys_next_key(o->begin, &tid, &tid)) {
		if (bpfsys_lookup(o->begin, &tid, &wait) < 0)
			continue;
		used[n++] = (struct offcpu_stack){ wait.generation, wait.user };
		used[n++] = (struct offcpu_stack){ wait.generation, wait.kernel };
	}
	(void)usleep(1000);
	for (rc = bpfsys_next_key(o->sum, NULL, &key); rc == 0 && n + 2 <= max; rc = bpfsys_next_key(o->sum, &key, &key)) {
		used[n++] = (struct offcpu_stack){ key.generation, key.user };
		used[n++] = (struct offcpu_stack){ key.generation, key.kernel };
	}
	return n;
}

/* Begins a new generation of stacks. Without memory for it, the old one goes on. */
static void renew_stacks(struct offcpu *o)
{
	const size_t max = 2 * (THREADS_MAX + SUMS_MAX);
	const uint32_t index = CONTROL_GENERATION;
	_cleanup_free_ struct offcpu_stack *used = malloc(max * sizeof(*used));
	uint64_t generation;

	if (!used || offcpu_stacks_renew(&o->stacks, used, find_used(o, used, max)) < 0)
		return;
	generation = o->stacks.generation;
	(void)bpfsys_update(o->control, &index, &generation, BPF_ANY);
}

void offcpu_drain(struct offcpu *o, stacks_fn *fn, void *ctx)
{
	const uint32_t index = CONTROL_HALF, old = (uint32_t)o->half;
	const uint64_t now_ns = clock_mono_ns();
	struct wait_key key, next = { 0 };
	struct wait_sum sum;
	int rc;

	o->half ^= 1;
	if (bpfsys_update(o->control, &index, &o->half, BPF_ANY) < 0)
		return;
	(void)usleep(1000); /* a program that has read the old half is done by then; it cannot be preempted */
	for (rc = bpfsys_next_key(o->sum, NULL, &key); rc == 0; key = next) {
		rc = bpfsys_next_key(o->sum, &key, &next);
		if (key.half != old || bpfsys_lookup(o->sum, &key, &sum) < 0)
			continue;
		(void)bpfsys_delete(o->sum, &key);
		pass_sum(o, &key, &sum, now_ns, fn, ctx);
	}
	pass_lost(o, now_ns, fn, ctx);
	if (offcpu_stacks_is_due(&o->stacks))
		renew_stacks(o);
}
