/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_jit.h - names of code that a run-time compiler made (perf_map.h), for ceems-profile: /tmp/perf-PID.map in the
 * process's root, PID in its own namespace. As the user: a file that is not the user's is not read.
 */
#ifndef CEEMS_PROFILE_JIT_H
#define CEEMS_PROFILE_JIT_H

#include <stdint.h>

#include "src/libprofile/profile.h"

struct profile_jit;

/* Functions are stored in P, which is borrowed. -ENOMEM */
int profile_jit_create(struct profile *p, struct profile_jit **ret);
void profile_jit_destroy(struct profile_jit *j);

/*
 * The function at ADDRESS of process PID, as in profile_names_find(). A file that has grown is read again, at most once a
 * second.
 */
int profile_jit_find(struct profile_jit *j, uint32_t pid, uint64_t address, uint32_t *ret_function);

/* The process is another program now. */
void profile_jit_forget(struct profile_jit *j, uint32_t pid);

#endif
