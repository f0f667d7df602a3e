/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program sleeps for three quarters of its time and waits for a futex for one: off-CPU stacks tell both
 * apart, with the times that the program measures. Another program waits with more different stacks than a
 * map has room for.
 */
#define _GNU_SOURCE /* syscall */
#include "src/profiler/offcpu.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cgfolders.h"
#include "src/libutil/clock.h"
#include "tap.h"

#define ROUNDS 20

/* What the program says. */
static struct told {
	_Atomic uint32_t futex, rounds;
	_Atomic uint64_t sleep_ns, futex_ns;
} * told;

/* Waits by the innermost function. */
static struct {
	uint64_t address, ns;
} spot[8];
static uint32_t child;
static uint64_t others_ns, lost;
static unsigned int with_kernel, without_kernel;

static void child_run(const char *folder)
{
	const struct timespec nap = { .tv_nsec = 30000000 }, limit = { .tv_nsec = 10000000 };
	uint64_t begin_ns;
	char path[PATH_MAX];
	int fd;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(1);
	while (told->rounds < ROUNDS) {
		begin_ns = clock_mono_ns();
		(void)nanosleep(&nap, NULL);
		told->sleep_ns += clock_mono_ns() - begin_ns;
		begin_ns = clock_mono_ns();
		(void)syscall(SYS_futex, &told->futex, FUTEX_WAIT, 0, &limit, NULL, 0);
		told->futex_ns += clock_mono_ns() - begin_ns;
		told->rounds++;
	}
	_exit(0);
}

static void take(void *ctx, const struct stacks_record *r)
{
	size_t i;

	(void)ctx;
	lost += r->lost;
	if (r->kind != STACKS_WAIT)
		return;
	others_ns += r->pid != child ? r->wait_ns : 0;
	with_kernel += r->nkernel > 0;
	without_kernel += !r->nkernel;
	/* two stacks may have the same place in the map; the later one is not known then */
	if (r->pid != child || !r->nuser)
		return;
	for (i = 0; i < ARRAY_SIZE(spot) && spot[i].ns && spot[i].address != r->user[0]; i++)
		;
	if (i == ARRAY_SIZE(spot))
		return;
	spot[i].address = r->user[0];
	spot[i].ns += r->wait_ns;
}

/* Returns whether some function has waited NS, less at most a fifth. */
static bool has_waited(uint64_t ns)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(spot); i++)
		if (spot[i].ns <= ns && spot[i].ns >= ns - ns / 5)
			return true;
	return false;
}

static void test_waits(const char *folder)
{
	struct offcpu_setup setup = { .has_user = true, .has_kernel = true };
	struct errmsg err = { 0 };
	struct offcpu *o = NULL;
	int status = -1;
	pid_t pid;

	setup.cgroup_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (offcpu_open(&setup, &o, &err) < 0) {
		skip(6, err.text);
		return;
	}
	pid = fork();
	if (pid == 0)
		child_run(folder);
	child = (uint32_t)pid;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		(void)usleep(100000);
		offcpu_drain(o, take, NULL);
	}
	offcpu_drain(o, take, NULL);
	offcpu_drain(o, take, NULL);
	is_int(status, 0, "a program that waits");
	ok(has_waited(told->sleep_ns), "sleeps %u ms", (unsigned int)(told->sleep_ns / 1000000));
	ok(has_waited(told->futex_ns), "waits for a futex %u ms", (unsigned int)(told->futex_ns / 1000000));
	is_u64(others_ns, 0, "other programs are not counted");
	is_u64(lost, 0, "nothing is lost");
	if (with_kernel)
		ok(!without_kernel, "waits have the kernel's part: %u, %u without", with_kernel,
		   without_kernel);
	else
		skip(1, "this kernel gives no stacks of its own");
	offcpu_close(o);
	(void)close(setup.cgroup_fd);
}

/* --- many stacks ---------------------------------------------------------------------------------------- */

#define PATHS 20000u /* different stacks */
#define PATH_BITS 15

