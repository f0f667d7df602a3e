/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pyroscope.h - sends profiles to a server with Pyroscope's API: POST URL/ingest, format pprof.
 */
#ifndef CEEMS_PYROSCOPE_H
#define CEEMS_PYROSCOPE_H

#include "src/libutil/must_check.h"
#include "src/profiler/push_queue.h"

struct pyroscope_conf { /* ProfilePushUrl, ProfilePushHeaders, ProfilePushCaFile; borrowed */
	const char *url, *headers, *ca_file;
};

enum pyroscope_verdict {
	PYROSCOPE_TAKEN,
	PYROSCOPE_LATER,   /* no answer, the server is busy, or it refuses everything: send it again later */
	PYROSCOPE_UNSURE,  /* the server refuses this profile, perhaps only now */
	PYROSCOPE_REFUSED, /* the server will never take this profile */
};

struct pyroscope;

/* CONF is borrowed. Returns 0; -EINVAL: the URL cannot be used; or -ENOMEM. */
int pyroscope_open(const struct pyroscope_conf *conf, struct pyroscope **ret,
		   struct errmsg *err) _must_check_;
void pyroscope_close(struct pyroscope *p);

/* Sends PART within TIMEOUT_MS. If it is not taken, ERR says why. No message contains a header. */
enum pyroscope_verdict pyroscope_send(struct pyroscope *p, const struct push_part *part, long timeout_ms,
				      struct errmsg *err);

#endif
