/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_tasks.h - the threads of the step that ceems-profile samples: which task of Slurm each belongs to, and its
 * name. Records of other threads are none of the step's business.
 */
#ifndef CEEMS_PROFILE_TASKS_H
#define CEEMS_PROFILE_TASKS_H

#include "src/helpers/profile_wire.h"

struct profile_tasks;

/* -ENOMEM */
int profile_tasks_create(struct profile_tasks **ret);
void profile_tasks_destroy(struct profile_tasks *t);

/* The first process of a task, by the name that it has now. -ENOMEM */
int profile_tasks_add(struct profile_tasks *t, uint32_t pid, int64_t rank);

/*
 * Fills rank and names of M, whose record is set, and keeps in mind what the record says. False: it is of another's
 * thread, and not to be told. A sample is always the step's. Out of memory, a thread has no name and no rank.
 */
bool profile_tasks_look(struct profile_tasks *t, struct wire_message *m);

#endif
