/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_writer.h - the writing half of ceems-profile, which runs as the user. It makes a profile
 * of the messages of the sampling half (profile_wire.h). It writes the whole file after 5 s, then
 * once a minute or less often, and at the end.
 */
#ifndef CEEMS_PROFILE_WRITER_H
#define CEEMS_PROFILE_WRITER_H

#include <stdint.h>

#include "src/profiler/profile_wire.h"
#include "src/libutil/errmsg.h"

struct profile_writer_setup {
	const char *dir, *file; /* FILE is without the suffix .pb.gz */
	const char *job, *step, *node;
	uint64_t size_max; /* bytes of the file; 0: no limit */
	uint32_t hz;
	const char *stacks; /* profile_request_stacks_name() */
	bool has_waits;	    /* samples have a third value, off-cpu/nanoseconds */
	int push_fd;	    /* socket for profile_push_part(), borrowed; below 0: nothing is pushed */
};

/*
 * Runs until the other half ends. Returns 0: the file is complete, or there is none as sampling did
 * not begin; else -errno, and ERR says why.
 */
int profile_writer_run(const struct profile_writer_setup *setup, struct wire *wire, struct errmsg *err);

#endif
