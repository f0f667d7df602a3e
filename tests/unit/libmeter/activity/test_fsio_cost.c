/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What counting costs per call, in instructions. Runs only in a guest whose emulator executes one
 * instruction per nanosecond (tests/bpf/io.t): there time is a count of instructions, and repeats exactly.
 * The limits are ratios to an fexit program that does nothing.
 */
#define _GNU_SOURCE
#include "bpfrig.h"

#include <fcntl.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#include <x86intrin.h>

#define CALLS 500
#define ROUNDS 15

static int zero_fd;

static void call_pread(void)
{
	char c;

	(void)syscall(SYS_pread64, zero_fd, &c, 1, 0);
}

static void call_getppid(void)
{
	(void)syscall(SYS_getppid);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Per call; the median, since now and then the timer comes in. */
static double cost_of(void (*call)(void))
{
	double round[ROUNDS];
	uint64_t start;
	size_t i, j;

	for (i = 0; i < ROUNDS; i++) {
		start = __rdtsc();
		for (j = 0; j < CALLS; j++)
			call();
		round[i] = (double)(__rdtsc() - start) / CALLS;
	}
	qsort(round, ROUNDS, sizeof(*round), by_value);
	return round[ROUNDS / 2];
}

struct cost {
	double pread, getppid;
};

static struct cost measure(void)
{
	return (struct cost){ cost_of(call_pread), cost_of(call_getppid) };
}

/* The difference to nothing attached, which is printed. */
static struct cost since(const struct cost *nothing, const char *what)
{
	struct cost c = measure();

	c.pread -= nothing->pread;
	c.getppid -= nothing->getppid;
	printf("# COST %s: pread +%.1f, getppid +%.1f\n", what, c.pread, c.getppid);
	return c;
}

static bool is_nothing(double cost)
{
	return cost > -1 && cost < 1;
}

/* An fexit program on vfs_read that does nothing, attached; -1: no. */
static int attach_empty(void)
{
	const struct bpf_insn insn[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_prog_info info = { 0 };
	union bpf_attr attr = { .info = { .info_len = sizeof(info) } };
	char path[PATH_MAX + 32];
	int ours, program, link;

	(void)snprintf(path, sizeof(path), "%s/" PROBES_DIR "/prog_io_read", bpfrig_dir);
	if (bpfsys_open(path, &ours) < 0)
		return -1;
	attr.info.bpf_fd = (__u32)ours;
	attr.info.info = (__u64)(uintptr_t)&info;
	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0 || !info.attach_btf_id)
		return -1;
	(void)close(ours);
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_TRACING;
	attr.expected_attach_type = BPF_TRACE_FEXIT;
	attr.attach_btf_id = info.attach_btf_id;
	attr.insns = (__u64)(uintptr_t)insn;
	attr.insn_cnt = 2;
	attr.license = (__u64)(uintptr_t) "GPL";
	program = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (program < 0 || bpfsys_attach(program, &link) < 0)
		return -1;
	(void)close(program);
	return link;
}

static void run_tests(struct probes *p)
{
	struct cost nothing = measure(), empty, c;
	struct folder step = { 0 }, root = { 0 };
	int link;
	uint32_t slot;

	printf("# COST nothing attached: pread %.1f, getppid %.1f\n", nothing.pread, nothing.getppid);
	ok(probes_hold(p, PROBES_TASKS, NULL) == 0 && probes_hold(p, PROBES_TCP, NULL) == 0,
	   "tasks and tcp are attached, for all steps");
	c = since(&nothing, "tasks, tcp");
	ok(is_nothing(c.pread) && is_nothing(c.getppid), "neither call costs more");

	link = attach_empty();
	if (link < 0) {
		skip(1, "this kernel does not tell what a program is attached to");
		return;
	}
	empty = since(&nothing, "empty fexit");
	(void)close(link);
	(void)usleep(100000); /* detached by RCU */
	ok(is_nothing(measure().pread - nothing.pread), "a program that is gone costs nothing");

	ok(probes_hold(p, PROBES_IO, NULL) == 0, "io is attached");
	c = since(&nothing, "io, of no step");
	ok(c.pread <= 1.4 * empty.pread, "of no step: %.3f of an empty fexit, 1.4 at most",
	   c.pread / empty.pread);
	ok(is_nothing(c.getppid), "other calls cost nothing");

	(void)snprintf(root.path, sizeof(root.path), "%s", bpfrig_root(true));
	if (!ok(folder_make_own(&step, root.path, "step") && folder_join(&step, getpid()), "a step"))
		return;
	/* registered by another process: fsio does not count the one that registers */
	if (fork() == 0)
		_exit(probes_register(p, step.id, 0, 1u << PROBES_IO, &slot) < 0);
	(void)wait(NULL);
	c = since(&nothing, "io, of a step");
	ok(c.pread > 1.2 * empty.pread, "a call of a step costs more: it is counted");
	ok(c.pread <= 1.7 * empty.pread, "of a step: %.3f of an empty fexit, 1.7 at most",
	   c.pread / empty.pread);
	ok(is_nothing(c.getppid), "other calls cost nothing");
	(void)folder_join(&root, getpid());
	folder_remove(&step);
}

int main(void)
{
	const char *why = getenv("CEEMS_TEST_ICOUNT") ? bpfrig_up() : "counts instructions, in a guest only";
	struct errmsg err = { 0 };
	struct probes *p;

	if (why)
		return skip_all(why);
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (ok(zero_fd >= 0 && probes_open(bpfrig_dir, &p, &err) == 0, "open %s", err.text)) {
		run_tests(p);
		probes_close(p);
	}
	(void)bpfrig_unload();
	bpfrig_down();
	return done_testing();
}

#else
int main(void)
{
	return skip_all("the guest is x86-64");
}
#endif