static volatile const void *frame;

/*
 * Sleeps below PATH_BITS calls of left() or right(), by the bits of PATH. The builtin makes each
 * function keep a frame pointer.
 */
static void walk(uint32_t path, int depth);

__attribute__((noinline)) static void left(uint32_t path, int depth)
{
	frame = __builtin_frame_address(0);
	walk(path, depth);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void right(uint32_t path, int depth)
{
	frame = __builtin_frame_address(0);
	walk(path, depth);
	__asm__ volatile("nop" ::: "memory");
}

__attribute__((noinline)) static void walk(uint32_t path, int depth)
{
	const struct timespec nap = { .tv_nsec = 1000 };

	frame = __builtin_frame_address(0);
	if (depth == PATH_BITS)
		(void)syscall(SYS_nanosleep, &nap, NULL);
	else if (path >> depth & 1)
		left(path, depth + 1);
	else
		right(path, depth + 1);
	__asm__ volatile("" ::: "memory");
}

/* A thread that waits from the begin to the end, so across all generations of stacks. */
static void *wait_long(void *arg)
{
	while (!told->futex)
		(void)syscall(SYS_futex, &told->futex, FUTEX_WAIT, 0, NULL, NULL, 0);
	return arg;
}

static void many_run(const char *folder)
{
	char path[PATH_MAX];
	pthread_t thread;
	uint32_t i;
	int fd;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1 || pthread_create(&thread, NULL, wait_long, NULL) != 0)
		_exit(1);
	for (i = 0; i < PATHS; i++)
		walk(i, 0);
	told->futex = 1;
	(void)syscall(SYS_futex, &told->futex, FUTEX_WAKE, 1, NULL, NULL, 0);
	(void)pthread_join(thread, NULL);
	_exit(0);
}

static uint64_t waits, unknown, longest_ns;
static size_t longest_depth;

static void count(void *ctx, const struct stacks_record *r)
{
	(void)ctx;
	if (r->kind != STACKS_WAIT || r->pid != child)
		return;
	waits++;
	unknown += !r->nuser;
	if (r->tid != child && r->wait_ns > longest_ns) {
		longest_ns = r->wait_ns;
		longest_depth = r->nuser;
	}
}

static void test_many_stacks(const char *folder)
{
	struct offcpu_setup setup = { .has_user = true };
	struct errmsg err = { 0 };
	struct offcpu *o = NULL;
	int status = -1;
	pid_t pid;

	setup.cgroup_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (offcpu_open(&setup, &o, &err) < 0) {
		skip(4, err.text);
		return;
	}
	told->futex = 0;
	pid = fork();
	if (pid == 0)
		many_run(folder);
	child = (uint32_t)pid;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		(void)usleep(10000);
		offcpu_drain(o, count, NULL);
	}
	offcpu_drain(o, count, NULL);
	offcpu_drain(o, count, NULL);
	is_int(status, 0, "a program with 20,000 different stacks");
	ok(waits > PATHS / 2, "%u waits with them", (unsigned int)waits);
	ok(unknown < waits / 4, "%.1f %% of the stacks are not known",
	   100.0 * (double)unknown / (double)(waits ? waits : 1));
	ok(longest_ns && longest_depth,
	   "a thread that waits all the time has its stack: %.0f ms, %zu functions", (double)longest_ns / 1e6,
	   longest_depth);
	offcpu_close(o);
	(void)close(setup.cgroup_fd);
}

int main(void)
{
	struct folders folders;

	offcpu_close(NULL);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return 99;
	if (geteuid() != 0) {
		skip(10, "only root can load BPF programs");
		return done_testing();
	}
	folders_make(&folders);
	if (folders.top[HIER_V2][0]) {
		test_waits(folders.step[HIER_V2]);
		test_many_stacks(folders.step[HIER_V2]);
	} else {
		skip(10, "no v2 cgroup can be made here");
	}
	folders_remove(&folders);
	return done_testing();
}
