/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perfwish.h - what --ceems-perf and PerfDefault ask for: "hw,io" or "net,events:NAME,NAME". Parsed in
 * srun, sbatch and salloc to refuse mistakes, and in slurmstepd to act on it.
 */
#ifndef CEEMS_PERFWISH_H
#define CEEMS_PERFWISH_H

#include <stdint.h>

#include "src/libutil/errmsg.h"

#define PERFWISH_EVENTS 8    /* of a user's own */
#define PERFWISH_NAME_MAX 64 /* libpfm4's longest with its attributes fit */

enum perfwish_group {
	WISH_HW = 1 << 0,     /* the default: hardware counters, and WISH_SW */
	WISH_SW = 1 << 1,     /* task clock */
	WISH_IO = 1 << 2,     /* I/O by file system */
	WISH_NET = 1 << 3,    /* packets, UDP, RDMA ports */
	WISH_SCHED = 1 << 4,  /* run-queue wait, off-CPU time, migrations in the report */
	WISH_EVENTS = 1 << 5, /* events: */
};

/* A plain value, as it is in the ledger's slots. Zeroed: nothing was asked for. */
struct perfwish {
	uint32_t groups; /* enum perfwish_group */
	uint32_t nevents;
	char event[PERFWISH_EVENTS][PERFWISH_NAME_MAX]; /* libpfm4's names */
};

/*
 * TEXT as given: "" is "hw". Groups are separated by commas, in upper or lower case. All words
 * after "events:" are names of events. -EINVAL: an unknown group (ERR names it and the known ones),
 * no name, too many names, a name that is too long, or bytes that no name has. Whether an event
 * exists is not known here: that is the node's CPU's business.
 */
int perfwish_parse(const char *text, struct perfwish *ret, struct errmsg *err);

#endif
