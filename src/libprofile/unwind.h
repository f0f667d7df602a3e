/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind.h - finds the callers of a sample from its registers and a copy of its stack. The rows of
 * .eh_frame say how (symbols_unwind_row()). Code without rows is assumed to keep frame pointers. A
 * user may forge stack and rows. So memory is read from the copy alone, and a walk ends when RET is
 * full.
 */
#ifndef CEEMS_UNWIND_H
#define CEEMS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/must_check.h"

#define UNWIND_REGISTERS_MAX 33u /* register numbers below are DWARF's */
#define UNWIND_SAVED 3u		 /* registers that are followed from frame to frame */

struct unwind_machine {
	uint64_t sampled; /* value for attr.sample_regs_user of perf_event_open(2) */
	uint8_t n;	  /* number of registers */
	uint8_t pc, sp, fp;
	uint8_t link; /* register that a call writes the return address to; same as PC: the CPU has none */
	uint8_t saved[UNWIND_SAVED]; /* what a row describes: return address first; N: unused */
	uint64_t code_mask;	     /* bits of a code address; arm64 keeps a signature in the others */
	uint8_t place[UNWIND_REGISTERS_MAX]; /* place[r]: index of register r in a sample's registers */
};

extern const struct unwind_machine unwind_x86_64, unwind_arm64;
/* Returns the machine we run on. NULL: neither of the two. */
const struct unwind_machine *unwind_host(void);

/* How a row computes the canonical frame address (CFA): the caller's stack pointer before the call. */
enum unwind_cfa {
	UNWIND_CFA_REGISTER, /* reg + offset */
	UNWIND_CFA_MEMORY,   /* the word stored at reg + offset, plus more */
	UNWIND_CFA_PLT,	     /* reg + offset, plus 8 if (pc & 15) >= more */
};

/* Where to find the caller's value of a register. */
enum unwind_place {
	UNWIND_SAME,	    /* in the same register */
	UNWIND_UNDEFINED,   /* nowhere; for the return address this means: there is no caller */
	UNWIND_AT_CFA,	    /* stored at CFA + offset */
	UNWIND_AT_REGISTER, /* stored at reg + offset */
	UNWIND_CFA_PLUS,    /* the value is CFA + offset */
	UNWIND_REGISTER,    /* in register reg */
	UNWIND_UNKNOWN,	    /* the rule is not supported */
};

struct unwind_rule {
	uint8_t place, reg;
	int32_t offset;
};

struct unwind_row {
	uint8_t cfa, reg;
	bool is_signal; /* the caller did not call, but was interrupted by a signal */
	int32_t offset, more;
	struct unwind_rule saved[UNWIND_SAVED]; /* for the registers in unwind_machine.saved */
};

/*
 * Finds the row of the code at PC. Returns 1 and sets *RET; 0: the code has no row; -ENOENT: PC is
 * not in code; another -errno: ends the walk with this error.
 */
typedef int unwind_find_fn(void *ctx, uint64_t pc, struct unwind_row *ret);

struct unwind_sample {
	const struct unwind_machine *machine;
	const uint64_t *reg;  /* registers in the kernel's order, unwind_machine.place */
	const uint8_t *stack; /* copy of the stack, from the stack pointer up */
	size_t size;
	bool is_short;	       /* the stack is longer than its copy */
	const uint64_t *chain; /* the kernel's call chain, used where the copy ends */
	size_t nchain;
	unwind_find_fn *find;
	void *ctx;
};

enum unwind_end {
	UNWIND_WHOLE,  /* all callers, up to the thread's first function */
	UNWIND_CUT,    /* callers are missing: the copy was too short, or RET is full */
	UNWIND_FAILED, /* a caller was not found */
};

/*
 * Walks the stack of S. RET[0] is the sampled address; RET[i] is the last byte of the call
 * instruction in its i-th caller. At most MAX. Returns 0, or an error of FIND other than -ENOENT.
 */
int unwind_walk(const struct unwind_sample *s, uint64_t *ret, size_t max, size_t *ret_n,
		enum unwind_end *ret_end) _must_check_;

#endif
