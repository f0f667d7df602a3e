/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callers from synthetic rows and stacks: each kind of rule, on both architectures, and how a walk ends. */
#include "src/libprofile/unwind.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/util.h"
#include "tap.h"

#define STACK UINT64_C(0x7ffc00001000)
#define WORDS 16u
#define CODE UINT64_C(0x400000)
#define FUNCTION 0x100u /* bytes of each */
#define FUNCTIONS 8u

static const struct unwind_machine *machine;
static struct unwind_row row[FUNCTIONS];
static bool has_row[FUNCTIONS];
static uint64_t stack[WORDS], reg[UNWIND_REGISTERS_MAX];
static uint64_t chain[4];
static size_t nchain;
static uint64_t got[8];
static size_t ngot;
static enum unwind_end end;

static uint64_t code(unsigned int function, unsigned int at)
{
	return CODE + function * FUNCTION + at;
}

static int find(void *ctx, uint64_t pc, struct unwind_row *ret)
{
	const uint64_t n = (pc - CODE) / FUNCTION;

	(void)ctx;
	if (pc == code(FUNCTIONS, 0))
		return -ENOMEM;
	if (pc < CODE || n >= FUNCTIONS)
		return -ENOENT;
	*ret = row[n];
	return has_row[n];
}

/* The return address is stored below the CFA, and nothing else. */
static void set_row(unsigned int function, uint8_t cfa_reg, int32_t cfa_offset)
{
	has_row[function] = true;
	row[function] = (struct unwind_row){ .reg = cfa_reg,
					     .offset = cfa_offset,
					     .saved = { { .place = UNWIND_AT_CFA, .offset = -8 } } };
}

static void set_last(unsigned int function)
{
	has_row[function] = true;
	row[function] = (struct unwind_row){ .saved = { { .place = UNWIND_UNDEFINED } } };
}

static void set_reg(uint8_t number, uint64_t value)
{
	reg[machine->place[number]] = value;
}

static void begin(const struct unwind_machine *m)
{
	machine = m;
	memset(row, 0, sizeof(row));
	memset(has_row, 0, sizeof(has_row));
	memset(stack, 0, sizeof(stack));
	memset(reg, 0, sizeof(reg));
	nchain = 0;
	set_reg(m->sp, STACK);
	set_reg(m->pc, code(0, 0x10));
}

static int walk(size_t words, bool is_short)
{
	const struct unwind_sample s = {
		.machine = machine,
		.reg = reg,
		.stack = (const uint8_t *)stack,
		.size = words * sizeof(*stack),
		.is_short = is_short,
		.chain = chain,
		.nchain = nchain,
		.find = find,
	};

	return unwind_walk(&s, got, ARRAY_SIZE(got), &ngot, &end);
}

static void is_walk(size_t words, bool is_short, size_t n, enum unwind_end want, const char *what)
{
	const int rc = walk(words, is_short);

	if (!ok(rc == 0 && ngot == n && end == want, "%s", what))
		diag("rc %d, %zu frames, end %d", rc, ngot, (int)end);
}

static void test_plain(void)
{
	begin(&unwind_x86_64);
	set_row(0, 7, 16);
	set_row(1, 7, 24);
	row[1].saved[1] = (struct unwind_rule){ .place = UNWIND_AT_CFA, .offset = -16 };
	set_row(2, 6, 16);
	set_last(3);
	stack[1] = code(1, 0x20);
	stack[3] = STACK + 6 * 8; /* the frame pointer of function 2 */
	stack[4] = code(2, 0x30);
	stack[7] = code(3, 0x40);
	is_walk(WORDS, false, 4, UNWIND_WHOLE, "a stack to its end");
	ok(got[0] == code(0, 0x10) && got[1] == code(1, 0x1f) && got[3] == code(3, 0x3f),
	   "  callers are at their calls");
	is_walk(7, true, 3, UNWIND_CUT, "a copy that ends before the stack");
	is_walk(7, false, 3, UNWIND_FAILED, "a stack that ends there");
	is_walk(0, true, 1, UNWIND_CUT, "no copy");
	row[1].saved[1].place = UNWIND_UNDEFINED;
	is_walk(WORDS, false, 3, UNWIND_FAILED, "a register that was lost");
	stack[4] = UINT64_C(0x1234);
	is_walk(WORDS, false, 2, UNWIND_FAILED, "what is no code");
	stack[4] = 0;
	is_walk(WORDS, false, 2, UNWIND_WHOLE, "no return address: the outermost frame");
	row[0].saved[0].place = UNWIND_UNKNOWN;
	is_walk(WORDS, false, 1, UNWIND_FAILED, "a rule of another kind");
	stack[1] = code(FUNCTIONS, 1);
	set_row(0, 7, 16);
	is_int(walk(WORDS, false), -ENOMEM, "an error of who finds rows");
}

