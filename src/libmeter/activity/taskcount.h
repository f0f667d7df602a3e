/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * taskcount.h - reads the task counters of a step: map rows of tasks that ended, and a BPF iterator
 * over living tasks. tcpcount.h does the same for sockets.
 */
#ifndef CEEMS_TASKCOUNT_H
#define CEEMS_TASKCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libcore/metric.h"
#include "src/libmeter/activity/probes.h"
#include "src/libutil/must_check.h"

struct taskcount;

/*
 * Opens the counters of the registered SLOT. Somebody must hold PROBES_TASKS (probes_hold()). P is
 * borrowed until taskcount_close(). -ENOENT: the BPF map or program is missing. -ENOMEM.
 */
int taskcount_open(struct probes *p, uint32_t slot, struct taskcount **ret) _must_check_;

/*
 * Sets the sums over ended and living tasks since probes_register(): I/O, CPU time, switches,
 * faults, migrations, run delay and off-CPU time. A value in VALUES that another source set is
 * kept. IS_EMPTY: no task is left in the step's cgroups, so the walk over living tasks (1 us per
 * task of the node) is saved.
 *
 * The result is exact if no task is left. While tasks run, it lacks those that are just exiting,
 * and each task's CPU time since its last tick or switch.
 */
int taskcount_read(struct taskcount *h, bool is_empty, struct values *values);

/*
 * Reads STEP[n] in one walk over the node's tasks, which takes 1 us per task for any number of
 * steps. A task that ends during the walk may be missing, so a later reading may be lower.
 */
int taskcount_read_steps(struct probes *p, const struct probes_step *step, size_t n);

/* Sets REASON for each metric that taskcount_read() would set and that has no value. */
void taskcount_miss(struct values *values, enum metric_reason reason);

/* NULL: no-op. */
void taskcount_close(struct taskcount *h);

#endif
