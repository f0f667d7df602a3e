/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flame.h - joins profiles to one tree of functions: the parent of a function is its caller. A tree
 * has two sides: FLAME_THIS, and FLAME_OTHER for profiles to compare with.
 */
#ifndef CEEMS_FLAME_H
#define CEEMS_FLAME_H

#include <stdio.h>

#include "src/libprofile/profile.h"
#include "src/libutil/must_check.h"

/* Selects samples by the texts of their labels. NULL: any text. */
struct flame_filter {
	const char *node, *thread, *process;
	bool has_task; /* only samples of task TASK */
	int64_t task;
	bool hides_kernel; /* remove kernel frames: their cost counts for the caller */
};
/*
 * Removes all other samples from P. Add nothing to P afterwards, because P's search index is wrong
 * then.
 */
void flame_filter(struct profile *p, const struct flame_filter *filter);

enum flame_kind {
	FLAME_USER,
	FLAME_KERNEL,
	FLAME_PROCESS, /* not a function: the name of the process, below the root */
	FLAME_UNKNOWN, /* the function is unknown; the name is its file's, or "[unknown]" */
};

enum flame_side {
	FLAME_THIS,
	FLAME_OTHER,
	FLAME_SIDES,
};

struct flame_name {
	const char *text;
	enum flame_kind kind;
	double self[FLAME_SIDES], total[FLAME_SIDES]; /* by flame_finish(); recursion counts once */
};

struct flame_frame {
	uint32_t name;		      /* index in flame.name; the root frame has none */
	uint32_t parent, child, next; /* CHILD is the first child, NEXT the next sibling; FLAME_ROOT: none */
	double self[FLAME_SIDES], total[FLAME_SIDES];
};

#define FLAME_ROOT 0u
#define FLAME_FRAMES_MAX ((size_t)4 << 20)

/* Read only. FRAME[FLAME_ROOT] is the root, whose total is the whole profile's. */
struct flame {
	struct flame_frame *frame;
	struct flame_name *name;
	size_t nframes, nnames;
	double whole[FLAME_SIDES], cut[FLAME_SIDES], failed[FLAME_SIDES]; /* parts of the total */
	uint64_t samples[FLAME_SIDES]; /* sum of samples/count; the number of stacks if a profile lacks it */
	struct flame_store *store;
};

/* NULL: out of memory. */
struct flame *flame_create(void);
void flame_destroy(struct flame *f);
/*
 * Adds the samples of P to SIDE, with their values of type number TYPE times SCALE. Returns 0;
 * -ENOMEM; or -EFBIG: more than FLAME_FRAMES_MAX frames.
 */
int flame_add(struct flame *f, const struct profile *p, size_t type, double scale, enum flame_side side);
/*
 * Computes the totals, and links children in the order of their names. Call it once, after the last
 * flame_add(). Returns 0 or -ENOMEM.
 */
int flame_finish(struct flame *f);

/* Returns VALUE[SIDE], of a frame or a name, as a share of the side's total: 0 to 1. */
double flame_share(const struct flame *f, const double value[FLAME_SIDES], enum flame_side side);
/*
 * Orders the names of F by SELF, the value of the function's own samples, the largest first. With
 * IS_DIFFERENCE, orders them by how much SELF's share changed between the two sides. *RET gets the
 * indexes of the NNAMES names; the caller frees it. Returns 0 or -ENOMEM.
 */
int flame_top(const struct flame *f, bool is_difference, uint32_t **ret) _must_check_;

#endif
