/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.h - a profile in memory: stacks, and the values of each stack. The model is pprof's
 * (profile_pprof.h reads and writes it). Equal texts, mappings, functions, locations and stacks are
 * stored once, and are referred to by their index in an array.
 */
#ifndef CEEMS_PROFILE_H
#define CEEMS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libutil/errmsg.h"

#define PROFILE_NONE UINT32_MAX	    /* no mapping */
#define PROFILE_DEPTH_MAX 4096u	    /* frames of a stack */
#define PROFILE_LABELS_MAX 32u	    /* of a stack */
#define PROFILE_TYPES_MAX 16u	    /* values of a stack */
#define PROFILE_LINES_MAX 256u	    /* functions inlined into one location */
#define PROFILE_TEXT_MAX (1u << 16) /* bytes; a longer text is cut */

/*
 * Conventions of the profiles that ceems writes. Types of values: samples/count, cpu/nanoseconds and, with
 * --ceems-profile=offcpu, PROFILE_WAITS/nanoseconds. A location in the kernel has a mapping whose path is
 * PROFILE_KERNEL. Samples have these labels:
 */
#define PROFILE_WAITS "off-cpu" /* time between a switch from a thread and the switch back */
#define PROFILE_KERNEL "[kernel.kallsyms]"
#define PROFILE_LABEL_JOB "job"		/* text, "5_3" */
#define PROFILE_LABEL_STEP "step"	/* text, "0", "batch" */
#define PROFILE_LABEL_NODE "node"	/* text */
#define PROFILE_LABEL_TASK "task"	/* number; absent: the process belongs to no task */
#define PROFILE_LABEL_PID "pid"		/* number */
#define PROFILE_LABEL_PROCESS "process" /* text: comm of the process */
#define PROFILE_LABEL_THREAD "thread"	/* text: comm of the thread */
#define PROFILE_LABEL_STACK "stack"	/* one of the next two; absent: the stack is whole */
#define PROFILE_STACK_CUT "cut"		/* outer frames are missing (UNWIND_CUT) */
#define PROFILE_STACK_FAILED "failed"	/* a caller was not found */
/* Begin of comments of the profile. */
#define PROFILE_NOTE_LOST "ceems.lost="	  /* then NODE:NUMBER, the number of lost samples */
#define PROFILE_NOTE_LIMIT "ceems.limit=" /* then NODE:TEXT, what was left out, and why */

struct profile_type {
	const char *type, *unit; /* "cpu", "nanoseconds" */
};

struct profile_mapping {
	const char *path, *build_id;   /* hexadecimal; "" if there is none */
	uint64_t start, limit, offset; /* as in /proc/PID/maps */
	bool has_functions, has_files, has_lines, has_inlines;
};

struct profile_function {
	const char *name, *system_name; /* demangled; as in the symbol table, or "" */
	const char *file;		/* "" if not known */
	int64_t start_line;
};

struct profile_line {
	uint32_t function; /* index */
	int64_t line;	   /* 0 if not known */
};

struct profile_location {
	uint32_t mapping;		 /* index, or PROFILE_NONE */
	uint64_t address;		 /* between the mapping's start and limit */
	const struct profile_line *line; /* the innermost inlined function first */
	size_t nlines;			 /* 0: the function is unknown */
};

struct profile_label {
	const char *key;
	const char *text; /* NULL: the label is a number */
	int64_t number;
	const char *unit; /* of NUMBER; NULL or "": none */
};

struct profile_sample {
	const uint32_t *location; /* indexes, the innermost frame first */
	size_t depth;
	int64_t *value; /* one per type, none negative */
	const struct profile_label *label;
	size_t nlabels;
};

/*
 * Read it directly, but change it only by the functions below. All that it points to lives as long
 * as the profile.
 */
