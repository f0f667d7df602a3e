/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user's program or library, and behind it registers and a stack: rows are found or not, and a walk ends.
 * Libdw reads what is damaged, so this is also a test of libdw.
 */
#include <errno.h>

#include "src/libprofile/symbols.h"
#include "tests/fuzz/fuzz.h"

#define TAIL 768u /* registers, and the rest is the stack */
#define FRAMES 64u

/* libelf 0.188 loses 128 bytes of some damaged files */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libelf.so";
}

struct code {
	struct symbols *symbols;
	const struct unwind_machine *machine;
	unsigned int asked;
};

static int find(void *ctx, uint64_t pc, struct unwind_row *ret)
{
	struct code *c = ctx;

	assert(c->asked++ <= FRAMES + 1);
	if (pc >> 40)
		return -ENOENT;
	return symbols_unwind_row(c->symbols, c->machine, pc % 16384, ret);
}

static void walk(struct symbols *symbols, const struct unwind_machine *machine, const uint64_t *tail)
{
	struct code c = { symbols, machine, 0 };
	const uint64_t chain[] = { tail[0], tail[1] };
	const struct unwind_sample s = {
		.machine = machine,
		.reg = tail,
		.stack = (const uint8_t *)(tail + machine->n),
		.size = TAIL - machine->n * sizeof(*tail),
		.is_short = tail[0] & 1,
		.chain = chain,
		.nchain = 2,
		.find = find,
		.ctx = &c,
	};
	uint64_t ip[FRAMES];
	enum unwind_end end;
	size_t n;

	assert(unwind_walk(&s, ip, FRAMES, &n, &end) == 0);
	assert(n <= FRAMES && end <= UNWIND_FAILED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t tail_size = size < TAIL ? size : TAIL;
	uint64_t tail[TAIL / sizeof(uint64_t)] = { 0 };
	struct symbols *symbols = NULL;
	struct unwind_row row;
	struct errmsg err = { 0 };
	size_t at;
	int rc;

	memcpy(tail, data + size - tail_size, tail_size);
	rc = symbols_open_fd(fuzz_fd(data, size - tail_size), "", NULL, NULL, &symbols, &err);
	fuzz_check_error(rc, &err);
	if (rc < 0)
		return 0;
	for (at = 0; at < size; at += 16)
		(void)symbols_unwind_row(symbols, &unwind_x86_64, at, &row);
	walk(symbols, &unwind_x86_64, tail);
	walk(symbols, &unwind_arm64, tail);
	symbols_close(symbols);
	return 0;
}
