/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks.h - samples of the stacks of one step, as the kernel writes them (perf_event_open(2)). For the program
 * ceems-profile, which is root.
 *
 * Each CPU of the step gets one software clock event with a ring of its own; no PMU is needed. A BPF program of five
 * instructions at each event drops the samples of tasks outside the step's v2 cgroup before a stack is walked. So a
 * sample of another job costs some 0.2 us, and never reaches user space. The kernel walks the stack by frame pointers.
 * The same rings have the mappings (with build ids, since 5.12), names and forks of processes, in the order of time, so
 * a process of a few milliseconds is known, too. These records are of all processes on the CPU. The caller must drop
 * those of processes that have no sample and no parent in the step.
 *
 * Why not otherwise:
 * - One event per CPU for all steps, each taking every k-th sample, needs an owner that outlives the steps, and cannot
 *   give 99 Hz and 19 Hz at once. With ConstrainCores=yes the CPUs of jobs are disjoint: there is one event per CPU.
 * - Counting stacks in BPF maps loses their times, by which energy is attributed, and their order among mappings. Maps
 *   shared by steps would also have to be kept from users, and emptied before a slot is used again.
 * - Events of a cgroup (PERF_FLAG_PID_CGROUP) need no program, but cost each switch of the step, also to idle, some 1 us.
 * - BPF_F_STACK_BUILD_ID costs three times as much per sample, and files without a build id remain without a name.
 *
 * Events, program, map and rings exist only as descriptors of the caller, and end with it, however it ends.
 */
#ifndef CEEMS_STACKS_H
#define CEEMS_STACKS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libutil/errmsg.h"

struct stacks;

#define STACKS_DUMP_MAX 32768u

struct stacks_setup {
	int cgroup_fd; /* v2; processes in it and below are sampled. Borrowed during the call */
	const uint32_t *cpu;
	size_t ncpus;
	uint32_t hz;
	bool has_user, has_kernel; /* which part of a stack; of a sample in the other mode, that part is empty */
	/*
	 * With the user's part: registers (sample_regs_user) and so many bytes of the stack, to find callers without frame
	 * pointers. 0: none; nor are there any where the kernel refuses, or does not say whose a process is: of a process
	 * that UID may not trace there are none (stacks_filter.h).
	 */
	uint64_t user_registers;
	uid_t uid;
	uint32_t dump_size; /* a multiple of 8, at most STACKS_DUMP_MAX */
};

/*
 * Begins to sample. -EOPNOTSUPP: this kernel does not support it, or refuses; -EPERM, -EACCES: we may not; -ENODEV:
 * none of the CPUs is online.
 */
int stacks_open(const struct stacks_setup *setup, struct stacks **ret, struct errmsg *err);
/* NULL: no-op. */
void stacks_close(struct stacks *s);

/*
 * Waits until some ring is a quarter full, FD can be read or is closed, or TIMEOUT_MS has passed. True: FD can be read or is
 * closed.
 */
bool stacks_wait(struct stacks *s, int fd, int timeout_ms);

/* What all records are of. */
enum stacks_kind {
	STACKS_SAMPLE,
	STACKS_MAPPING, /* of code */
	STACKS_NAME,	/* a thread got a name */
	STACKS_EXEC,	/* a process is another program now; its mappings follow */
	STACKS_FORK,	/* process or thread PARENT_PID, PARENT_TID made PID, TID */
	STACKS_EXIT,	/* of a thread */
	STACKS_LOST,	/* the ring was full, or the kernel was too busy to sample */
};

#define STACKS_BUILD_ID_MAX 20

struct stacks_record {
	enum stacks_kind kind;
	uint32_t pid, tid;
	uint64_t mono_ns;
	uint32_t parent_pid, parent_tid;
	const char *text; /* STACKS_NAME, STACKS_EXEC: the name; STACKS_MAPPING: the path, in the process's root */
	uint64_t start, size, offset; /* of a mapping */
	const uint8_t *build_id;
	size_t build_id_size; /* 0: not known */
	const uint64_t *user, *kernel; /* addresses, the innermost first */
	size_t nuser, nkernel;
	bool is_cut; /* the stack was deeper than the kernel walks */
	const uint64_t *reg; /* the user's, in the order of their bits */
	size_t nregs;	     /* 0: none, as of a program of 32 bits */
	const uint8_t *dump; /* of the user's stack, from its pointer on */
	size_t dump_size;
	bool is_dump_short; /* the stack goes on */
	uint64_t lost;
};

/* RECORD is valid during the call. */
typedef void stacks_fn(void *ctx, const struct stacks_record *record);

/* All records up to now of all CPUs, in the order of time. */
void stacks_drain(struct stacks *s, stacks_fn *fn, void *ctx);

/*
 * Whether stacks_open() would be allowed here; opens and closes what it needs. *RET_NO_DUMP says why samples would have no
 * registers and stacks; empty: they would.
 */
int stacks_try(uint64_t user_registers, struct errmsg *ret_no_dump, struct errmsg *err);

/*
 * One record in the form of the kernel; a sample may have NREGS registers and a dump. False: not of a kind above, or too short. For the test,
 * apart from the rings.
 */
bool stacks_parse(const struct perf_event_header *h, size_t nregs, struct stacks_record *ret);

#endif
