/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_writer.h - the half of ceems-profile that is the user: it makes a profile of the messages of the other half
 * (profile_wire.h) and writes the file, whole each time: a minute after the last, and at the end.
 */
#ifndef CEEMS_PROFILE_WRITER_H
#define CEEMS_PROFILE_WRITER_H

#include <stdint.h>

#include "src/helpers/profile_wire.h"
#include "src/libutil/errmsg.h"

struct profile_writer_setup {
	const char *dir, *file; /* FILE without its suffix */
	const char *job, *step, *node;
	uint64_t size_max;
	uint32_t hz;
	const char *stacks; /* "user", "kernel", "both" */
};

/* Until the other half ends. 0: the file has all; without WIRE_BEGIN there is none. Else -errno and why. */
int profile_writer_run(const struct profile_writer_setup *setup, struct wire *wire, struct errmsg *err);

#endif
