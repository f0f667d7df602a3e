/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hwevents.h - which hardware events make which metric on this CPU. Each microarchitecture has a
 * table with libpfm4's names; without a table the kernel's generic events are used. Events of one
 * group are on the PMU at the same time, so a ratio of two of them is right.
 *
 * The table also has the encoding of each name, so the default group needs no library. A test
 * compares names and encodings with libpfm4. Only names that a user gives need libpfm4. It is loaded
 * with dlopen() then, because otherwise every srun would relocate its large tables.
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
	struct perf_event_attr attr; /* type, config, config1, config2, exclude_*; the rest is the opener's */
	uint8_t group;		     /* 0, 1, ...: consecutive; a group fits onto the PMU at once */
	uint8_t metric;		     /* enum metric; METRIC_N: a user's own event */
	uint8_t reason;		     /* enum metric_reason: REASON_NONE, or why it is not to be had */
	uint32_t factor;	     /* METRIC += count * factor: FLOP of an instruction, bytes of a line */
};

struct hwevents {
	char machine[48]; /* libpfm4's name of the PMU, "generic" without one */
	bool is_unnamed;  /* there is no libpfm4 to ask for a user's names */
	uint32_t n;
	struct hwevent event[HWEVENTS_MAX];
};

/* The default group for this machine. Never fails: without a table, generic events. */
void hwevents_default(struct hwevents *ret);

/*
 * The events that the request WISH names, in groups of their own. REASON_NO_EVENT: this CPU does
 * not have it, or there is no libpfm4 to ask. REASON_NO_PERMISSION: events that the user could not
 * count either: of the kernel alone (perf_event_paranoid), and events that are not a task's own
 * (uncore and other system-wide PMUs, the sibling thread, tracepoints). We open it as root, so it
 * is for us to say no. Where users may not count the kernel, hardware events are those of user
 * space.
 */
void hwevents_own(const struct perf_request *request, struct hwevents *ret);

/*
 * Whether libpfm4 knows the events of WISH for any CPU of this architecture. For login nodes, whose
 * CPU may differ from the nodes'. What is behind an event's own name is not looked at. -ENOENT: ERR
 * names unknown events. They are mistyped, unless the nodes have another architecture or a newer
 * libpfm4. -EOPNOTSUPP: there is no libpfm4.
 */
int hwevents_check_names(const struct perf_request *request, struct errmsg *err);

#endif
