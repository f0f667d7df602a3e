/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_jit.h - finds names of code that a run-time compiler made (perf_map.h), for
 * ceems-profile. The file is /tmp/perf-PID.map below the process's root, with PID of the process's
 * own namespace. It must belong to the user, who also runs this code.
 */
#ifndef CEEMS_PROFILE_JIT_H
#define CEEMS_PROFILE_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libprofile/profile.h"
#include "src/libprofile/unwind.h"
#include "src/libutil/must_check.h"

struct profile_jit;

/* Functions will be added to P, which is borrowed. Returns 0 or -ENOMEM. */
int profile_jit_create(struct profile *p, struct profile_jit **ret) _must_check_;
void profile_jit_destroy(struct profile_jit *j);

/* Returns whether M is memory without a file, into which a run-time compiler may write code. */
bool profile_jit_is_made(const struct profile_mapping *m);

/*
 * Finds the function at ADDRESS of process PID. If none is known, reads the file again if it has
 * grown, at most once a second. Returns 1 and sets *RET_FUNCTION; 0: no function is known; or an
 * error of profile_add_function().
 */
int profile_jit_find(struct profile_jit *j, uint32_t pid, uint64_t address,
		     uint32_t *ret_function) _must_check_;

/*
 * Keeps LOCATION, which has no function, for profile_jit_name(): it is the code at ADDRESS of PID. A compiler
 * may write its file later, such as the JVM, which writes it at its end.
 */
void profile_jit_keep(struct profile_jit *j, uint32_t pid, uint64_t address, uint32_t location);
/* Gives the kept locations the functions that the files have by now. Returns 0 or an error as above. */
int profile_jit_name(struct profile_jit *j);
/*
 * Does the same for PID alone, then forgets all that is known of it. Call it when the process calls exec or
 * has ended: its file is found for as long as this was not called.
 */
int profile_jit_forget(struct profile_jit *j, uint32_t pid);

/*
 * Sets *RET to the row for the code at ADDRESS of PID, if the file says that it is CPython's
 * trampoline on x86-64, which keeps no frame pointer. The row is what the user's file claims: a
 * false claim spoils the user's own stacks only. Returns whether it is one.
 */
bool profile_jit_row(struct profile_jit *j, uint32_t pid, uint64_t address,
		     struct unwind_row *ret) _must_check_;

#endif