struct profile {
	const struct profile_type *type;
	struct profile_mapping *mapping;
	struct profile_function *function;
	struct profile_location *location;
	struct profile_sample *sample;
	const char **comment;
	const char **text; /* all texts of the profile; the first is empty */
	size_t ntypes, nmappings, nfunctions, nlocations, nsamples, ncomments, ntexts;
	struct profile_type period_type; /* both NULL: not known */
	int64_t period;			 /* between two samples, in the unit of PERIOD_TYPE */
	int64_t time_ns, duration_ns;	 /* begin since 1970, and length; 0: not known */
	struct profile_store *store;
};

/*
 * Makes an empty profile with copies of the value types TYPE[n]. Returns 0; -EINVAL: N is 0 or
 * above PROFILE_TYPES_MAX; or -ENOMEM.
 */
int profile_create(const struct profile_type *type, size_t n, struct profile **ret) _must_check_;
void profile_destroy(struct profile *p);

/* Returns 0 or -errno. */
int profile_set_period(struct profile *p, const char *type, const char *unit, int64_t period);
/* Adds TEXT, unless P has this comment already. Returns 0 or -errno. */
int profile_add_comment(struct profile *p, const char *text);

/*
 * These add a copy, unless P has an equal one, and set *RET to its index. Texts that are not UTF-8
 * are stored escaped (utf8.h). Return 0; -EINVAL: an index in it is out of range, a value is
 * negative, or a mapping ends before its start; -ERANGE: a limit above is exceeded; or -ENOMEM.
 *
 * A mapping of the same part of a file at another address counts as equal. profile_rebase()
 * converts an ADDRESS in a mapping that begins at START to the address in the stored mapping
 * MAPPING.
 */
int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret) _must_check_;
/*
 * Finds the mapping that profile_add_mapping() would return, and adds nothing.
 * -ENOENT: it would be a new one.
 */
int profile_find_mapping(const struct profile *p, const struct profile_mapping *m,
			 uint32_t *ret) _must_check_;
uint64_t profile_rebase(const struct profile *p, uint32_t mapping, uint64_t start, uint64_t address);
int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *ret) _must_check_;
/* Locations with the same address but other lines are not equal. */
int profile_add_location(struct profile *p, const struct profile_location *l, uint32_t *ret) _must_check_;
/*
 * Gives the location with index LOCATION the lines LINE[n], instead of those that it has. Returns 0; -EINVAL:
 * an index in them is out of range; -ERANGE: N is above PROFILE_LINES_MAX; or -ENOMEM.
 */
int profile_set_lines(struct profile *p, uint32_t location, const struct profile_line *line, size_t n);
/*
 * Adds the values of S to the sample with the same stack, and the same labels in the same order. If
 * there is none, adds S.
 */
int profile_add_sample(struct profile *p, const struct profile_sample *s);

/*
 * Adds samples and comments of FROM to INTO, and extends INTO's time to the earlier begin and the
 * later end. Values are matched by type and unit; types that INTO lacks are left out. Returns 0 or
 * -errno. After an error INTO must be destroyed.
 */
int profile_merge(struct profile *into, const struct profile *from);

/*
 * Adds to INTO, which has the same types, what the samples of FROM have more than SEEN says: the values of
 * FROM's first NSEEN samples, one after the other, as they were at an earlier time. Labels and comments are
 * left out. Returns 0 or -errno. After an error INTO must be destroyed.
 */
int profile_merge_since(struct profile *into, const struct profile *from, const int64_t *seen, size_t nseen);

/* Returns the label KEY of S, or NULL. */
const struct profile_label *profile_label(const struct profile_sample *s, const char *key);
/* Returns the index of TEXT in P's texts; TEXT must be one of them. */
uint32_t profile_text(const struct profile *p, const char *text);
/* Returns the index of the value type, or -1. */
int profile_find_type(const struct profile *p, const char *type, const char *unit);
/* Returns whether the location with index LOCATION is in the kernel. */
bool profile_is_kernel(const struct profile *p, uint32_t location);

#endif
