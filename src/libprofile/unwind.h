/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind.h - finds the callers of a sample from its registers and a copy of its stack, by the rows of .eh_frame that
 * symbols_unwind_row() has for each place of the code. Code without rows is taken to keep frame pointers. All that
 * it reads may be made up by a user: it reads the copy alone, and ends after as many frames as there is room for.
 */
#ifndef CEEMS_UNWIND_H
#define CEEMS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWIND_REGISTERS_MAX 33u /* numbers are DWARF's */
#define UNWIND_SAVED 3u

struct unwind_machine {
	uint64_t sampled; /* attr.sample_regs_user of perf_event_open(2) */
	uint8_t n; /* of registers */
	uint8_t pc, sp, fp;
	uint8_t link; /* has the return address of a function that saved none; PC: no such register */
	uint8_t saved[UNWIND_SAVED]; /* which rows tell of; the first has the return address, and N ends them */
	uint64_t code_mask; /* of addresses of code: arm64 signs some in their high bits */
	uint8_t place[UNWIND_REGISTERS_MAX]; /* of a register in a sample */
};

extern const struct unwind_machine unwind_x86_64, unwind_arm64;
/* This machine, or NULL if it is neither. */
const struct unwind_machine *unwind_host(void);

/* Where the canonical frame address (CFA) is, the stack pointer before the call. */
enum unwind_cfa {
	UNWIND_CFA_REGISTER, /* reg + offset */
	UNWIND_CFA_MEMORY,   /* what is stored at reg + offset, + more */
	UNWIND_CFA_PLT,	     /* reg + offset, + 8 from byte MORE of a 16-byte entry on */
};

/* Where a caller's register is. */
enum unwind_place {
	UNWIND_SAME,
	UNWIND_UNDEFINED, /* of the return address: there is no caller */
	UNWIND_AT_CFA,	  /* stored at CFA + offset */
	UNWIND_AT_REGISTER, /* stored at reg + offset */
	UNWIND_CFA_PLUS,  /* CFA + offset */
	UNWIND_REGISTER,  /* in reg */
	UNWIND_UNKNOWN,	  /* by a rule that is not supported */
};

struct unwind_rule {
	uint8_t place, reg;
	int32_t offset;
};

struct unwind_row {
	uint8_t cfa, reg;
	bool is_signal; /* the caller was interrupted and did not call */
	int32_t offset, more;
	struct unwind_rule saved[UNWIND_SAVED]; /* as in unwind_machine */
};

/*
 * The row of the code at PC. 1: *RET is set. 0: this code has none. -ENOENT: there is no code. -errno: the unwinding ends.
 */
typedef int unwind_find_fn(void *ctx, uint64_t pc, struct unwind_row *ret);

struct unwind_sample {
	const struct unwind_machine *machine;
	const uint64_t *reg; /* as the kernel stores them */
	const uint8_t *stack; /* a copy from the stack pointer on */
	size_t size;
	bool is_short; /* the copy ended before the stack */
	const uint64_t *chain; /* what the kernel found by frame pointers, to go on with where the copy ends */
	size_t nchain;
	unwind_find_fn *find;
	void *ctx;
};

enum unwind_end {
	UNWIND_WHOLE,  /* up to where the thread began */
	UNWIND_CUT,    /* the copy was too short, or there were more than MAX */
	UNWIND_FAILED, /* a caller was not found */
};

/*
 * RET[0] is where the sample was taken, RET[n] in the call instruction of its n-th caller. Returns 0, or what FIND
 * returned.
 */
int unwind_walk(const struct unwind_sample *s, uint64_t *ret, size_t max, size_t *ret_n, enum unwind_end *ret_end);

#endif
