/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of the kernel as they are in a ring: what is read of each, and that one that is cut short is
 * refused. Then real samples: whose stacks are copied.
 */
#define _GNU_SOURCE /* setresuid */
#include "src/profiler/stacks.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cgfolders.h"
#include "src/libutil/util.h"
#include "tap.h"

#define NONE 99 /* no kind */

static union {
	struct perf_event_header h;
	char bytes[1024];
} record;

static void begin(uint32_t type, uint16_t misc)
{
	memset(&record, 0, sizeof(record));
	record.h.type = type;
	record.h.misc = misc;
	record.h.size = sizeof(record.h);
}

static void put(const void *from, size_t size)
{
	memcpy(record.bytes + record.h.size, from, size);
	record.h.size = (uint16_t)(record.h.size + size);
}

static void put_u32(uint32_t n)
{
	put(&n, sizeof(n));
}

static void put_u64(uint64_t n)
{
	put(&n, sizeof(n));
}

/* What stands behind each record that is no sample. */
static void put_trailer(void)
{
	put_u32(7);
	put_u32(8);
	put_u64(12345);
}

static struct stacks_record parsed(void)
{
	struct stacks_record r;

	if (!stacks_parse(&record.h, 0, &r))
		r.kind = (enum stacks_kind)NONE;
	return r;
}

/* A record of any shorter size is refused, and nothing behind it is read. */
static void is_whole_only(const char *what, uint16_t least)
{
	const uint16_t whole = record.h.size;
	struct stacks_record r;
	bool is_any = false;

	for (record.h.size = 0; record.h.size < least; record.h.size++)
		is_any |= stacks_parse(&record.h, 0, &r);
	record.h.size = whole;
	ok(!is_any, "%s that is cut short is refused", what);
}

/* The head of a sample; its addresses are behind it. */
static void begin_sample(uint64_t addresses)
{
	begin(PERF_RECORD_SAMPLE, 0);
	put_u32(7);
	put_u32(8);
	put_u64(12345);
	put_u64(10101010);
	put_u64(addresses);
}

static void test_sample(void)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL,
				   0xffffffff81000010,
				   0xffffffff81000020,
				   (uint64_t)PERF_CONTEXT_USER,
				   0x401000,
				   0x401100,
				   0x401200 };
	struct stacks_record r;

	begin_sample(ARRAY_SIZE(chain));
	put(chain, sizeof(chain));
	r = parsed();
	is_int(r.kind, STACKS_SAMPLE, "a sample");
	ok(r.pid == 7 && r.tid == 8 && r.mono_ns == 12345, "  of whom and when");
	is_u64(r.period, 10101010, "  its period");
	ok(r.nkernel == 2 && r.kernel[1] == chain[2], "  the kernel's part");
	ok(r.nuser == 3 && r.user[0] == 0x401000 && r.user[2] == 0x401200, "  the user's part");
	ok(!r.is_cut, "  it is whole");
	is_whole_only("a sample", record.h.size);
	begin_sample(UINT64_MAX / 8);
	r = parsed();
	is_int(r.kind, NONE, "more addresses than there is room for");
	begin_sample(0);
	r = parsed();
	ok(r.kind == STACKS_SAMPLE && !r.nuser && !r.nkernel, "a sample without a stack");
}

/* Of a sample with two registers. */
static void put_dump(uint64_t abi, uint64_t size, uint64_t used)
{
	static const uint8_t bytes[32] = { 1, 2, 3 };

	begin_sample(0);
	put_u64(abi);
	if (abi) {
		put_u64(0x11);
		put_u64(0x22);
	}
	put_u64(size);
	put(bytes, size < sizeof(bytes) ? size : sizeof(bytes));
	if (size)
		put_u64(used);
}

