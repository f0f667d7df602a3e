/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "src/libprofile/unwind.h"

#include <errno.h>
#include <string.h>

#include "src/libutil/util.h"

/*
 * Register numbers: System V ABI, AMD64 supplement, figure 3.36. The order in .place follows the
 * bits of asm/perf_regs.h.
 */
const struct unwind_machine unwind_x86_64 = {
	.sampled = 0xff01ff,
	.n = 17,
	.pc = 16,
	.sp = 7,
	.fp = 6,
	.link = 16,
	.saved = { 16, 6, 3 },
	.code_mask = UINT64_MAX,
	.place = { 0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8 },
};

/*
 * Register numbers: DWARF for the Arm 64-bit Architecture (AADWARF64). 32, the pc, is the number in
 * asm/perf_regs.h.
 */
const struct unwind_machine unwind_arm64 = {
	.sampled = (UINT64_C(1) << 33) - 1,
	.n = 33,
	.pc = 32,
	.sp = 31,
	.fp = 29,
	.link = 30,
	.saved = { 30, 29, 33 },
	.code_mask = (UINT64_C(1) << 48) - 1,
	.place = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
		   17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 },
};

const struct unwind_machine *unwind_host(void)
{
#if defined(__x86_64__) && defined(__LP64__)
	return &unwind_x86_64;
#elif defined(__aarch64__) && defined(__LP64__)
	return &unwind_arm64;
#else
	return NULL;
#endif
}

struct unwind_frame {
	uint64_t reg[UNWIND_REGISTERS_MAX];
	uint64_t known; /* one bit per register whose value is known */
};

/*
 * What a step to the caller found: the caller; the stack's end (WHOLE); the end of the copy (CUT);
 * or nothing.
 */
enum step { STEP_CALLER, STEP_WHOLE, STEP_CUT, STEP_FAILED };

static bool is_known(const struct unwind_frame *f, uint8_t reg)
{
	return reg < UNWIND_REGISTERS_MAX && f->known >> reg & 1;
}

static void set_reg(struct unwind_frame *f, uint8_t reg, uint64_t value)
{
	f->reg[reg] = value;
	f->known |= UINT64_C(1) << reg;
}

/* Loads the 8 bytes at ADDRESS from the copy of the stack. */
static enum step load_word(const struct unwind_sample *s, uint64_t address, uint64_t *ret)
{
	const uint64_t base = s->reg[s->machine->place[s->machine->sp]];
	const uint64_t at = address - base;

	if (address < base)
		return STEP_FAILED;
	if (s->size < sizeof(*ret) || at > s->size - sizeof(*ret))
		return s->is_short ? STEP_CUT : STEP_FAILED;
	memcpy(ret, s->stack + at, sizeof(*ret));
	return STEP_CALLER;
}

/* Sets *RET to the canonical frame address of frame F, by its row. */
static enum step find_cfa(const struct unwind_sample *s, const struct unwind_frame *f,
			  const struct unwind_row *row, uint64_t *ret)
{
	uint64_t at;
	enum step step = STEP_CALLER;

	if (!is_known(f, row->reg))
		return STEP_FAILED;
	at = f->reg[row->reg] + (uint64_t)(int64_t)row->offset;
	if (row->cfa == UNWIND_CFA_MEMORY) {
		step = load_word(s, at, &at);
		at += (uint64_t)(int64_t)row->more;
	} else if (row->cfa == UNWIND_CFA_PLT && (f->reg[s->machine->pc] & 15) >= (uint64_t)row->more) {
		at += 8;
	}
	*ret = at;
	return step;
}

/* Sets *RET to the caller's value of REG. STEP_WHOLE: the rule says there is no caller. */
static enum step find_saved(const struct unwind_sample *s, const struct unwind_frame *f, uint64_t cfa,
			    uint8_t reg, const struct unwind_rule *rule, uint64_t *ret)
{
	const uint64_t offset = (uint64_t)(int64_t)rule->offset;

	switch ((enum unwind_place)rule->place) {
	case UNWIND_SAME:
		*ret = f->reg[reg];
		return is_known(f, reg) ? STEP_CALLER : STEP_FAILED;
	case UNWIND_AT_CFA:
		return load_word(s, cfa + offset, ret);
	case UNWIND_AT_REGISTER:
		return is_known(f, rule->reg) ? load_word(s, f->reg[rule->reg] + offset, ret) : STEP_FAILED;
	case UNWIND_CFA_PLUS:
		*ret = cfa + offset;
		return STEP_CALLER;
	case UNWIND_REGISTER:
		*ret = f->reg[rule->reg % UNWIND_REGISTERS_MAX];
		return is_known(f, rule->reg) ? STEP_CALLER : STEP_FAILED;
	case UNWIND_UNDEFINED:
		return STEP_WHOLE;
	case UNWIND_UNKNOWN:
		break;
	}
	return STEP_FAILED;
}

