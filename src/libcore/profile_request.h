/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_request.h - parses the value of --ceems-profile:
 * "[HZ][,user|kernel|both][,offcpu][,cycles][,maps]". srun, sbatch and salloc parse it to refuse mistakes,
 * slurmstepd to act on it.
 */
#ifndef CEEMS_PROFILE_REQUEST_H
#define CEEMS_PROFILE_REQUEST_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

#define PROFILE_REQUEST_HZ_MAX 999
/* odd, so that a program with a period of 10 ms is not always sampled at the same point */
#define PROFILE_REQUEST_HZ_DEFAULT 99

enum profile_stack {
	PROFILE_REQUEST_USER = 1 << 0,
	PROFILE_REQUEST_KERNEL = 1 << 1,
	PROFILE_REQUEST_OFFCPU = 1 << 2, /* also where threads wait */
	/* run-time compilers shall write the names of their code (spank_maps.h) */
	PROFILE_REQUEST_MAPS = 1 << 3,
	PROFILE_REQUEST_CYCLES = 1 << 4, /* sampled by the PMU's cycles, not by the CPU clock */
};

/* A plain value, as stored in the ledger. All zero: nothing is asked for. */
struct profile_request {
	uint32_t hz;
	/* enum profile_stack: which stacks are recorded; samples are taken in both modes */
	uint32_t stacks;
};

/*
 * Parses TEXT; "" means "99,user". Words may be in any order and case. -EINVAL: ERR has the reason.
 */
int profile_request_parse(const char *text, struct profile_request *ret, struct errmsg *err) _must_check_;

/*
 * Returns "user", "kernel" or "both", with ",offcpu" behind it if STACKS has that; "none" for another value.
 * Ignores PROFILE_REQUEST_MAPS and PROFILE_REQUEST_CYCLES, which say nothing about stacks.
 */
const char *profile_request_stacks_name(uint32_t stacks);

#endif
