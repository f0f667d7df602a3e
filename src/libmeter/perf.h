/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.h - perf_event counters of a step's tasks: opened on each stopped child, inherited by all it
 * forks, started by its exec. libpfm4 turns names into events; it is dlopen'ed when a step asks
 * for counters, because its tables would cost every srun their relocation.
 */
#ifndef CEEMS_PERF_H
#define CEEMS_PERF_H

#include <sys/types.h>

#include "src/libjob/metric.h"
#include "src/libutil/errmsg.h"

struct perf;

/*
 * GROUPS as --ceems-perf takes them, by comma: "" or "hw" (default: counters and software
 * events), "sw". -EINVAL: an unknown group, named in ERR with those known.
 */
int perf_create(const char *groups, struct perf **ret, struct errmsg *err);

/*
 * Opens the counters on PID. Events that cannot be had are remembered with their reason and left
 * out; 0 even if none could be opened. Part of the process's file descriptors are left to it
 * (REASON_NO_COUNTER). -ENOMEM.
 */
int perf_attach(struct perf *p, pid_t pid);

/*
 * Adds up all tasks, scaled to the whole time where the kernel had to share counters. An event
 * that one of the tasks could not get is missing as a whole, with the reason: half a sum looks
 * like a number. Values replace what FIGURES has.
 */
void perf_read(const struct perf *p, struct figures *figures);

void perf_destroy(struct perf *p);

/* For option parsing in srun, without loading anything. */
int perf_check_groups(const char *groups, struct errmsg *err);

/* Marks all counters that no --ceems-perf asked for and that nobody else has a value for. */
void perf_not_asked(struct figures *figures);

#endif
