/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbols_unwind.c - symbols_unwind_row(): finds rows of .eh_frame.
 *
 * Each row is looked up when needed, by libdw and the file's index (.eh_frame_hdr). A table of all
 * rows of a large library would take a second of the job's time, and a job runs few of the
 * functions.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "src/libprofile/symbols_internal.h"
#include "src/libutil/util.h"

/* Bytes. libdw reads the whole file if it has no table of sections, so such a file must be small. */
#define BARE_FILE_MAX ((off_t)64 << 20)

static bool is_small(const struct elf_object *o)
{
	struct stat st;

	return o->fd < 0 || (fstat(o->fd, &st) == 0 && st.st_size <= BARE_FILE_MAX);
}

static Dwarf_CFI *open_cfi(struct symbols *s)
{
	GElf_Shdr header;

	if (!s->cfi_tried) {
		s->cfi_tried = true;
		if (elf_find_section(s->file.elf, 0, ".eh_frame", &header) ? header.sh_size <= TABLE_MAX :
									     is_small(&s->file))
			s->cfi = dwarf_getcfi_elf(s->file.elf);
	}
	return s->cfi;
}

void symbols_close_unwind(struct symbols *s)
{
	if (s->cfi)
		(void)dwarf_cfi_end(s->cfi);
	s->cfi = NULL;
}

/* Sets *RET to FROM as a signed number. False: more than 32 bits. */
static bool take_offset(Dwarf_Word from, int32_t *ret)
{
	const int64_t offset = (int64_t)from;

	*ret = (int32_t)offset;
	return offset >= INT32_MIN && offset <= INT32_MAX;
}

/* Reads "register + offset": DW_OP_breg0 to DW_OP_breg31, or DW_OP_bregx. False: another operation. */
static bool take_base(const Dwarf_Op *op, uint8_t *ret_reg, int32_t *ret_offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*ret_reg = (uint8_t)(op->atom - DW_OP_breg0);
		return take_offset(op->number, ret_offset);
	}
	*ret_reg = (uint8_t)op->number;
	return op->atom == DW_OP_bregx && op->number < UNWIND_REGISTERS_MAX &&
	       take_offset(op->number2, ret_offset);
}

/*
 * Returns whether OP[n] is the CFA that ld writes for a PLT: rsp + 8 + ((rip & 15) >= 11) * 8. The
 * 11 may differ.
 */
static bool is_plt(const Dwarf_Op *op, size_t n)
{
	static const uint8_t rest[] = {
		DW_OP_lit15, DW_OP_and, 0, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus
	};
	size_t i;

	if (n != 2 + ARRAY_SIZE(rest) || op[1].atom != DW_OP_breg16 || op[1].number)
		return false;
	for (i = 0; i < ARRAY_SIZE(rest); i++)
		if (rest[i] ? op[2 + i].atom != rest[i] :
			      op[2 + i].atom < DW_OP_lit0 || op[2 + i].atom > DW_OP_lit15)
			return false;
	return true;
}

/* Reads the CFA's expression OP[n] to ROW. False: of a kind that enum unwind_cfa lacks. */
static bool take_cfa(const Dwarf_Op *op, size_t n, struct unwind_row *row)
{
	if (!n || !take_base(&op[0], &row->reg, &row->offset))
		return false;
	row->cfa = UNWIND_CFA_REGISTER;
	if (n == 1)
		return true;
	if (is_plt(op, n)) {
		row->cfa = UNWIND_CFA_PLT;
		row->more = op[4].atom - DW_OP_lit0;
		return true;
	}
	row->cfa = UNWIND_CFA_MEMORY;
	return op[1].atom == DW_OP_deref && (n == 2 || (n == 3 && op[2].atom == DW_OP_plus_uconst &&
							take_offset(op[2].number, &row->more)));
}

/*
 * Reads the expression of dwarf_frame_register() to RULE. It gives the address of the saved value;
 * with DW_OP_stack_value at its end, the value itself. False: not supported.
 */
static bool take_place(const Dwarf_Op *op, size_t n, struct unwind_rule *rule)
{
	const bool is_value = n > 1 && op[n - 1].atom == DW_OP_stack_value;

	n -= is_value;
	if (n == 1 && !is_value && op[0].atom >= DW_OP_reg0 && op[0].atom <= DW_OP_reg31) {
		rule->place = UNWIND_REGISTER;
		rule->reg = (uint8_t)(op[0].atom - DW_OP_reg0);
		return true;
	}
	if (n == 1 && !is_value && op[0].atom == DW_OP_regx) {
		rule->place = UNWIND_REGISTER;
		rule->reg = (uint8_t)op[0].number;
		return op[0].number < UNWIND_REGISTERS_MAX;
	}
	if (op[0].atom != DW_OP_call_frame_cfa)
		return false;
	/* libdw puts the CFA before every expression, also before one that does not use it */
	if (n == 2 && !is_value && take_base(&op[1], &rule->reg, &rule->offset)) {
		rule->place = UNWIND_AT_REGISTER;
		return true;
	}
	rule->place = is_value ? UNWIND_CFA_PLUS : UNWIND_AT_CFA;
	return n == 1 ||
	       (n == 2 && op[1].atom == DW_OP_plus_uconst && take_offset(op[1].number, &rule->offset));
}

static struct unwind_rule saved_rule(Dwarf_Frame *frame, uint8_t reg)
{
	struct unwind_rule rule = { .place = UNWIND_UNKNOWN }, found = { 0 };
	Dwarf_Op memory[3], *op;
	size_t n;

	if (dwarf_frame_register(frame, reg, memory, &op, &n) < 0)
		return rule;
	if (n == 0)
		rule.place = op ? UNWIND_UNDEFINED : UNWIND_SAME;
	else if (take_place(op, n, &found))
		rule = found;
	return rule;
}

/* Sets *ROW to the rules in FRAME. False: the CFA's rule is not supported, or damaged. */
static bool take_row(const struct unwind_machine *m, Dwarf_Frame *frame, struct unwind_row *row)
{
	Dwarf_Op *op = NULL;
	size_t n = 0, i;
	bool is_signal = false;

	*row = (struct unwind_row){ 0 };
	(void)dwarf_frame_info(frame, NULL, NULL, &is_signal);
	row->is_signal = is_signal;
	for (i = 0; i < UNWIND_SAVED && m->saved[i] < m->n; i++)
		row->saved[i] = saved_rule(frame, m->saved[i]);
	if (row->saved[0].place == UNWIND_UNDEFINED)
		return true;
	return dwarf_frame_cfa(frame, &op, &n) == 0 && take_cfa(op, n, row);
}

bool symbols_unwind_row(struct symbols *s, const struct unwind_machine *machine, uint64_t offset,
			struct unwind_row *ret)
{
	Dwarf_CFI *cfi = open_cfi(s);
	_cleanup_free_ Dwarf_Frame *frame = NULL;
	uint64_t address;

	return cfi && symbols_address(s, offset, &address) &&
	       dwarf_cfi_addrframe(cfi, address, &frame) == 0 && take_row(machine, frame, ret);
}
