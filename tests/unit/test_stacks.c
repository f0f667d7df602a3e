/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the kernel as they are in a ring: what is read of each, and that one that is cut short is nothing. */
#include "src/libmeter/activity/stacks.h"

#include <errno.h>
#include <string.h>

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

/* Nor does a record of any shorter size lead to anything behind it. */
static void is_whole_only(const char *what, uint16_t least)
{
	const uint16_t whole = record.h.size;
	struct stacks_record r;
	bool is_any = false;

	for (record.h.size = 0; record.h.size < least; record.h.size++)
		is_any |= stacks_parse(&record.h, 0, &r);
	record.h.size = whole;
	ok(!is_any, "%s that is cut short is nothing", what);
}

static void test_sample(void)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
				   (uint64_t)PERF_CONTEXT_USER,	  0x401000,	      0x401100,
				   0x401200 };
	struct stacks_record r;

	begin(PERF_RECORD_SAMPLE, 0);
	put_u32(7);
	put_u32(8);
	put_u64(12345);
	put_u64(ARRAY_SIZE(chain));
	put(chain, sizeof(chain));
	r = parsed();
	is_int(r.kind, STACKS_SAMPLE, "a sample");
	ok(r.pid == 7 && r.tid == 8 && r.mono_ns == 12345, "  of whom and when");
	ok(r.nkernel == 2 && r.kernel[1] == chain[2], "  the kernel's part");
	ok(r.nuser == 3 && r.user[0] == 0x401000 && r.user[2] == 0x401200, "  the user's part");
	ok(!r.is_cut, "  it is whole");
	is_whole_only("a sample", record.h.size);
	begin(PERF_RECORD_SAMPLE, 0);
	put_u32(7);
	put_u32(8);
	put_u64(12345);
	put_u64(UINT64_MAX / 8);
	r = parsed();
	is_int(r.kind, NONE, "more addresses than there is room for");
	begin(PERF_RECORD_SAMPLE, 0);
	put_u32(7);
	put_u32(8);
	put_u64(12345);
	put_u64(0);
	r = parsed();
	ok(r.kind == STACKS_SAMPLE && !r.nuser && !r.nkernel, "a sample without a stack");
}

/* Of a sample with two registers. */
static void put_dump(uint64_t abi, uint64_t size, uint64_t used)
{
	static const uint8_t bytes[32] = { 1, 2, 3 };

	begin(PERF_RECORD_SAMPLE, 0);
	put_u32(7);
	put_u32(8);
	put_u64(12345);
	put_u64(0);
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
	ok(stacks_parse(&record.h, 2, &r) && !r.nregs && !r.dump_size, "of a program of 32 bits there is none");
	put_dump(PERF_SAMPLE_REGS_ABI_NONE, 0, 0);
	ok(stacks_parse(&record.h, 2, &r) && !r.nregs && !r.dump_size, "nor of the kernel's own threads");
	put_dump(PERF_SAMPLE_REGS_ABI_64, UINT64_MAX - 7, 0);
	ok(!stacks_parse(&record.h, 2, &r), "a size that is none");
	put_dump(PERF_SAMPLE_REGS_ABI_64, 32, 32);
	for (record.h.size -= 8; record.h.size > 32; record.h.size -= 8)
		if (stacks_parse(&record.h, 2, &r))
			break;
	is_u64(record.h.size, 32, "a sample that is cut short is nothing");
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
	ok(r.kind == STACKS_FORK && r.pid == 9 && r.parent_pid == 7 && r.tid == 9 && r.parent_tid == 8, "a fork");
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
	const struct stacks_setup setup = { .cgroup_fd = -1, .cpu = &cpu, .ncpus = 1, .hz = 99, .has_user = true };
	struct errmsg err = { 0 };
	struct stacks *s = NULL;

	ok(stacks_open(&setup, &s, &err) < 0 && !s, "without a cgroup nothing is sampled: %s", err.text);
	stacks_close(NULL);
}

int main(void)
{
	test_sample();
	test_dump();
	test_mapping();
	test_others();
	test_refused();
	return done_testing();
}
