/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_names.h - finds the functions of samples, for ceems-profile, while the files of their processes are there: a login
 * node may have other files under the same names. Code without a file is profile_jit.h's.
 */
#ifndef CEEMS_PROFILE_NAMES_H
#define CEEMS_PROFILE_NAMES_H

#include <stdint.h>

#include "src/libprofile/profile.h"
#include "src/libprofile/symbols.h"

struct profile_names;

/* Functions are stored in P, which is borrowed. Returns 0 or -ENOMEM. */
int profile_names_create(struct profile *p, struct profile_names **ret);
void profile_names_destroy(struct profile_names *n);

/*
 * The file of the mapping MAPPING, opened once, as process PID sees it, and where ADDRESS is in it. *RET is borrowed; NULL:
 * it is no file, is gone, or was replaced. Returns 0 or -ENOMEM.
 */
int profile_names_open(struct profile_names *n, uint32_t pid, uint32_t mapping, uint64_t address, struct symbols **ret,
		       uint64_t *ret_offset);

/*
 * Finds the function at ADDRESS of the mapping MAPPING. Returns 1 and sets *RET_FUNCTION; 0: the file is gone, was replaced, or has no name for that address; or an error of
 * profile_add_function().
 */
int profile_names_find(struct profile_names *n, uint32_t pid, uint32_t mapping, uint64_t address,
		       uint32_t *ret_function);

#endif
