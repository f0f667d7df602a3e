/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flame.h - profiles as a tree of functions by caller, for a drawing, a table or a text; and a second one beside it to
 * compare with.
 */
#ifndef CEEMS_FLAME_H
#define CEEMS_FLAME_H

#include <stdio.h>

#include "src/libprofile/profile.h"

/* Which samples of a profile. NULL: all. */
struct flame_filter {
	const char *node, *thread, *process;
	bool has_task;
	int64_t task;
	bool hides_kernel; /* what the kernel did counts for the function that asked for it */
};
/* Leaves in P what FILTER takes. Nothing is to be added to P then. */
void flame_filter(struct profile *p, const struct flame_filter *filter);

enum flame_kind {
	FLAME_USER,
	FLAME_KERNEL,
	FLAME_PROCESS, /* the first frame: the process's name */
	FLAME_UNKNOWN, /* the name is that of the file, or none is known */
};

enum flame_side {
	FLAME_THIS,
	FLAME_OTHER,
	FLAME_SIDES,
};

struct flame_name {
	const char *text;
	enum flame_kind kind;
	double self[FLAME_SIDES], total[FLAME_SIDES]; /* flame_finish(); of a recursive function the outermost counts */
};

struct flame_frame {
	uint32_t name; /* FLAME_ROOT: none */
	uint32_t parent, child, next; /* the first child and the next of the same parent; FLAME_ROOT: none */
	double self[FLAME_SIDES], total[FLAME_SIDES];
};

#define FLAME_ROOT 0u
#define FLAME_FRAMES_MAX ((size_t)4 << 20)

/* To be read by everybody. FRAME[FLAME_ROOT] is the whole. */
struct flame {
	struct flame_frame *frame;
	struct flame_name *name;
	size_t nframes, nnames;
	double whole[FLAME_SIDES], cut[FLAME_SIDES], failed[FLAME_SIDES]; /* of the total, how the stacks ended */
	uint64_t samples[FLAME_SIDES]; /* by samples/count, or the number of stacks */
	struct flame_store *store;
};

/* NULL: out of memory. */
struct flame *flame_create(void);
void flame_destroy(struct flame *f);
/* Adds P with the values of its type, each times SCALE. -ENOMEM; -EFBIG: more than FLAME_FRAMES_MAX. */
int flame_add(struct flame *f, const struct profile *p, size_t type, double scale, enum flame_side side);
/* To be called once, after the last flame_add(): sums, and the frames of each parent by name. -ENOMEM. */
int flame_finish(struct flame *f);

/* The share of a frame or name in the whole of its side, 0 to 1. */
double flame_share(const struct flame *f, const double value[FLAME_SIDES], enum flame_side side);
/* The names by self, the largest first; with IS_DIFFERENCE by how much their share changed. *RET is malloc'ed. -ENOMEM. */
int flame_top(const struct flame *f, bool is_difference, uint32_t **ret);

#endif