static void test_dump(void)
{
	struct stacks_record r;

	put_dump(PERF_SAMPLE_REGS_ABI_64, 32, 32);
	ok(stacks_parse(&record.h, 2, &r) && r.nregs == 2 && r.reg[1] == 0x22, "a sample with registers");
	ok(r.dump_size == 32 && r.dump[2] == 3 && r.is_dump_short, "  and a part of its stack");
	put_dump(PERF_SAMPLE_REGS_ABI_64, 32, 8);
	ok(stacks_parse(&record.h, 2, &r) && r.dump_size == 8 && !r.is_dump_short, "  or all of it");
	put_dump(PERF_SAMPLE_REGS_ABI_64, 32, 33);
	ok(!stacks_parse(&record.h, 2, &r), "  but not more than there is room for");
	put_dump(PERF_SAMPLE_REGS_ABI_32, 32, 32);
	ok(stacks_parse(&record.h, 2, &r) && !r.nregs && !r.dump_size,
	   "of a program of 32 bits there is none");
	put_dump(PERF_SAMPLE_REGS_ABI_NONE, 0, 0);
	ok(stacks_parse(&record.h, 2, &r) && !r.nregs && !r.dump_size, "nor of the kernel's own threads");
	put_dump(PERF_SAMPLE_REGS_ABI_64, UINT64_MAX - 7, 0);
	ok(!stacks_parse(&record.h, 2, &r), "a size that is none");
	put_dump(PERF_SAMPLE_REGS_ABI_64, 32, 32);
	for (record.h.size -= 8; record.h.size > 40; record.h.size -= 8)
		if (stacks_parse(&record.h, 2, &r))
			break;
	is_u64(record.h.size, 40, "a sample that is cut short is refused");
}

static void test_mapping(void)
{
	static const uint8_t id[24] = { 4, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef };
	struct stacks_record r;

	begin(PERF_RECORD_MMAP2, 1 << 14 /* build id */);
	put_u32(7);
	put_u32(8);
	put_u64(0x401000);
	put_u64(0x2000);
	put_u64(0x1000);
	put(id, sizeof(id));
	put_u32(5);
	put_u32(2);
	put("/bin/app\0\0\0\0\0\0\0", 16);
	put_trailer();
	r = parsed();
	is_int(r.kind, STACKS_MAPPING, "a mapping");
	ok(r.pid == 7 && r.start == 0x401000 && r.size == 0x2000 && r.offset == 0x1000, "  where");
	is_str(r.text, "/bin/app", "  of what");
	ok(r.build_id_size == 4 && r.build_id[3] == 0xef, "  with its build id");
	is_whole_only("a mapping", 8 + 64 + 16 + 1);
	record.h.misc = 0;
	r = parsed();
	is_u64(r.build_id_size, 0, "before 5.12: inode and device stand there");
	record.h.misc = 1 << 14;
	record.bytes[8 + 32] = 21;
	r = parsed();
	is_u64(r.build_id_size, 0, "a build id that is longer than its place");
}

static void test_others(void)
{
	struct stacks_record r;

	begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put_u32(7);
	put_u32(7);
	put("app\0\0\0\0", 8);
	put_trailer();
	r = parsed();
	ok(r.kind == STACKS_EXEC && r.pid == 7 && !strcmp(r.text, "app"), "an exec");
	record.h.misc = 0;
	is_int(parsed().kind, STACKS_NAME, "a name");
	begin(PERF_RECORD_FORK, 0);
	put_u32(9);
	put_u32(7);
	put_u32(9);
	put_u32(8);
	put_u64(12345);
	put_trailer();
	r = parsed();
	ok(r.kind == STACKS_FORK && r.pid == 9 && r.parent_pid == 7 && r.tid == 9 && r.parent_tid == 8,
	   "a fork");
	is_whole_only("a fork", record.h.size);
	record.h.type = PERF_RECORD_EXIT;
	is_int(parsed().kind, STACKS_EXIT, "an exit");
	begin(PERF_RECORD_LOST, 0);
	put_u64(1);
	put_u64(42);
	put_trailer();
	r = parsed();
	ok(r.kind == STACKS_LOST && r.lost == 42, "what was lost");
	begin(PERF_RECORD_THROTTLE, 0);
	put_trailer();
	is_int(parsed().kind, NONE, "a record of another kind");
}

static void test_refused(void)
{
	const uint32_t cpu = 0;
	const struct stacks_setup setup = {
		.cgroup_fd = -1, .cpu = &cpu, .ncpus = 1, .hz = 99, .has_user = true
	};
	struct errmsg err = { 0 };
	struct stacks *s = NULL;

	ok(stacks_open(&setup, &s, &err) < 0 && !s, "without a cgroup nothing is sampled: %s", err.text);
	stacks_close(NULL);
}