static void test_rules(void)
{
	begin(&unwind_x86_64);
	set_row(0, 6, -8); /* gcc's, of a function that aligns its stack */
	row[0].cfa = UNWIND_CFA_MEMORY;
	row[0].saved[1] = (struct unwind_rule){ .place = UNWIND_AT_REGISTER, .reg = 6, .offset = 0 };
	set_reg(6, STACK + 16);
	stack[1] = STACK + 5 * 8;
	stack[2] = STACK + 7 * 8;
	stack[4] = code(1, 0x20);
	set_row(1, 6, 8);
	stack[7] = code(2, 0x20);
	set_last(2);
	is_walk(WORDS, false, 3, UNWIND_WHOLE, "a CFA and a register that are stored elsewhere");
	set_row(0, 7, 8);
	row[0].cfa = UNWIND_CFA_PLT;
	row[0].more = 11;
	memset(stack, 0, sizeof(stack));
	stack[0] = code(2, 0x20);
	set_reg(16, code(0, 0x0a));
	is_walk(WORDS, false, 2, UNWIND_WHOLE, "the first part of a PLT's entry");
	stack[1] = stack[0];
	stack[0] = 1;
	set_reg(16, code(0, 0x0b));
	is_walk(WORDS, false, 2, UNWIND_WHOLE, "the second");
	set_row(0, 3, 8);
	set_reg(3, STACK + 8);
	is_walk(WORDS, false, 2, UNWIND_WHOLE, "a CFA in rbx");
	row[0].saved[0] = (struct unwind_rule){ .place = UNWIND_REGISTER, .reg = 1 };
	set_reg(1, code(2, 0x20));
	is_walk(WORDS, false, 2, UNWIND_WHOLE, "a return address in a register");
	row[0].saved[0] = (struct unwind_rule){ .place = UNWIND_CFA_PLUS, .offset = 0 };
	is_walk(WORDS, false, 1, UNWIND_FAILED, "a value that is no code");
	row[0].reg = 200;
	is_walk(WORDS, false, 1, UNWIND_FAILED, "a register that does not exist");
}

/* Where a signal comes, the interrupted place has made no call: it may be the first byte of its function. */
static void test_signal(void)
{
	begin(&unwind_x86_64);
	set_row(0, 7, 8);
	row[0].is_signal = true;
	stack[0] = code(1, 0);
	set_row(1, 7, 8);
	stack[1] = code(2, 0x20);
	set_last(2);
	is_walk(WORDS, false, 3, UNWIND_WHOLE, "a signal's frame");
	ok(got[1] == code(1, 0) && got[2] == code(2, 0x1f), "  and what it interrupted");
}

static void test_pointers(void)
{
	begin(&unwind_x86_64);
	set_reg(6, STACK + 8);
	stack[1] = STACK + 4 * 8;
	stack[2] = code(1, 0x20);
	stack[4] = 0;
	stack[5] = code(2, 0x20);
	is_walk(WORDS, false, 3, UNWIND_WHOLE, "code without rows, by its frame pointers");
	is_walk(5, true, 2, UNWIND_CUT, "  in a short copy");
	set_reg(6, STACK - 8);
	is_walk(WORDS, false, 1, UNWIND_FAILED, "a frame pointer below the stack");
	stack[1] = STACK + 8;
	set_reg(6, STACK + 8);
	is_walk(WORDS, false, 2, UNWIND_FAILED, "one that leads to itself");
	set_row(0, 7, 0);
	row[0].saved[0] = (struct unwind_rule){ .place = UNWIND_SAME };
	is_walk(WORDS, false, 1, UNWIND_FAILED, "its own caller");
	set_row(0, 7, 8);
	for (ngot = 0; ngot < WORDS; ngot++)
		stack[ngot] = code(0, 0x20);
	is_walk(WORDS, false, ARRAY_SIZE(got), UNWIND_CUT, "more frames than there is room for");
}

static void test_chain(void)
{
	begin(&unwind_x86_64);
	set_row(0, 7, 16);
	set_row(1, 7, 4096);
	set_last(3);
	stack[1] = code(1, 0x20);
	chain[0] = code(0, 0x10);
	chain[1] = code(1, 0x20);
	chain[2] = code(2, 0x30);
	chain[3] = code(3, 0x40);
	nchain = 4;
	is_walk(WORDS, true, 4, UNWIND_WHOLE, "behind the copy by the kernel's frame pointers");
	ok(got[2] == code(2, 0x2f) && got[3] == code(3, 0x3f), "  at their calls");
	nchain = 3;
	is_walk(WORDS, true, 3, UNWIND_CUT, "which are not whole either");
	chain[1] = code(2, 0x20);
	is_walk(WORDS, true, 2, UNWIND_CUT, "or lost the last frame");
}

static void test_arm64(void)
{
	begin(&unwind_arm64);
	set_row(0, 31, 0);
	row[0].saved[0] = (struct unwind_rule){ .place = UNWIND_SAME };
	set_reg(30, code(1, 0x20));
	set_row(1, 31, 32);
	row[1].saved[0] = (struct unwind_rule){ .place = UNWIND_AT_CFA, .offset = -24 };
	row[1].saved[1] = (struct unwind_rule){ .place = UNWIND_AT_CFA, .offset = -32 };
	stack[0] = STACK + 6 * 8;
	stack[1] = code(2, 0x30) | UINT64_C(0x25) << 48; /* signed */
	set_row(2, 29, 16);
	row[2].saved[0] = (struct unwind_rule){ .place = UNWIND_AT_CFA, .offset = -8 };
	stack[7] = code(3, 0x40);
	set_last(3);
	is_walk(WORDS, false, 4, UNWIND_WHOLE, "arm64: a leaf, a signed address, a frame pointer");
	is_u64(got[2], code(2, 0x2f), "  without its signature");
	row[1].saved[0] = (struct unwind_rule){ .place = UNWIND_SAME };
	is_walk(WORDS, false, 2, UNWIND_FAILED, "the link register of a caller is lost");
}

int main(void)
{
	test_plain();
	test_rules();
	test_signal();
	test_pointers();
	test_chain();
	test_arm64();
	return done_testing();
}
