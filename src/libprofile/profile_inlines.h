/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_inlines.h - finds inlined functions: reads from the debug information of the files that ran, which
 * functions the compiler inlined at each location of a profile, and their source lines.
 */
#ifndef CEEMS_PROFILE_INLINES_H
#define CEEMS_PROFILE_INLINES_H

#include "src/libprofile/profile.h"
#include "src/libutil/must_check.h"

/*
 * Gives the locations of P their inlined functions. Unchanged are those in a file that this machine does not
 * have, or has with another build id, or without DWARF (gcc -g) for that code. *RET_FOUND gets the number of
 * locations that were found. Returns 0 or -errno. After an error P must be destroyed.
 */
int profile_add_inlines(struct profile *p, size_t *ret_found) _must_check_;

#endif