static enum step step_by_row(const struct unwind_sample *s, struct unwind_frame *f,
			     const struct unwind_row *row)
{
	const struct unwind_machine *m = s->machine;
	struct unwind_frame caller = { .known = 0 };
	uint64_t cfa, value = 0;
	enum step step = row->saved[0].place == UNWIND_UNDEFINED ? STEP_WHOLE : find_cfa(s, f, row, &cfa);
	size_t i;

	if (step != STEP_CALLER)
		return step;
	for (i = 0; i < UNWIND_SAVED && m->saved[i] < m->n; i++) {
		step = find_saved(s, f, cfa, m->saved[i], &row->saved[i], &value);
		if (step == STEP_CALLER)
			set_reg(&caller, m->saved[i], value);
		else if (i == 0)
			return step;
	}
	set_reg(&caller, m->sp, cfa);
	set_reg(&caller, m->pc, caller.reg[m->saved[0]] & m->code_mask);
	if (caller.reg[m->sp] == f->reg[m->sp] && caller.reg[m->pc] == f->reg[m->pc])
		return STEP_FAILED; /* a frame that calls itself would be an endless loop */
	if (m->link != m->pc && !row->is_signal)
		caller.known &= ~(UINT64_C(1) << m->link); /* the caller's call has overwritten it */
	*f = caller;
	return STEP_CALLER;
}

/*
 * Steps to the caller by frame pointer: it points to the caller's frame pointer, followed by the
 * return address. It is 0 in the thread's first frame.
 */
static enum step step_by_pointer(const struct unwind_sample *s, struct unwind_frame *f)
{
	const struct unwind_machine *m = s->machine;
	const uint64_t at = f->reg[m->fp];
	struct unwind_frame caller = { .known = 0 };
	uint64_t fp, pc;
	enum step step;

	if (!is_known(f, m->fp))
		return STEP_FAILED;
	if (!at)
		return STEP_WHOLE;
	if (at < f->reg[m->sp])
		return STEP_FAILED;
	step = load_word(s, at, &fp);
	if (step == STEP_CALLER)
		step = load_word(s, at + sizeof(fp), &pc);
	if (step != STEP_CALLER)
		return step;
	set_reg(&caller, m->fp, fp);
	set_reg(&caller, m->sp, at + 2 * sizeof(fp));
	set_reg(&caller, m->pc, pc & m->code_mask);
	*f = caller;
	return STEP_CALLER;
}

/*
 * The copy of the stack ended at the frame of PC: goes on with the kernel's call chain, if PC is in
 * it. A call chain does not say whether it is whole. It is, if the row of its last address says
 * that there is no caller. Returns 0 or the error of FIND.
 */
static int follow_chain(const struct unwind_sample *s, uint64_t pc, uint64_t *ret, size_t max, size_t *n,
			enum unwind_end *ret_end)
{
	struct unwind_row row;
	size_t i = 0;
	int rc;

	while (i < s->nchain && (s->chain[i] & s->machine->code_mask) != pc)
		i++;
	if (i + 1 >= s->nchain)
		return 0;
	for (i++; i < s->nchain && *n < max; i++)
		ret[(*n)++] = (s->chain[i] & s->machine->code_mask) - 1;
	rc = s->find(s->ctx, ret[*n - 1], &row);
	if (rc == 1 && row.saved[0].place == UNWIND_UNDEFINED)
		*ret_end = UNWIND_WHOLE;
	return rc < 0 && rc != -ENOENT ? rc : 0;
}

/* Sets F to the registers of the sample. */
static void begin_walk(const struct unwind_sample *s, struct unwind_frame *f)
{
	const struct unwind_machine *m = s->machine;
	uint8_t i;

	*f = (struct unwind_frame){ .known = 0 };
	for (i = 0; i < m->n; i++)
		set_reg(f, i, s->reg[m->place[i]]);
}

int unwind_walk(const struct unwind_sample *s, uint64_t *ret, size_t max, size_t *ret_n,
		enum unwind_end *ret_end)
{
	const struct unwind_machine *m = s->machine;
	struct unwind_frame f;
	struct unwind_row row;
	enum step step = STEP_CALLER;
	uint64_t after_call = 0;
	size_t n = 0;
	int rc = 0;

	begin_walk(s, &f);
	while (step == STEP_CALLER && n < max) {
		const uint64_t pc = f.reg[m->pc];

		if (!pc && n) {
			step = STEP_WHOLE;
			break;
		}
		rc = s->find(s->ctx, pc - after_call, &row);
		if (rc == -ENOENT)
			step = STEP_FAILED;
		if (rc < 0)
			break;
		ret[n++] = pc - after_call;
		after_call = rc == 0 || !row.is_signal;
		step = rc ? step_by_row(s, &f, &row) : step_by_pointer(s, &f);
	}
	*ret_end = step == STEP_WHOLE ? UNWIND_WHOLE : step == STEP_FAILED ? UNWIND_FAILED : UNWIND_CUT;
	if (rc < 0 && rc != -ENOENT)
		return rc;
	rc = step == STEP_CUT ? follow_chain(s, f.reg[m->pc], ret, max, &n, ret_end) : 0;
	*ret_n = n;
	return rc;
}
