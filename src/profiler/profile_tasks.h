/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_tasks.h - keeps the threads of the step that ceems-profile samples, with their names and
 * ranks. By this, records of threads outside the step are dropped: the user must not see them.
 */
#ifndef CEEMS_PROFILE_TASKS_H
#define CEEMS_PROFILE_TASKS_H

#include "src/libutil/must_check.h"
#include "src/profiler/profile_wire.h"

struct profile_tasks;

/* Returns 0 or -ENOMEM. */
int profile_tasks_create(struct profile_tasks **ret) _must_check_;
void profile_tasks_destroy(struct profile_tasks *t);

/* Adds PID, the first process of the task with rank RANK, and reads its name. Returns 0 or -ENOMEM. */
int profile_tasks_add(struct profile_tasks *t, uint32_t pid, int64_t rank);

/*
 * Learns from the record of M. If it is a sample, sets the rank and names of M. False: the record
 * is of a thread outside the step and must be dropped. Samples are always the step's. If memory
 * runs out, a sample has no rank and no names. After lost records, reads the name of each thread
 * again from /proc, at its next record.
 */
bool profile_tasks_look(struct profile_tasks *t, struct wire_message *m);

#endif
