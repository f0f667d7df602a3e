/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwevents.h - which hardware events give which metric on this CPU. Each microarchitecture has a
 * table with libpfm4's names. Without a table, the kernel's generic events are used. Events of one
 * group are on the PMU at the same time, so a ratio of two of them is right.
 *
 * The table also has the encoding of each name, so the default events need no library. A test
 * compares the encodings with libpfm4's. libpfm4 is needed only for names that a user gives, and
 * loaded with dlopen() only then: otherwise each srun would relocate its large tables.
 */
#ifndef CEEMS_HWEVENTS_H
#define CEEMS_HWEVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/metric.h"
#include "src/libcore/perf_request.h"
#include "src/libutil/errmsg.h"

#define HWEVENTS_MAX 16

struct hwevent {
	char name[PERF_REQUEST_NAME_MAX];
	/* type, config, config1, config2 and exclude_* are set; who opens it sets the rest */
	struct perf_event_attr attr;
	/* 0, 1, ... without gaps; all events of a group fit on the PMU at once */
	uint8_t group;
	uint8_t metric;	 /* enum metric; METRIC_N: a user's own event */
	uint8_t reason;	 /* enum metric_reason: why it cannot be counted; REASON_NONE: it can */
	uint32_t factor; /* one count adds FACTOR to METRIC: FLOP per instruction, bytes per cache
					line */
};

struct hwevents {
	char machine[48]; /* libpfm4's name of the PMU, "generic" without one */
	bool is_unnamed;  /* libpfm4 is missing, so users' names cannot be looked up */
	uint32_t n;
	struct hwevent event[HWEVENTS_MAX];
};

/* The default group for this machine. Never fails: without a table, generic events. */
void hwevents_default(struct hwevents *ret);

/*
 * Looks up the events that REQUEST names; each is a group of its own. An event's reason may be
 * REASON_NO_EVENT: this CPU does not have it, or libpfm4 is missing. Or REASON_NO_PERMISSION: the
 * user could not count it, either. This is checked here because slurmstepd opens the events as
 * root. It is set for events of the kernel only, if perf_event_paranoid forbids them, and for
 * events that are not the task's own: of uncore and other system-wide PMUs, of the sibling thread,
 * tracepoints. If users may not count the kernel, hardware events count user space only.
 */
void hwevents_own(const struct perf_request *request, struct hwevents *ret);

/*
 * Checks whether libpfm4 knows the events of REQUEST for any CPU of this architecture. It is for
 * login nodes, whose CPU may differ from the compute nodes'. Attributes after the event's name are
 * not checked. -ENOENT: ERR names the unknown events. They are misspelt, unless the compute nodes
 * have another architecture or a newer libpfm4. -EOPNOTSUPP: libpfm4 is missing.
 */
int hwevents_check_names(const struct perf_request *request, struct errmsg *err);

#endif
