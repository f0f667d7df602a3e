/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_unwind.h - finds the callers of samples by the .eh_frame of their files, for ceems-profile. As the user: what it
 * reads is the user's.
 */
#ifndef CEEMS_PROFILE_UNWIND_H
#define CEEMS_PROFILE_UNWIND_H

#include "src/helpers/profile_maps.h"
#include "src/helpers/profile_names.h"
#include "src/libprofile/unwind.h"

struct profile_unwind;

/* Both are borrowed. -ENOMEM */
int profile_unwind_create(struct profile_maps *maps, struct profile_names *names, struct profile_unwind **ret);
void profile_unwind_destroy(struct profile_unwind *u);

/*
 * The user's addresses of a sample, as unwind_walk() gives them. What has no copy of its stack is as the kernel found it by
 * frame pointers. Returns 0 or -ENOMEM.
 */
int profile_unwind_sample(struct profile_unwind *u, const struct stacks_record *r, uint64_t *ret, size_t max,
			  size_t *ret_n, enum unwind_end *ret_end);

#endif
