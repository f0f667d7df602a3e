/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_push.h - the parts of a step's profile for ProfilePushUrl, in ceems-profile. A part is what the
 * profile gained in some time. The writing half, which is the user, hands it by a socket to a third process,
 * which is root and adds it to the queue (push_queue.h). So the user can neither change the series of a part
 * nor fill the queue's disk.
 */
#ifndef CEEMS_PROFILE_PUSH_H
#define CEEMS_PROFILE_PUSH_H

#include <stdint.h>

#include "src/libprofile/profile.h"
#include "src/libutil/errmsg.h"

/* Time between two parts. */
#define PROFILE_PUSH_EVERY_NS UINT64_C(30000000000)

struct profile_push_setup {
	const char *dir; /* ProfilePushDir; empty: nothing is pushed */
	uint64_t max;	 /* ProfilePushMaxSize */
	const char *job_id, *cluster, *node, *step;
	uid_t uid;
};

/*
 * Runs the process that adds parts to the queue, until the writing half has closed its end of FD. Returns 0;
 * -errno: parts are missing, and ERR says why. A full queue is no error, as the queue counts it.
 */
int profile_push_keep(const struct profile_push_setup *setup, int fd, struct errmsg *err);

/* --- the writing half ------------------------------------------------------------------------- */

struct profile_push {
	int fd;	       /* socket to the process above, borrowed; below 0: nothing is pushed */
	int64_t *seen; /* values of the profile's samples at the last part */
	size_t nseen;
	uint64_t from_ns; /* wall clock, of the next part's begin */
	uint64_t due_ns;  /* monotonic clock, of its end */
};

/*
 * Hands over what P gained since the last part; UNTIL_NS is its end by the wall clock. Returns 0 or -errno.
 */
int profile_push_part(struct profile_push *push, const struct profile *p, uint64_t until_ns);
void profile_push_fini(struct profile_push *push);

#endif
