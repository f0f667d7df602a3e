/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks.h - samples the stacks of one step by perf_event_open(2), for ceems-profile, which is
 * root.
 *
 * Each CPU of the step gets one event with its own ring: a software clock, which needs no PMU, or the PMU's
 * cycles. A BPF program at each event drops samples of tasks outside the step's v2 cgroup before the kernel
 * walks the stack. So a sample of another job costs some 0.2 us and never reaches user space. The kernel
 * walks stacks by frame pointers.
 *
 * The rings also contain mappings (with build ids since Linux 5.12), names, forks and exits of
 * processes. All records are passed on in the order of time, so even a process that lives a few
 * milliseconds is known. The cgroup does not filter these records: the caller must drop those of
 * processes outside the step.
 *
 * Alternatives that we rejected:
 * - One event per CPU for all steps needs an owner that outlives the steps, and cannot sample at 99
 *   Hz and 19 Hz at once. With ConstrainCores=yes jobs share no CPU, so there is one event per CPU
 *   anyway.
 * - Stacks counted in BPF maps have no times, so they cannot be matched with the mappings of their
 *   time. Maps shared by steps must also be protected from users, and emptied before reuse.
 * - Events of a cgroup (PERF_FLAG_PID_CGROUP) need no BPF program, but add some 1 us to each
 *   context switch of the step, also to idle.
 * - BPF_F_STACK_BUILD_ID triples the cost of a sample, and finds no names for files without a build
 *   id.
 *
 * Events, BPF program, maps and rings exist only as descriptors of the caller. The kernel frees
 * them when the caller ends, even by SIGKILL.
 */
#ifndef CEEMS_STACKS_H
#define CEEMS_STACKS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libmeter/sensor/perf_event.h"
#include "src/libutil/errmsg.h"

struct stacks;

enum stacks_event {
	STACKS_CLOCK,
	STACKS_CYCLES, /* of the PMU, in user and kernel mode; the kernel adapts the period to HZ */
	STACKS_EVENTS_N,
};

struct stacks_event_info {
	const char *name;	  /* as in perf list */
	const char *value, *unit; /* what a sample's PERIOD is, in pprof's words */
	uint32_t type;
	uint64_t config;
};

extern const struct stacks_event_info stacks_events[STACKS_EVENTS_N];

#define STACKS_DUMP_MAX 32768u

struct stacks_setup {
	int cgroup_fd; /* v2 cgroup; processes in it and below are sampled. Borrowed during the call */
	const uint32_t *cpu;
	size_t ncpus;
	enum stacks_event event;
	uint32_t hz;
	bool has_user, has_kernel; /* which parts of a stack to sample */
	/*
	 * With DUMP_SIZE, samples also have the registers USER_REGISTERS (attr.sample_regs_user)
	 * and a copy of DUMP_SIZE bytes of the user stack, to find callers without frame pointers.
	 * Samples have neither if the kernel does not support it, or if user UID may not trace the
	 * process (stacks_filter.h).
	 */
	uint64_t user_registers;
	uid_t uid;
	uint32_t dump_size;		  /* 0, or a multiple of 8 up to STACKS_DUMP_MAX */
	const struct perf_event_ops *ops; /* NULL: perf_event_kernel; for tests */
	void *ops_ctx;
};

/*
 * Begins to sample. If not all CPUs have the event, samples the clock on all of them. Returns 0 and
 * sets *RET; -EBADF: no cgroup; -EOPNOTSUPP: the kernel does not support it; -EPERM or -EACCES: we
 * may not; -ENODEV: all CPUs are offline; or another -errno.
 */
int stacks_open(const struct stacks_setup *setup, struct stacks **ret, struct errmsg *err) _must_check_;
/*
 * Returns the event that is sampled. If it is not setup.event, sets *RET_WHY to the reason;
 * otherwise leaves *RET_WHY alone.
 */
