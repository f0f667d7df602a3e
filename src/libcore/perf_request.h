/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_request.h - what --ceems-perf and PerfDefault ask for: "hw,io" or "net,events:NAME,NAME". Parsed in
 * srun, sbatch and salloc to refuse mistakes, and in slurmstepd to act on it.
 */
#ifndef CEEMS_PERF_REQUEST_H
#define CEEMS_PERF_REQUEST_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

#define PERF_REQUEST_EVENTS 8    /* of a user's own */
#define PERF_REQUEST_NAME_MAX 64 /* libpfm4's longest with its attributes fit */

enum perf_group {
	PERF_GROUP_HW = 1 << 0,     /* the default: hardware counters, and PERF_GROUP_SW */
	PERF_GROUP_SW = 1 << 1,     /* task clock */
	PERF_GROUP_IO = 1 << 2,     /* I/O by file system */
	PERF_GROUP_NET = 1 << 3,    /* packets, UDP, RDMA ports */
	PERF_GROUP_SCHED = 1 << 4,  /* run-queue wait, off-CPU time, migrations in the report */
	PERF_GROUP_EVENTS = 1 << 5, /* events: */
};

/* A plain value, as it is in the ledger's slots. Zeroed: nothing was asked for. */
struct perf_request {
	uint32_t groups; /* enum perf_group */
	uint32_t nevents;
	char event[PERF_REQUEST_EVENTS][PERF_REQUEST_NAME_MAX]; /* libpfm4's names */
};

/*
 * TEXT as given: "" is "hw". Groups are separated by commas, in upper or lower case. All words
 * after "events:" are names of events. -EINVAL: an unknown group (ERR names it and the known ones),
 * no name, too many names, a name that is too long, or bytes that no name has. Whether an event
 * exists is not known here: that is the node's CPU's business.
 */
int perf_request_parse(const char *text, struct perf_request *ret, struct errmsg *err);

#endif
