/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_unwind.h - finds the callers of samples by .eh_frame of the mapped files, and of Python's
 * trampolines by their shape, for ceems-profile. It must run as the user, because it reads the user's files.
 */
#ifndef CEEMS_PROFILE_UNWIND_H
#define CEEMS_PROFILE_UNWIND_H

#include "src/libutil/must_check.h"
#include "src/profiler/profile_jit.h"
#include "src/profiler/profile_maps.h"
#include "src/profiler/profile_names.h"
#include "src/libprofile/unwind.h"

struct profile_unwind;

/* P and the others, which are of P, are borrowed. Returns 0 or -ENOMEM. */
int profile_unwind_create(const struct profile *p, struct profile_maps *maps, struct profile_names *names,
			  struct profile_jit *jit, struct profile_unwind **ret) _must_check_;
void profile_unwind_destroy(struct profile_unwind *u);

/*
 * Sets RET to the user-space addresses of sample R, as unwind_walk() does. If R has no copy of its
 * stack, takes them from the kernel's call chain, which follows frame pointers. Returns 0 or
 * -ENOMEM.
 */
int profile_unwind_sample(struct profile_unwind *u, const struct stacks_record *r, uint64_t *ret, size_t max,
			  size_t *ret_n, enum unwind_end *ret_end) _must_check_;

#endif
