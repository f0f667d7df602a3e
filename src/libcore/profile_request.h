/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_request.h - what --ceems-profile asks for: "[HZ][,user|kernel|both]". Parsed in srun, sbatch and
 * salloc to refuse mistakes, and in slurmstepd to act on it.
 */
#ifndef CEEMS_PROFILE_REQUEST_H
#define CEEMS_PROFILE_REQUEST_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

#define PROFILE_REQUEST_HZ_MAX 999
#define PROFILE_REQUEST_HZ_DEFAULT 99 /* odd: a program that works every 10 ms is not always met in the same place */

enum profile_stack {
	PROFILE_REQUEST_USER = 1 << 0,
	PROFILE_REQUEST_KERNEL = 1 << 1,
};

/* A plain value, as it is in the ledger's slots. Zeroed: nothing was asked for. */
struct profile_request {
	uint32_t hz;
	uint32_t stacks; /* enum profile_stack: which part of a stack is recorded; samples are of both modes */
};

/* TEXT as given: "" is "99,user". Words in any order and case. -EINVAL, with the reason in ERR. */
int profile_request_parse(const char *text, struct profile_request *ret, struct errmsg *err);

/* "user", "kernel", "both" */
const char *profile_request_stacks_name(uint32_t stacks);

#endif
