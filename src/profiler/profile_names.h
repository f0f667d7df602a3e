/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_names.h - finds the functions of samples by the symbols of ELF files, for ceems-profile.
 * It does so during the job, because a login node may have other files under the same names. For
 * code without a file see profile_jit.h.
 */
#ifndef CEEMS_PROFILE_NAMES_H
#define CEEMS_PROFILE_NAMES_H

#include <stdint.h>

#include "src/libprofile/profile.h"
#include "src/libprofile/symbols.h"
#include "src/libutil/must_check.h"

struct profile_names;

/* Functions are stored in P, which is borrowed. Returns 0 or -ENOMEM. */
int profile_names_create(struct profile *p, struct profile_names **ret) _must_check_;
void profile_names_destroy(struct profile_names *n);

/*
 * Sets *RET to the symbols of the file of mapping MAPPING, as process PID sees the file, and
 * *RET_OFFSET to the offset of ADDRESS in the file. *RET is borrowed. It is NULL if there is no
 * file, it is gone or was replaced, or too many files are open. Returns 0 or -ENOMEM.
 */
int profile_names_open(struct profile_names *n, uint32_t pid, uint32_t mapping, uint64_t address,
		       struct symbols **ret, uint64_t *ret_offset) _must_check_;

/*
 * Finds the function at ADDRESS of mapping MAPPING. Returns 1 and sets *RET_FUNCTION; 0: no file as
 * above, or it has no name for ADDRESS; or an error of profile_add_function().
 */
int profile_names_find(struct profile_names *n, uint32_t pid, uint32_t mapping, uint64_t address,
		       uint32_t *ret_function) _must_check_;

#endif