enum stacks_event stacks_event(const struct stacks *s, struct errmsg *ret_why);
/*
 * Returns why no stack is copied, though setup.dump_size asked for it: the kernel refuses the filter that
 * tells whose stacks may be copied. "": they are copied, or that was not asked for.
 */
const char *stacks_why_no_copies(const struct stacks *s);
/*
 * Returns the share of the time, 0 to 1, in which the event was counted. It is below 1 if the
 * PMU has too few counters.
 */
double stacks_counted(const struct stacks *s);
/* Ends sampling and frees S. NULL: does nothing. */
void stacks_close(struct stacks *s);

/*
 * Waits until a ring is a quarter full, FD is readable or closed, or TIMEOUT_MS has passed. Returns
 * whether FD is readable or closed.
 */
bool stacks_wait(struct stacks *s, int fd, int timeout_ms);

enum stacks_kind {
	STACKS_SAMPLE,
	STACKS_WAIT,	/* a thread waited WAIT_NS with this stack (offcpu.h); MONO_NS is later */
	STACKS_MAPPING, /* a process mapped code */
	STACKS_NAME,	/* a thread changed its name */
	STACKS_EXEC,	/* a process called exec; mappings of the new program follow */
	STACKS_FORK,	/* thread PARENT_TID of PARENT_PID created thread TID of PID */
	STACKS_EXIT,	/* a thread ended */
	STACKS_LOST,	/* a ring was full, so LOST records are missing */
};

#define STACKS_BUILD_ID_MAX 20

struct stacks_record {
	enum stacks_kind kind;
	uint32_t pid, tid;
	uint64_t mono_ns;
	uint64_t period; /* STACKS_SAMPLE: of the event, since the last sample of its CPU */
	uint32_t parent_pid, parent_tid;
	const char *text;	      /* name (STACKS_NAME, STACKS_EXEC), or path below the process's root */
	uint64_t start, size, offset; /* STACKS_MAPPING: address, bytes, and offset in the file */
	const uint8_t *build_id;
	size_t build_id_size;	       /* 0: the build id is not known */
	const uint64_t *user, *kernel; /* addresses of the call chain, the innermost first */
	size_t nuser, nkernel;
	bool is_cut;	     /* the call chain is as deep as the kernel walks at most */
	const uint64_t *reg; /* user registers, in the order of their bits in USER_REGISTERS */
	size_t nregs;	     /* 0: no registers, for example of a 32-bit program */
	const uint8_t *dump; /* copy of the user stack, from the stack pointer up */
	size_t dump_size;
	bool is_dump_short; /* the stack is longer than its copy */
	uint64_t lost;
	uint64_t wait_ns;
};

/* RECORD and all that it points to are valid during the call only. */
typedef void stacks_fn(void *ctx, const struct stacks_record *record);

/* Calls FN for each record of all CPUs that is older than 50 us, in the order of time. */
void stacks_drain(struct stacks *s, stacks_fn *fn, void *ctx);

/*
 * Tests what stacks_open() needs: opens and closes an event on CPU 0, and loads a program that drops samples.
 * The verifier does not see the real programs, so it may still refuse them. Returns 0 or -errno. RET_NO_DUMP
 * says why samples would have no registers and stack copies; it stays empty if they would.
 */
int stacks_try(uint64_t user_registers, struct errmsg *ret_no_dump, struct errmsg *err) _must_check_;
/* Tests in the same way whether CPU 0 has EVENT. */
int stacks_try_event(enum stacks_event event, struct errmsg *err);

/*
 * Parses the record H as the kernel writes it; *RET points into it. NREGS is the number of
 * registers in a sample. False: the record is of no kind above, or malformed. Declared here only
 * for the test.
 */
bool stacks_parse(const struct perf_event_header *h, size_t nregs, struct stacks_record *ret) _must_check_;
/* Returns the bytes of each CPU's ring. Declared here only for the test. */
size_t stacks_ring_size(const struct stacks_setup *setup);

#endif
