/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offcpu_stacks.h - the stacks of offcpu.h. The kernel stores a stack at a place by its hash, keeps it there,
 * and does not store another one whose place is taken. So the stacks of a long step would fill the map. There
 * are two maps instead: the program uses that of the current generation. Once it is a quarter full, the other
 * one is emptied and becomes that of the next generation. What threads still wait with is copied out of it
 * first.
 */
#ifndef CEEMS_OFFCPU_STACKS_H
#define CEEMS_OFFCPU_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/profile/profile.h"

/* A stack: generation g is in map g % 2. ID below 0: the stack is not known. */
struct offcpu_stack {
	uint32_t generation;
	int32_t id;
};

struct offcpu_kept; /* a stack of an older generation */

struct offcpu_stacks {
	const int *map; /* two descriptors, borrowed */
	uint32_t generation;
	uint64_t seen[PROFILE_STACKS / 64]; /* bits of the ids of this generation that were read */
	size_t nseen;
	struct offcpu_kept *kept; /* in the order of their stacks */
	size_t nkept;
};

/* Frees what was kept. */
void offcpu_stacks_close(struct offcpu_stacks *s);

/* Reads the addresses of STACK, the innermost first. Returns how many; 0: it is not known. */
size_t offcpu_stacks_read(struct offcpu_stacks *s, const struct offcpu_stack *stack,
			  uint64_t address[PROFILE_DEPTH]);

/* Returns whether a new generation should begin. */
bool offcpu_stacks_is_due(const struct offcpu_stacks *s);
/*
 * Begins a new generation, which the program must be told. USED[n] are all stacks that will still be read;
 * their order is changed. Returns 0; or -ENOMEM: nothing has changed.
 */
int offcpu_stacks_renew(struct offcpu_stacks *s, struct offcpu_stack *used, size_t n);

#endif