static void test_ring_size(void)
{
	static const struct {
		const char *what;
		struct stacks_setup setup;
		size_t size;
	} t[] = {
		{ "the usual rate", { .ncpus = 8, .hz = 99, .dump_size = 16384 }, 512 << 10 },
		{ "a low rate", { .ncpus = 8, .hz = 1 }, 128 << 10 },
		{ "the highest rate", { .ncpus = 16, .hz = 999, .dump_size = 16384 }, 4 << 20 },
		{ "  of more CPUs: 64 MiB in all", { .ncpus = 17, .hz = 999, .dump_size = 16384 }, 2 << 20 },
		{ "  of 256 CPUs", { .ncpus = 256, .hz = 999, .dump_size = 16384 }, 256 << 10 },
		{ "no ring is smaller than a record",
		  { .ncpus = 8192, .hz = 999, .dump_size = 16384 },
		  64 << 10 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		is_u64(stacks_ring_size(&t[i].setup), t[i].size, t[i].what);
}

/* --- which event is sampled -------------------------------------------------------------------- */

/*
 * A machine on which hardware events of a CPU below CPUS are the clock, and other
 * hardware events fail with RC.
 */
struct pmu {
	int cpus, rc;
};

static const char *event_folder;

static int pmu_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		    unsigned long flags)
{
	const struct pmu *pmu = ctx;
	struct perf_event_attr clock = *attr;

	if (attr->type == PERF_TYPE_HARDWARE &&
	    (attr->config != PERF_COUNT_HW_CPU_CYCLES || cpu >= pmu->cpus))
		return pmu->rc;
	clock.type = PERF_TYPE_SOFTWARE;
	clock.config = PERF_COUNT_SW_CPU_CLOCK;
	return perf_event_kernel.open(NULL, &clock, pid, cpu, group, flags);
}

static void is_sampled(struct pmu pmu, enum stacks_event wanted, enum stacks_event event, const char *why,
		       const char *what)
{
	static const uint32_t cpu[] = { 0, 1 };
	const struct perf_event_ops ops = { .open = pmu_open };
	const bool has_two = sysconf(_SC_NPROCESSORS_ONLN) > 1;
	struct stacks_setup setup = { .event = wanted,
				      .cpu = cpu,
				      .ncpus = has_two ? 2 : 1,
				      .hz = 99,
				      .has_user = true,
				      .ops = &ops,
				      .ops_ctx = &pmu };
	struct errmsg ret = { 0 }, err = { 0 };
	struct stacks *s = NULL;
	int fd = open(event_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	setup.cgroup_fd = fd;
	if (ok(stacks_open(&setup, &s, &err) == 0, "%s: %s", what, *err.text ? err.text : "opened")) {
		is_int(stacks_event(s, &ret), event, "  its event");
		is_str(ret.text, why, "  and why");
		ok(stacks_counted(s) <= 1, "  a share of the time is counted");
	} else {
		skip(3, "not opened");
	}
	stacks_close(s);
	(void)close(fd);
}

static void test_event(void)
{
	struct errmsg no_dump = { 0 }, err = { 0 };
	struct folders folders;

	if (geteuid() != 0 || stacks_try(0, &no_dump, &err) < 0) {
		skip(20, "stacks cannot be sampled here");
		return;
	}
	folders_make(&folders);
	if (!folders.top[HIER_V2][0]) {
		skip(20, "no v2 cgroup can be made here");
		return;
	}
	event_folder = folders.step[HIER_V2];
	is_sampled((struct pmu){ 64, 0 }, STACKS_CLOCK, STACKS_CLOCK, "", "the clock");
	is_sampled((struct pmu){ 64, 0 }, STACKS_CYCLES, STACKS_CYCLES, "", "cycles");
	is_sampled((struct pmu){ 0, -ENOENT }, STACKS_CYCLES, STACKS_CLOCK,
		   "cycles cannot be sampled: no PMU (No such file or directory)", "cycles without a PMU");
	is_sampled((struct pmu){ 0, -EOPNOTSUPP }, STACKS_CYCLES, STACKS_CLOCK,
		   "cycles cannot be sampled: no PMU (Operation not supported)",
		   "cycles of a PMU without interrupts");
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		is_sampled((struct pmu){ 1, -ENOENT }, STACKS_CYCLES, STACKS_CLOCK,
			   "cycles cannot be sampled: no PMU (No such file or directory)",
			   "if one CPU has no cycles, the clock of all");
	else
		skip(4, "one CPU");
	folders_remove(&folders);
}

/* --- whose stacks are copied ------------------------------------------------------------------------ */

#define USER 65534

/* asm/perf_regs.h; 0: no copies there */
#if defined(__x86_64__)
#define REGISTERS UINT64_C(0xff01ff)
#elif defined(__aarch64__)
#define REGISTERS UINT64_C(0x1ffffffff)
#else
#define REGISTERS UINT64_C(0)
#endif

static const struct {
	const char *what;
	uid_t uid;
	int is_dumpable;
	bool has_copy;
} worker[] = {
	{ "a program of the user", USER, 1, true },
	{ "one that must not be traced", USER, 0, false },
	{ "a program of root", 0, 1, false },
};

struct seen {
	pid_t pid[ARRAY_SIZE(worker)];
	unsigned int samples[ARRAY_SIZE(worker)], copies[ARRAY_SIZE(worker)];
};

/* A child in the cgroup FOLDER that uses its CPU until it is killed. */
static pid_t worker_start(const char *folder, uid_t uid, int is_dumpable)
{
	char path[PATH_MAX];
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1 || setresuid(uid, uid, uid) < 0 ||
	    prctl(PR_SET_DUMPABLE, is_dumpable) < 0)
		_exit(1);
	for (;;)
		;
}

static void count_record(void *ctx, const struct stacks_record *r)
{
	struct seen *seen = ctx;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(worker); i++)
		if (r->kind == STACKS_SAMPLE && r->pid == (uint32_t)seen->pid[i]) {
			seen->samples[i]++;
			seen->copies[i] += r->nregs || r->dump_size;
		}
}

