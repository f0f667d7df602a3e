/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks_event.h - the perf event of stacks.h. It is apart from the rings so that `ceems check` can try an
 * event without libbpf.
 */
#ifndef CEEMS_STACKS_EVENT_H
#define CEEMS_STACKS_EVENT_H

#include "src/libutil/must_check.h"
#include "src/profiler/stacks.h"

/* Opens SETUP's event on CPU, disabled, for a ring of RING_SIZE bytes. Returns 0 or -errno. */
int stacks_event_open(const struct stacks_setup *setup, uint32_t cpu, size_t ring_size,
		      int *ret_fd) _must_check_;
/* Says that EVENT cannot be opened because of RC, and returns RC. */
int stacks_event_refuse(enum stacks_event event, int rc, struct errmsg *err);

#endif
