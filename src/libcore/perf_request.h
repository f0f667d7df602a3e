/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_request.h - parses the values of --ceems-perf and PerfDefault: "hw,io" or
 * "net,events:NAME,NAME". srun, sbatch and salloc parse them to refuse mistakes, slurmstepd to act
 * on them.
 */
#ifndef CEEMS_PERF_REQUEST_H
#define CEEMS_PERF_REQUEST_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

#define PERF_REQUEST_EVENTS 8	 /* most events that a user may name */
#define PERF_REQUEST_NAME_MAX 64 /* libpfm4's longest name with its attributes fits */

enum perf_group {
	PERF_GROUP_HW = 1 << 0,	    /* the default: hardware counters; always with PERF_GROUP_SW */
	PERF_GROUP_SW = 1 << 1,	    /* task clock */
	PERF_GROUP_IO = 1 << 2,	    /* I/O by file system */
	PERF_GROUP_NET = 1 << 3,    /* packets, UDP, RDMA ports */
	PERF_GROUP_SCHED = 1 << 4,  /* run-queue wait and off-CPU time; migrations in the report */
	PERF_GROUP_EVENTS = 1 << 5, /* events that the user named */
};

/* A plain value, as stored in the ledger. All zero: nothing is asked for. */
struct perf_request {
	uint32_t groups; /* enum perf_group */
	uint32_t nevents;
	char event[PERF_REQUEST_EVENTS][PERF_REQUEST_NAME_MAX]; /* names of libpfm4 */
};

/*
 * Parses TEXT; "" means "hw". Groups are separated by commas, in any case. All words after
 * "events:" are names of events. -EINVAL: an unknown group (ERR names the known ones), no name, too
 * many names, a name that is too long, or a character that no name has. Whether an event exists
 * depends on the node's CPU and is not checked here.
 */
int perf_request_parse(const char *text, struct perf_request *ret, struct errmsg *err) _must_check_;

#endif