static bool has_enough(const struct seen *seen)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(worker); i++)
		if (seen->samples[i] < 100)
			return false;
	return true;
}

/* At the highest rate, samples of one CPU may be closer than a note's unit. */
static void sample_workers(const char *folder, struct seen *seen)
{
	static uint32_t cpu[64];
	struct stacks_setup setup = { .cpu = cpu,
				      .hz = 999,
				      .has_user = true,
				      .user_registers = REGISTERS,
				      .uid = USER,
				      .dump_size = 1024 };
	struct errmsg err = { 0 };
	struct stacks *s = NULL;
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned int turn;
	size_t i;

	setup.cgroup_fd = fd;
	for (setup.ncpus = 0;
	     setup.ncpus < ARRAY_SIZE(cpu) && setup.ncpus < (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	     setup.ncpus++)
		cpu[setup.ncpus] = (uint32_t)setup.ncpus;
	is_int(stacks_open(&setup, &s, &err), 0, "three programs are sampled");
	/* each worker sets who may trace it before its first sample; some 600 turns on a busy machine */
	for (i = 0; i < ARRAY_SIZE(worker); i++)
		seen->pid[i] = worker_start(folder, worker[i].uid, worker[i].is_dumpable);
	for (turn = 0; s && turn < 600 && !has_enough(seen); turn++) {
		(void)stacks_wait(s, -1, 100);
		stacks_drain(s, count_record, seen);
	}
	stacks_close(s);
	(void)close(fd);
}

static void test_copies(void)
{
	struct errmsg no_dump = { 0 }, err = { 0 };
	struct folders folders;
	struct seen seen = { 0 };
	size_t i;

	if (geteuid() != 0 || !REGISTERS || stacks_try(REGISTERS, &no_dump, &err) < 0 || no_dump.text[0]) {
		skip(7, "stacks cannot be copied here");
		return;
	}
	folders_make(&folders);
	if (!folders.top[HIER_V2][0]) {
		skip(7, "no v2 cgroup can be made here");
		return;
	}
	sample_workers(folders.step[HIER_V2], &seen);
	for (i = 0; i < ARRAY_SIZE(worker); i++) {
		ok(seen.samples[i] >= 100, "%s is counted: %u", worker[i].what, seen.samples[i]);
		/* of samples beside foreign ones there are no copies either */
		ok(worker[i].has_copy ? seen.copies[i] > 0 : !seen.copies[i], "  copies of its stack: %u",
		   seen.copies[i]);
		(void)kill(seen.pid[i], SIGKILL);
		(void)waitpid(seen.pid[i], NULL, 0);
	}
	folders_remove(&folders);
}

int main(void)
{
	test_copies();
	test_sample();
	test_dump();
	test_mapping();
	test_others();
	test_refused();
	test_ring_size();
	test_event();
	return done_testing();
}
