/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Offsets of members by a small BTF file, by pieces of it, and by that of this kernel. */
#include "src/profiler/kernel_btf.h"

#include <errno.h>
#include <linux/btf.h>
#include <unistd.h>

#include "scratch.h"
#include "tap.h"

static char dir[] = SCRATCH_TEMPLATE;

#define NAMES "\0task\0mm\0flags\0inner\0"
enum { NAME_TASK = 1, NAME_MM = 6, NAME_FLAGS = 9, NAME_INNER = 15 };

/* int; struct inner { int flags at 0 }; struct task { struct { int flags at 4 bytes; int mm at 8 }; at 16 bytes } */
static struct {
	struct btf_header h;
	struct btf_type number;
	uint32_t number_bits;
	struct btf_type inner;
	struct btf_member inner_member[1];
	struct btf_type nameless;
	struct btf_member nameless_member[2];
	struct btf_type task;
	struct btf_member task_member[1];
	char names[sizeof(NAMES)];
} file;

static void make_file(void)
{
	const uint32_t structs = (uint32_t)BTF_KIND_STRUCT << 24;

	file.h = (struct btf_header){ .magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(file.h) };
	file.h.type_len = (uint32_t)((const char *)file.names - (const char *)&file.number);
	file.h.str_off = file.h.type_len;
	file.h.str_len = sizeof(NAMES);
	file.number = (struct btf_type){ .info = (uint32_t)BTF_KIND_INT << 24, .size = 4 };
	file.inner = (struct btf_type){ .name_off = NAME_INNER, .info = structs | 1, .size = 4 };
	file.inner_member[0] = (struct btf_member){ .name_off = NAME_FLAGS, .type = 1 };
	file.nameless = (struct btf_type){ .info = structs | 2, .size = 12 };
	file.nameless_member[0] = (struct btf_member){ .name_off = NAME_FLAGS, .type = 1, .offset = 32 };
	file.nameless_member[1] = (struct btf_member){ .name_off = NAME_MM, .type = 1, .offset = 64 };
	file.task = (struct btf_type){ .name_off = NAME_TASK, .info = structs | 1, .size = 32 };
	file.task_member[0] = (struct btf_member){ .type = 3, .offset = 128 };
	memcpy(file.names, NAMES, sizeof(NAMES));
}

static int open_bytes(size_t size, struct kernel_btf **ret)
{
	if (!scratch_write(scratch_path(dir, "btf"), (const char *)&file, size))
		exit(99);
	return kernel_btf_open(scratch_path(dir, "btf"), ret, NULL);
}

static void test_small(void)
{
	struct kernel_btf *b = NULL;
	uint32_t at = 0;
	size_t size, n = 0;

	make_file();
	is_int(open_bytes(sizeof(file), &b), 0, "a whole file");
	is_int(kernel_btf_offset(b, "task", "mm", &at), 0, "a member of a nameless struct");
	is_u64(at, 24, "  where it is");
	is_int(kernel_btf_offset(b, "inner", "flags", &at), 0, "a member");
	is_u64(at, 0, "  where it is");
	is_int(kernel_btf_offset(b, "inner", "mm", &at), -ENOENT, "none of that name");
	is_int(kernel_btf_offset(b, "other", "mm", &at), -ENOENT, "no such struct");
	kernel_btf_close(b);
	for (size = 0; size < sizeof(file) - 3; size++)
		n += open_bytes(size, &b) < 0;
	is_u64(n, size, "every file that ends early is refused");
	file.nameless_member[0] = (struct btf_member){ .type = 3 };
	file.task_member[0].type = 99;
	is_int(open_bytes(sizeof(file), &b), 0,
	       "a struct that contains itself, and a type that does not exist");
	is_int(kernel_btf_offset(b, "task", "mm", &at), -ENOENT, "  are skipped");
	kernel_btf_close(b);
	file.number.info = 31u << 24;
	is_int(open_bytes(sizeof(file), &b), -EINVAL, "an unknown kind");
	kernel_btf_close(NULL);
}

static void test_own(void)
{
	struct kernel_btf *b = NULL;
	uint32_t mm = 0, flags = 0;

	if (access(KERNEL_BTF_PATH, R_OK) < 0) {
		skip(3, "this kernel has no BTF");
		return;
	}
	is_int(kernel_btf_open(KERNEL_BTF_PATH, &b, NULL), 0, "the BTF of this kernel");
	is_int(kernel_btf_offset(b, "task_struct", "mm", &mm), 0, "  has what is needed of a task");
	is_int(kernel_btf_offset(b, "mm_struct", "flags", &flags), 0, "  and of its memory");
	diag("mm at %u, flags at %u", mm, flags);
	kernel_btf_close(b);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 99;
	test_small();
	test_own();
	scratch_clear(dir);
	(void)rmdir(dir);
	return done_testing();
}
