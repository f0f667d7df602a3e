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

struct taskcount;

/*
 * Of SLOT as registered, while somebody holds PROBES_TASKS; P is borrowed until taskcount_close().
 * -ENOENT: its map or program is not there; -ENOMEM.
 */
int taskcount_open(struct probes *p, uint32_t slot, struct taskcount **ret);

/*
 * Ended and living tasks since probes_register(): io, cpu_time, switches, faults, migrations,
 * run_delay, off_cpu. A value there already that did not come through this handle stays. IS_EMPTY:
 * no task is left in the step's cgroups, so the list of living tasks is not walked (1 us per task
 * of the node).
 *
 * Exact when no task is left. While tasks run, the result lacks those that are just exiting, and
 * the CPU time of each since its last tick or switch.
 */
int taskcount_read(struct taskcount *h, bool is_empty, struct values *values);

/*
 * The same of STEP[n], each with a slot of its own, in one walk over the node's tasks: 1 us per task, however
 * many steps there are. A task that ends during the walk may be missing, so a later reading may be lower.
 */
int taskcount_read_steps(struct probes *p, const struct probes_step *step, size_t n);

/* Each metric that taskcount_read() would set, and that has no value, gets REASON. */
void taskcount_miss(struct values *values, enum metric_reason reason);

/* NULL: no-op. */
void taskcount_close(struct taskcount *h);

#endif
