/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - a profile in memory: stacks and what each of them cost. The model is pprof's (profile_pprof.h reads and
 * writes it). Texts, mappings, functions, locations and stacks are stored once; a number is their place in an array.
 */
#ifndef CEEMS_PROFILE_H
#define CEEMS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

#define PROFILE_NONE UINT32_MAX	   /* no mapping */
#define PROFILE_DEPTH_MAX 4096u	   /* frames of a stack */
#define PROFILE_LABELS_MAX 32u	   /* of a stack */
#define PROFILE_TYPES_MAX 16u	   /* values of a stack */
#define PROFILE_LINES_MAX 256u	   /* functions inlined into one location */
#define PROFILE_TEXT_MAX (1u << 16) /* a longer text is cut */

/*
 * What our own profiles have beyond pprof's rules. Types: samples/count, cpu/nanoseconds and, if it was asked for,
 * off-cpu/nanoseconds. A location of the kernel has a mapping whose path is PROFILE_KERNEL.
 */
#define PROFILE_KERNEL "[kernel.kallsyms]"
#define PROFILE_LABEL_JOB "job"	      /* text, "5_3" */
#define PROFILE_LABEL_STEP "step"     /* text, "0", "batch" */
#define PROFILE_LABEL_NODE "node"     /* text */
#define PROFILE_LABEL_TASK "task"     /* number; none: no task's process */
#define PROFILE_LABEL_PID "pid"	      /* number */
#define PROFILE_LABEL_PROCESS "process" /* text: comm of the process */
#define PROFILE_LABEL_THREAD "thread" /* text: comm of the thread */
#define PROFILE_LABEL_STACK "stack"   /* text: how it ended; none: it was unwound whole */
#define PROFILE_STACK_CUT "cut"	      /* more frames than there was room for */
#define PROFILE_STACK_FAILED "failed" /* a caller was not found */
/* Comments "NAME=VALUE". */
#define PROFILE_NOTE_LOST "ceems.lost="	/* NODE:NUMBER, samples that are in no stack */
#define PROFILE_NOTE_LIMIT "ceems.limit=" /* NODE:TEXT, what was left out, and why */

struct profile_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

struct profile_mapping {
	const char *path, *build_id; /* hexadecimal; "" if there is none */
	uint64_t start, limit, offset; /* as in /proc/PID/maps */
	bool has_functions, has_files, has_lines, has_inlines;
};

struct profile_function {
	const char *name, *system_name; /* for people; as in the symbol table, or "" */
	const char *file;		/* "" if not known */
	int64_t start_line;
};

struct profile_line {
	uint32_t function;
	int64_t line; /* 0 if not known */
};

struct profile_location {
	uint32_t mapping; /* or PROFILE_NONE */
	uint64_t address; /* in the mapping's start to limit */
	const struct profile_line *line; /* the innermost inlined function first */
	size_t nlines;			 /* 0: the function is not known */
};

struct profile_label {
	const char *key;
	const char *text; /* NULL: it is a number */
	int64_t number;
	const char *unit; /* of a number; NULL or "" if it has none */
};

struct profile_sample {
	const uint32_t *location; /* the leaf first */
	size_t depth;
	int64_t *value; /* one of each type, 0 or more */
	const struct profile_label *label;
	size_t nlabels;
};

/* To be read by everybody and written by the functions below only. What it points to lives as long as it. */
struct profile {
	const struct profile_type *type;
	struct profile_mapping *mapping;
	struct profile_function *function;
	struct profile_location *location;
	struct profile_sample *sample;
	const char **comment;
	const char **text; /* every text above; the first is empty */
	size_t ntypes, nmappings, nfunctions, nlocations, nsamples, ncomments, ntexts;
	struct profile_type period_type; /* NULL, NULL: not known */
	int64_t period;
	int64_t time_ns, duration_ns; /* since 1970; 0: not known */
	struct profile_store *store;
};

/* An empty one, with TYPE[n], which are copied. -EINVAL: none or too many. */
int profile_create(const struct profile_type *type, size_t n, struct profile **ret);
void profile_destroy(struct profile *p);

int profile_set_period(struct profile *p, const char *type, const char *unit, int64_t period);
/* TEXT once. */
int profile_add_comment(struct profile *p, const char *text);

/*
 * Each finds what is there already or adds a copy, and gives its place. Texts that are not UTF-8 are stored escaped
 * (utf8.h). -EINVAL: a number in it is of nothing; -ERANGE: a limit above; -ENOMEM.
 *
 * A mapping of the same file part at another address is the same mapping: the address of a location in it is
 * profile_rebase() of the address there.
 */
int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret);
uint64_t profile_rebase(const struct profile *p, uint32_t mapping, uint64_t start, uint64_t address);
int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *ret);
/* The same address with other lines is another location. */
int profile_add_location(struct profile *p, const struct profile_location *l, uint32_t *ret);
/* Adds to the values of the sample with the same stack and labels in the same order, or makes one. */
int profile_add_sample(struct profile *p, const struct profile_sample *s);

/*
 * Adds FROM to INTO: samples, comments, and the time from the earliest start to the last end. Values go by type and unit;
 * what INTO has no type for is left out. After an error INTO is of no use but to be destroyed.
 */
int profile_merge(struct profile *into, const struct profile *from);

/* The label with that key, or NULL. */
const struct profile_label *profile_label(const struct profile_sample *s, const char *key);
/* The place of a text, whose pointer is from P, in its texts. */
uint32_t profile_text(const struct profile *p, const char *text);
/* The number of a type, or -1. */
int profile_find_type(const struct profile *p, const char *type, const char *unit);
bool profile_is_kernel(const struct profile *p, uint32_t location);

#endif
